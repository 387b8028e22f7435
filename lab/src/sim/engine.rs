//! Runs a scenario: starts its flows, lets happen what happens, and reports.

use std::time::Duration;

use anyhow::Result;

use super::agenda::Agenda;
use super::channel::{Channel, Nanos};
use super::endpoint::Endpoint;
use super::http::{Application, Download, Upload};
use super::metrics::{FlowReport, Outcome, Report, Sample};
use super::pool::Pool;
use super::qlog::Qlog;
use super::tls;
use super::world::{Address, End, Event, Side, World};
use crate::clock::VirtualClock;
use crate::entropy::{self, Seed};
use crate::link;
use crate::scenario::{Flow, Pacing, Scenario, Traffic};

/// Runs `scenario` to its end.
///
/// # Errors
///
/// A scenario that cannot be, such as an unknown controller or a datagram size
/// below 1200, or a qlog that cannot be written.
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
    flows: Vec<RunningFlow<'a>>,
}

struct RunningFlow<'a> {
    flow: &'a Flow,
    server_config: quiche::Config,
    /// `None` until the flow starts.
    connection: Option<Connection>,
    samples: Vec<Sample>,
}

struct Connection {
    client: End,
    server: End,
    qlog: Option<Qlog>,
}

impl<'a> Engine<'a> {
    fn new(scenario: &'a Scenario, clock: &'a VirtualClock, seed: &'a Seed) -> Result<Self> {
        let round_trip = scenario.round_trip();
        let link = &scenario.path[0];
        let channel = |direction, stream| {
            let random = entropy::generator(scenario.seed, stream);
            Channel::new(direction, round_trip, random)
        };
        let flows = scenario.flows.iter().map(|flow| {
            Ok(RunningFlow {
                flow,
                server_config: tls::server(scenario, &flow.cc)?,
                connection: None,
                samples: Vec::new(),
            })
        });
        Ok(Engine {
            scenario,
            seed,
            world: World {
                clock,
                now: 0,
                agenda: Agenda::new(),
                down: channel(&link.down, 1),
                up: channel(&link.up, 2),
                packets: Pool::new(scenario.max_datagram_size.max(tls::CLIENT_DATAGRAM)),
            },
            flows: flows.collect::<Result<_>>()?,
        })
    }

    fn run(&mut self) -> Result<()> {
        for (index, flow) in self.scenario.flows.iter().enumerate() {
            self.world
                .agenda
                .add(nanos(flow.start), Event::Start(index));
        }
        self.schedule_sample();
        let end = nanos(self.scenario.duration);
        while let Some(event) = self.world.next(end) {
            match event {
                Event::Start(flow) => self.start(flow)?,
                Event::Sample => self.sample(),
                Event::At(address, happening) => {
                    if let Some(connection) = &mut self.flows[address.flow].connection {
                        let end = match address.side {
                            Side::Client => &mut connection.client,
                            Side::Server => &mut connection.server,
                        };
                        self.world.happen(end, happening)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, index: usize) -> Result<()> {
        let running = &mut self.flows[index];
        let client = Address {
            flow: index,
            side: Side::Client,
        };
        let server = client.peer();
        let (local, remote) = (client.socket(), server.socket());
        let mut ids = [[0; quiche::MAX_CONN_ID_LEN]; 2];
        ids.iter_mut().for_each(|id| self.seed.fill(id));
        let [client_id, server_id] = ids.map(|id| quiche::ConnectionId::from_vec(id.to_vec()));

        let mut config = tls::client(self.scenario)?;
        let conn = quiche::connect(
            Some(tls::SERVER_NAME),
            &client_id,
            local,
            remote,
            &mut config,
        )?;
        let download = Application::Download(Download::new(match running.flow.traffic {
            Traffic::Size(size) => Some(size),
            _ => None,
        }));
        let mut client = End::new(client, Endpoint::new(conn, download, Pacing::Off));

        let config = &mut running.server_config;
        let mut conn = quiche::accept(&server_id, None, remote, local, config)?;
        let qlog = match &self.scenario.qlog {
            Some(folder) => {
                let name = qlog_name(index, &running.flow.cc, self.scenario.seed);
                Some(Qlog::start(&mut conn, folder, &name)?)
            }
            None => None,
        };
        let upload = Application::Upload(Upload::default());
        let server = End::new(server, Endpoint::new(conn, upload, self.scenario.pacing));

        self.world.turn(&mut client)?;
        running.connection = Some(Connection {
            client,
            server,
            qlog,
        });
        Ok(())
    }

    fn schedule_sample(&mut self) {
        let at = self.world.now + nanos(self.scenario.sample_every);
        self.world.agenda.add(at, Event::Sample);
    }

    fn sample(&mut self) {
        let now = self.world.now;
        let queue = self.world.down.queueing_delay(now);
        for flow in &mut self.flows {
            let Some(connection) = &flow.connection else {
                continue;
            };
            let Some(stats) = connection.server.endpoint.conn().path_stats().next() else {
                continue;
            };
            flow.samples.push(Sample {
                time: now as f64 / 1e9,
                cwnd: stats.cwnd,
                rtt: stats.rtt.as_secs_f64() * 1e3,
                body_bytes: connection.client.endpoint.received(),
                queue: queue as f64 / 1e6,
            });
        }
        self.schedule_sample();
    }

    fn report(self) -> Result<Report> {
        let scenario = self.scenario;
        let down = &scenario.path[0].down;
        let limit = down
            .rate
            .map(|rate| link::goodput_limit(rate, down.mean_loss(), scenario.max_datagram_size));
        let mut flows = Vec::new();
        for running in self.flows {
            // A flow starts before the end, `Scenario::check` saw to it.
            let Some(connection) = running.connection else {
                continue;
            };
            let finished = connection.client.endpoint.finished();
            let end = finished.map_or(nanos(scenario.duration), |at| self.world.clock.nanos(at));
            flows.push(FlowReport::new(Outcome {
                flow: running.flow,
                active: end - nanos(running.flow.start),
                body_bytes: connection.client.endpoint.received(),
                limit,
                server: connection.server.endpoint.conn(),
                meter: connection.server.meter,
                failure: connection
                    .server
                    .endpoint
                    .failure()
                    .or(connection.client.endpoint.failure()),
                samples: running.samples,
            }));
            // The last events are written when the connection is dropped.
            drop(connection.server.endpoint);
            connection.qlog.map_or(Ok(()), Qlog::finish)?;
        }
        Ok(Report {
            seed: scenario.seed,
            seconds: scenario.duration.as_secs_f64(),
            flows,
        })
    }
}

/// A file name that tells flow, controller and seed.
fn qlog_name(flow: usize, cc: &str, seed: u64) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_=.".contains(c) {
            c
        } else {
            '_'
        }
    };
    let cc: String = cc.chars().map(plain).collect();
    format!("server-{flow}-{cc}-seed{seed}.sqlog")
}

fn nanos(duration: Duration) -> Nanos {
    duration.as_nanos() as Nanos
}
