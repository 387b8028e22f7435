//! Runs a scenario: starts its flows, lets happen what happens, and reports.

use std::time::Duration;

use anyhow::Result;

use super::channel::{uniform, Nanos};
use super::cross::Crossing;
use super::event_queue::EventQueue;
use super::meter::Meter;
use super::metrics::{CrossReport, FlowReport, LinkReport, Outcome, Report};
use super::path::{Path, Payload};
use super::pool::Pool;
use super::running::{RunningFlow, Seen};
use super::supply::Supply;
use super::tls;
use super::watch::{Guide, Watch, TICK};
use super::world::{nanos, Address, Event, Happening, Side, World};
use crate::clock::VirtualClock;
use crate::entropy::{self, Seed};
use crate::memory;
use crate::scenario::Scenario;

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
pub(super) fn run(scenario: &Scenario) -> Result<Report> {
    scenario.check()?;
    let scenario = &with_starts(scenario);
    super::check_oracles(scenario)?;
    super::register();
    memory::keep();
    let clock = VirtualClock::start();
    let seed = Seed::start(scenario.seed);
    let mut engine = Engine::new(scenario, &clock, &seed)?;
    engine.run()?;
    engine.report()
}

/// The starts' generators are this and the flow's number; those of the clients
/// begin at half of it.
const STARTS: u64 = 2 << 32;

/// The scenario with the starts that its seed draws.
fn with_starts(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    for (index, flow) in (0u64..).zip(&mut scenario.flows) {
        if !flow.start_spread.is_zero() {
            let mut random = entropy::generator(scenario.seed, STARTS + index);
            flow.start += flow.start_spread.mul_f64(uniform(&mut random));
            flow.start_spread = Duration::ZERO;
        }
    }
    scenario
}

struct Engine<'a> {
    scenario: &'a Scenario,
    seed: &'a Seed,
    world: World<'a>,
    supply: Supply,
    flows: Vec<RunningFlow<'a>>,
    /// For each flow, the guide of its oracle, if it has one.
    watches: Vec<Option<Watch>>,
}

impl<'a> Engine<'a> {
    fn new(scenario: &'a Scenario, clock: &'a VirtualClock, seed: &'a Seed) -> Result<Self> {
        let path = Path::new(scenario)?;
        let (mut flows, mut watches) = (Vec::new(), Vec::new());
        for (index, flow) in (0..).zip(&scenario.flows) {
            let guide = Guide::default();
            let config = tls::server(scenario, flow, &path, &guide)?;
            flows.push(RunningFlow::new(flow, config));
            let told = super::is_oracle(&flow.cc);
            watches.push(told.then(|| Watch::new(scenario, index, guide, &path)));
        }
        Ok(Engine {
            scenario,
            seed,
            flows,
            watches,
            supply: Supply::new(scenario, path.capacities()),
            world: World {
                clock,
                now: 0,
                events: EventQueue::new(path.lanes()),
                path,
                packets: Pool::new(scenario.max_datagram_size.max(tls::CLIENT_DATAGRAM)),
                meters: scenario.flows.iter().map(|_| Meter::default()).collect(),
                crossings: scenario.cross.iter().map(Crossing::new).collect(),
            },
        })
    }

    fn run(&mut self) -> Result<()> {
        let events = &mut self.world.events;
        for (index, flow) in (0..).zip(&self.scenario.flows) {
            events.add(nanos(flow.start), Event::Start(index));
            if let Some(stop) = flow.stop {
                events.add(nanos(stop), Event::Stop(index));
            }
        }
        for index in 0..self.world.crossings.len() {
            self.schedule_crossing(index as u32);
        }
        self.schedule_sample();
        self.look();
        let end = nanos(self.scenario.duration);
        while let Some(event) = self.world.next(end) {
            match event {
                Event::Start(flow) => self.start(flow)?,
                Event::Stop(flow) => self.stop(flow),
                Event::Sample => self.sample(),
                Event::Look => self.look(),
                Event::At(address, happening) => self.happen(address, happening)?,
                Event::Pass(hop, payload) => self.world.pass(hop, payload),
                Event::Wake(hop) => self.world.wake(hop),
                Event::Cross(index) => self.cross(index),
            }
        }
        self.supply.note(end);
        Ok(())
    }

    fn start(&mut self, index: u32) -> Result<()> {
        let running = &mut self.flows[index as usize];
        let mut ids = [[0; quiche::MAX_CONN_ID_LEN]; 2];
        ids.iter_mut().for_each(|id| self.seed.fill(id));
        let mut connection = running.connect(self.scenario, index, ids, &self.world.path)?;
        self.world.turn(&mut connection.client)?;
        running.connection = Some(connection);
        self.supply.note(self.world.now);
        Ok(())
    }

    fn stop(&mut self, index: u32) {
        self.flows[index as usize].stopped = Some(self.world.now);
        self.supply.note(self.world.now);
    }

    fn happen(&mut self, address: Address, happening: Happening) -> Result<()> {
        let flow = &mut self.flows[address.flow as usize];
        match (&mut flow.connection, flow.stopped) {
            (Some(connection), None) => {
                let watch = &mut self.watches[address.flow as usize];
                if let Some(watch) = watch.as_mut().filter(|_| address.side == Side::Server) {
                    watch.tell(self.world.now);
                }
                let was_done = connection.is_finished();
                let end = match address.side {
                    Side::Client => &mut connection.client,
                    Side::Server => &mut connection.server,
                };
                self.world.happen(end, happening)?;
                if connection.is_finished() && !was_done {
                    self.world.meters[address.flow as usize].finish();
                    self.supply.note(self.world.now);
                }
            }
            _ => self.world.forget(happening),
        }
        Ok(())
    }

    fn schedule_crossing(&mut self, index: u32) {
        if let Some(at) = self.world.crossings[index as usize].next() {
            self.world.events.add(at, Event::Cross(index));
        }
    }

    /// A packet of cross traffic enters its link.
    fn cross(&mut self, index: u32) {
        let crossing = &mut self.world.crossings[index as usize];
        crossing.send();
        let hop = crossing.hop;
        self.world.pass(hop, Payload::Cross(index));
        self.schedule_crossing(index);
    }

    /// Samples the links for each flow with an oracle, and schedules the next sample.
    fn look(&mut self) {
        let mut watches = self.watches.iter_mut().flatten().peekable();
        if watches.peek().is_some() {
            let next = self.world.now + TICK;
            self.world.events.add(next, Event::Look);
        }
        for watch in watches {
            watch.look(self.world.now, &self.world.path);
        }
    }

    fn schedule_sample(&mut self) {
        let at = self.world.now + nanos(self.scenario.sample_every);
        self.world.events.add(at, Event::Sample);
    }

    fn sample(&mut self) {
        let now = self.world.now;
        let before = now - nanos(self.scenario.sample_every);
        self.supply.note(now);
        for (index, flow) in (0..).zip(&mut self.flows) {
            let links = self.world.path.links(index);
            let (before_it, taken) = (*links.start(), links.clone().count());
            let own = self.world.path.down().skip(before_it).take(taken);
            let queue: Nanos = own.map(|channel| channel.queueing_delay(now, index)).sum();
            flow.sample(Seen {
                time: now as f64 / 1e9,
                queue: queue as f64 / 1e6,
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
            let finished = connection.finished(self.world.clock);
            let (from, to) = (
                nanos(running.flow.start),
                finished.or(running.stopped).unwrap_or(end),
            );
            let links = self.world.path.links(index);
            let meter = std::mem::take(&mut self.world.meters[index as usize]);
            flows.push(FlowReport::new(Outcome {
                flow: running.flow,
                active: to - from,
                body_bytes: connection.download().received,
                objects: &connection.download().objects,
                player: connection.download().player.as_ref(),
                limit: self.supply.goodput_limit(links, from, to),
                server: connection.server.endpoint.conn(),
                meter,
                failure: connection.failure(),
                samples: running.samples,
            }));
            connection.close()?;
        }
        let links = self.world.path.down().enumerate().map(|(index, channel)| {
            let bytes = channel.carried(end);
            let rate = self.supply.most(index, 0, end);
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
