//! Runs a scenario: starts its flows, lets happen what happens, and reports.

use anyhow::Result;

use super::agenda::Agenda;
use super::channel::Nanos;
use super::cross::Crossing;
use super::download::Download;
use super::endpoint::{Application, Endpoint};
use super::meter::Meter;
use super::metrics::{CrossReport, FlowReport, LinkReport, Outcome, Report, Sample};
use super::path::{Cargo, Path};
use super::pool::Pool;
use super::qlog::Qlog;
use super::supply::Supply;
use super::tls;
use super::upload::Upload;
use super::world::{nanos, Address, End, Event, Happening, Side, World};
use crate::clock::VirtualClock;
use crate::entropy::{self, Seed};
use crate::scenario::{Flow, Pacing, Scenario};

/// The generator of a flow's client is this and the flow's number; those of the
/// links have the numbers from 1 on.
const CLIENTS: u64 = 1 << 32;

/// Runs `scenario` to its end.
///
/// # Errors
///
/// A scenario that cannot be, such as an unknown controller or a datagram size
/// below 1200, a trace that cannot be read, or a qlog that cannot be written.
///
/// # Panics
///
/// When a simulation is running on this thread already.
pub fn run(scenario: &Scenario) -> Result<Report> {
    scenario.check()?;
    petra::register();
    let clock = VirtualClock::start();
    let seed = Seed::start(scenario.seed);
    let mut engine = Engine::new(scenario, &clock, &seed)?;
    engine.run()?;
    engine.report()
}

struct Engine<'a> {
    scenario: &'a Scenario,
    seed: &'a Seed,
    world: World<'a>,
    supply: Supply,
    flows: Vec<RunningFlow<'a>>,
}

struct RunningFlow<'a> {
    flow: &'a Flow,
    server_config: quiche::Config,
    /// `None` until the flow starts.
    connection: Option<Connection>,
    /// When its ends went away.
    stopped: Option<Nanos>,
    samples: Vec<Sample>,
}

struct Connection {
    client: End,
    server: End,
    /// Of both ends, where they are wanted.
    qlogs: Vec<Qlog>,
}

impl Connection {
    fn download(&self) -> &Download {
        let download = self.client.endpoint.download();
        download.expect("the client downloads")
    }
}

impl<'a> Engine<'a> {
    fn new(scenario: &'a Scenario, clock: &'a VirtualClock, seed: &'a Seed) -> Result<Self> {
        let path = Path::new(scenario)?;
        let flows = scenario.flows.iter().map(|flow| {
            Ok(RunningFlow {
                flow,
                server_config: tls::server(scenario, flow, &path)?,
                connection: None,
                stopped: None,
                samples: Vec::new(),
            })
        });
        Ok(Engine {
            scenario,
            seed,
            flows: flows.collect::<Result<_>>()?,
            supply: Supply::new(scenario, path.capacities()),
            world: World {
                clock,
                now: 0,
                agenda: Agenda::new(),
                path,
                packets: Pool::new(scenario.max_datagram_size.max(tls::CLIENT_DATAGRAM)),
                meters: scenario.flows.iter().map(|_| Meter::default()).collect(),
                crossings: scenario.cross.iter().map(Crossing::new).collect(),
            },
        })
    }

    fn run(&mut self) -> Result<()> {
        let agenda = &mut self.world.agenda;
        for (index, flow) in (0..).zip(&self.scenario.flows) {
            agenda.add(nanos(flow.start), Event::Start(index));
            if let Some(stop) = flow.stop {
                agenda.add(nanos(stop), Event::Stop(index));
            }
        }
        for index in 0..self.world.crossings.len() {
            self.schedule_crossing(index as u32);
        }
        self.schedule_sample();
        let end = nanos(self.scenario.duration);
        while let Some(event) = self.world.next(end) {
            match event {
                Event::Start(flow) => self.start(flow)?,
                Event::Stop(flow) => self.flows[flow as usize].stopped = Some(self.world.now),
                Event::Sample => self.sample(),
                Event::At(address, happening) => self.happen(address, happening)?,
                Event::Pass(hop, cargo) => self.world.pass(hop, cargo),
                Event::Wake(hop) => self.world.wake(hop),
                Event::Cross(index) => self.cross(index),
            }
        }
        self.supply.note(end);
        Ok(())
    }

    fn start(&mut self, index: u32) -> Result<()> {
        let running = &mut self.flows[index as usize];
        let client = Address {
            flow: index,
            side: Side::Client,
        };
        let server = client.peer();
        let (local, remote) = (client.socket(), server.socket());
        let mut ids = [[0; quiche::MAX_CONN_ID_LEN]; 2];
        ids.iter_mut().for_each(|id| self.seed.fill(id));
        let [client_id, server_id] = ids.map(|id| quiche::ConnectionId::from_vec(id.to_vec()));

        let mut config = tls::client(self.scenario, running.flow, &self.world.path)?;
        let mut conn = quiche::connect(
            Some(tls::SERVER_NAME),
            &client_id,
            local,
            remote,
            &mut config,
        )?;
        let mut qlogs = Vec::new();
        let scenario = self.scenario;
        let mut log = |conn: &mut quiche::Connection, side| -> Result<()> {
            if let Some(folder) = &scenario.qlog {
                let name = scenario.trace_name(side, index as usize);
                qlogs.push(Qlog::start(conn, folder, side, name)?);
            }
            Ok(())
        };
        log(&mut conn, "client")?;
        let random = entropy::generator(self.scenario.seed, CLIENTS + u64::from(index));
        let download = Application::Download(Download::new(running.flow.traffic, random));
        let mut client = End::new(client, Endpoint::new(conn, download, Pacing::Off));

        let config = &mut running.server_config;
        let mut conn = quiche::accept(&server_id, None, remote, local, config)?;
        log(&mut conn, "server")?;
        let upload = Application::Upload(Upload::default());
        let server = End::new(server, Endpoint::new(conn, upload, self.scenario.pacing));

        self.world.turn(&mut client)?;
        running.connection = Some(Connection {
            client,
            server,
            qlogs,
        });
        Ok(())
    }

    fn happen(&mut self, address: Address, happening: Happening) -> Result<()> {
        let flow = &mut self.flows[address.flow as usize];
        match (&mut flow.connection, flow.stopped) {
            (Some(connection), None) => {
                let end = match address.side {
                    Side::Client => &mut connection.client,
                    Side::Server => &mut connection.server,
                };
                self.world.happen(end, happening)
            }
            _ => {
                self.world.forget(happening);
                Ok(())
            }
        }
    }

    fn schedule_crossing(&mut self, index: u32) {
        if let Some(at) = self.world.crossings[index as usize].next() {
            self.world.agenda.add(at, Event::Cross(index));
        }
    }

    /// A packet of cross traffic enters its link.
    fn cross(&mut self, index: u32) {
        let crossing = &mut self.world.crossings[index as usize];
        crossing.send();
        let hop = crossing.hop;
        self.world.pass(hop, Cargo::Cross(index));
        self.schedule_crossing(index);
    }

    fn schedule_sample(&mut self) {
        let at = self.world.now + nanos(self.scenario.sample_every);
        self.world.agenda.add(at, Event::Sample);
    }

    fn sample(&mut self) {
        let now = self.world.now;
        let before = now - nanos(self.scenario.sample_every);
        self.supply.note(now);
        let queues: Vec<Nanos> = self
            .world
            .path
            .down()
            .map(|channel| channel.queueing_delay(now))
            .collect();
        for (index, flow) in (0..).zip(&mut self.flows) {
            let Some(connection) = flow.connection.as_ref().filter(|_| flow.stopped.is_none())
            else {
                continue;
            };
            let Some(stats) = connection.server.endpoint.conn().path_stats().next() else {
                continue;
            };
            let download = connection.download();
            if download.is_done() {
                continue;
            }
            let links = self.world.path.links(index);
            flow.samples.push(Sample {
                time: now as f64 / 1e9,
                cwnd: stats.cwnd,
                ssthresh: stats.ssthresh,
                in_flight: stats.bytes_in_flight,
                pacing_rate: stats.pacing_rate.map(|rate| rate.saturating_mul(8)),
                estimate: stats.max_bandwidth.map(|rate| rate.saturating_mul(8)),
                rtt: stats.rtt.as_secs_f64() * 1e3,
                body_bytes: download.received,
                queue: queues[links.clone()].iter().sum::<Nanos>() as f64 / 1e6,
                capacity: self.supply.narrowest(links, before, now),
            });
        }
        self.schedule_sample();
    }

    fn report(mut self) -> Result<Report> {
        let scenario = self.scenario;
        let end = nanos(scenario.duration);
        let mut flows = Vec::new();
        for (index, running) in (0..).zip(self.flows) {
            // A flow starts before the end, `Scenario::check` saw to it.
            let Some(connection) = running.connection else {
                continue;
            };
            let download = connection.download();
            let finished = download.finished.map(|at| self.world.clock.nanos(at));
            let (from, to) = (
                nanos(running.flow.start),
                finished.or(running.stopped).unwrap_or(end),
            );
            let server = &connection.server.endpoint;
            let failure = server.failure().or(connection.client.endpoint.failure());
            let links = self.world.path.links(index);
            flows.push(FlowReport::new(Outcome {
                flow: running.flow,
                active: to - from,
                body_bytes: download.received,
                objects: &download.objects,
                limit: self.supply.goodput_limit(links, from, to),
                server: server.conn(),
                meter: std::mem::take(&mut self.world.meters[index as usize]),
                // What becomes of a connection that has done its work does not
                // matter.
                failure: failure.filter(|_| !download.is_done()),
                samples: running.samples,
            }));
            // The last events are written when the connection is dropped.
            drop((connection.client, connection.server));
            connection.qlogs.into_iter().try_for_each(Qlog::finish)?;
        }
        let links = self.world.path.down().enumerate().map(|(index, channel)| {
            let bytes = channel.carried(end);
            let rate = self.supply.rate(index, 0, end);
            LinkReport {
                bytes,
                utilisation: rate.map(|rate| bytes as f64 * 8e9 / (rate * end as f64)),
            }
        });
        let cross = self.world.crossings.iter().map(|crossing| CrossReport {
            sent: crossing.packets(),
            arrived: crossing.arrived,
        });
        Ok(Report::new(
            scenario.seed,
            scenario.duration.as_secs_f64(),
            flows,
            links.collect(),
            cross.collect(),
        ))
    }
}
