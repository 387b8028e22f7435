//! Golden trajectories: the window of each controller in each scene, as the controller reports
//! it after each event of a real connection in virtual time.
//!
//! A snapshot in `golden/` has a picture and a table of each scene. After a change of behaviour,
//! `INSTA_UPDATE=always cargo test -p petra-lab --test golden` writes the snapshots again, and
//! their diff shows the change.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use petra::controller::{
    Ack, Controller, EarlyProbes, Loss, Metrics, Phase, Pto, Rtt, Sent, Settings, SpuriousLoss,
    Time,
};
use petra::registry::{self, Factory};
use petra_lab::link::{Direction, Link, Queue, Step};
use petra_lab::scenario::{Flow, Media, Scenario, Traffic};
use petra_lab::sim::run;
use quiche::congestion_control::{register, CongestionControlOps};

/// The name of the controller that records another, as in `recorded:petra`.
const RECORDED: &str = "recorded";

static TABLE: CongestionControlOps = petra::table(|_, recorded| {
    let factory = registry::factory(recorded, "").map_err(|error| error.to_string())?;
    Ok(petra::options(Arc::new(Recorder(factory))))
});

thread_local! {
    /// The recorded states of the connection that runs on this thread.
    static STATES: RefCell<Vec<State>> = const { RefCell::new(Vec::new()) };
}

/// The results of a controller after an event.
#[derive(Clone, Copy, Debug)]
struct State {
    at: Time,
    event: &'static str,
    phase: Phase,
    window: u64,
    ssthresh: Option<u64>,
    pacing_rate: Option<u64>,
}

#[derive(Debug)]
struct Recorder(Arc<dyn Factory>);

impl Factory for Recorder {
    fn name(&self) -> &'static str {
        RECORDED
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        Box::new(Recording(self.0.build(settings)))
    }
}

/// A controller whose states are recorded.
struct Recording(Box<dyn Controller>);

impl Recording {
    fn record(&self, at: Time, event: &'static str) {
        let state = State {
            at,
            event,
            phase: self.phase(),
            window: self.window(),
            ssthresh: self.ssthresh(),
            pacing_rate: self.pacing_rate(),
        };
        STATES.with_borrow_mut(|states| states.push(state));
    }
}

impl Controller for Recording {
    fn on_sent(&mut self, sent: &Sent) {
        self.0.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.0.on_ack(ack);
        self.record(
            ack.now,
            if ack.app_limited {
                "ack, app-limited"
            } else {
                "ack"
            },
        );
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.0.on_loss(loss);
        self.record(loss.now, "loss");
    }

    fn on_pto(&mut self, pto: &Pto) {
        self.0.on_pto(pto);
        self.record(pto.now, "pto");
    }

    fn on_persistent_congestion(&mut self, now: Time) {
        self.0.on_persistent_congestion(now);
        self.record(now, "persistent congestion");
    }

    fn on_spurious_loss(&mut self, spurious: &SpuriousLoss) {
        self.0.on_spurious_loss(spurious);
        self.record(spurious.now, "spurious loss");
    }

    fn on_max_datagram_size(&mut self, bytes: u64) {
        self.0.on_max_datagram_size(bytes);
    }

    fn window(&self) -> u64 {
        self.0.window()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.0.ssthresh()
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.0.pacing_rate()
    }

    fn packet_threshold(&self, rtt: &Rtt, pto: Duration) -> Option<u64> {
        self.0.packet_threshold(rtt, pto)
    }

    fn early_probes(&self, rtt: &Rtt, pto: Duration, outstanding: u64) -> Option<EarlyProbes> {
        self.0.early_probes(rtt, pto, outstanding)
    }

    fn phase(&self) -> Phase {
        self.0.phase()
    }

    fn metrics(&self) -> Metrics {
        self.0.metrics()
    }
}

/// Bytes of a datagram, the unit of the snapshots.
const DATAGRAM: u64 = 1_350;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A path, what happens on it, and the part of the connection that the snapshot has.
struct Scene {
    title: &'static str,
    shape: fn(&mut Direction),
    traffic: Traffic,
    from: Duration,
    to: Duration,
}

impl Scene {
    const fn new(title: &'static str, from: u64, to: u64, shape: fn(&mut Direction)) -> Self {
        Self {
            title,
            shape,
            traffic: Traffic::Bulk,
            from: Duration::from_millis(from),
            to: Duration::from_millis(to),
        }
    }
}

/// Loses each packet after 4 s, for this time.
fn lose(down: &mut Direction, lasts: Duration) {
    let step = |at, loss| Step {
        at,
        loss: Some(loss),
        ..Step::default()
    };
    down.steps = vec![step(ms(4_000), 1.0), step(ms(4_000) + lasts, 0.0)];
}

/// Delays packets at random after 4 s, for 60 ms, so that they overtake each other.
fn jitter(down: &mut Direction) {
    // Reordering takes some jitter at any time.
    down.jitter = Duration::from_nanos(1);
    down.jitter_reorders = true;
    let step = |at, jitter| Step {
        at: ms(at),
        jitter: Some(jitter),
        ..Step::default()
    };
    down.steps = vec![step(4_000, ms(30)), step(4_060, down.jitter)];
}

/// Halves the rate after 4 s, and quadruples it after 6 s.
fn rates(down: &mut Direction) {
    let step = |at, rate| Step {
        at: ms(at),
        rate: Some(rate),
        ..Step::default()
    };
    down.steps = vec![step(4_000, 2_500_000), step(6_000, 10_000_000)];
}

/// Makes the path 100 ms longer after 4 s.
fn longer(down: &mut Direction) {
    down.steps = vec![Step {
        at: ms(4_000),
        delay: Some(down.delay + ms(100)),
        ..Step::default()
    }];
}

const VIDEO: Traffic = Traffic::Media(Media {
    rate: 2_000_000,
    fps: 30,
    key_every: Duration::from_secs(1),
    key_size: 5.0,
    deviation: 0.0,
    deadline: Duration::from_millis(200),
    least_rate: None,
});

/// Downloads of 1.8 s, with pauses as long. The second one begins at 3.6 s.
const PAUSES: Traffic = Traffic::OnOff {
    on: Duration::from_millis(1_800),
    off: Duration::from_millis(1_800),
};

/// Scenes on a path of 5 Mbit/s and 80 ms with a queue of one BDP, 37 datagrams.
#[rustfmt::skip]
fn scenes() -> [Scene; 10] {
    let one = |down: &mut Direction| lose(down, Duration::from_micros(2_200));
    let persistent = |down: &mut Direction| lose(down, ms(3_000));
    [
        Scene::new("start", 0, 3_000, |_| ()),
        Scene::new("one loss", 3_900, 6_000, one),
        Scene::new("burst of losses", 3_900, 6_000, |down| lose(down, ms(50))),
        Scene::new("jitter: spurious losses", 3_900, 6_000, jitter),
        Scene::new("all lost for 600 ms: PTOs", 3_900, 7_000, |down| lose(down, ms(600))),
        Scene::new("all lost for 3 s: persistent congestion", 3_900, 10_000, persistent),
        Scene::new("half the rate, then four times", 3_900, 8_000, rates),
        Scene::new("100 ms longer", 3_900, 8_000, longer),
        Scene { traffic: VIDEO, ..Scene::new("app-limited: video of 2 Mbit/s", 0, 3_000, |_| ()) },
        Scene { traffic: PAUSES, ..Scene::new("a pause, then one loss", 1_700, 5_400, one) },
    ]
}

/// The states of a controller in a scene, from its first event on.
fn record(controller: &str, scene: &Scene) -> Vec<State> {
    let mut link = Link::symmetric(Direction {
        rate: Some(5_000_000),
        delay: ms(40),
        queue: Queue::Bdp(1.0),
        ..Direction::default()
    });
    (scene.shape)(&mut link.down);
    let flow = Flow {
        traffic: scene.traffic,
        ..Flow::new(&format!("{RECORDED}:{controller}"))
    };
    let scenario = Scenario {
        duration: scene.to,
        max_datagram_size: DATAGRAM as usize,
        ..Scenario::new(link, vec![flow])
    };
    STATES.take();
    run(&scenario).unwrap();
    STATES.take()
}

const COLUMNS: usize = 72;
const LINES: usize = 4;
/// An empty cell, and cells filled by one to eight eighths.
const CELLS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws the window over time, as the mean of each column's states.
fn picture(scene: &Scene, states: &[State]) -> String {
    let span = (scene.to - scene.from).as_nanos() / COLUMNS as u128;
    let mut columns = [(0, 0); COLUMNS];
    for state in states {
        let column = (state.at - scene.from).as_nanos() / span;
        let (sum, count) = &mut columns[(column as usize).min(COLUMNS - 1)];
        *sum += state.window;
        *count += 1;
    }
    let mut window = states[0].window;
    let columns = columns.map(|(sum, count)| {
        window = u64::checked_div(sum, count).unwrap_or(window);
        window
    });
    let highest = columns.into_iter().max().unwrap();
    let eighths = columns.map(|window| (window * 8 * LINES as u64).div_ceil(highest) as usize);
    let mut picture = String::new();
    for line in (0..LINES).rev() {
        let label = if line == LINES - 1 {
            datagrams(highest)
        } else {
            String::new()
        };
        let cells = eighths.map(|it| CELLS[it.saturating_sub(8 * line).min(8)]);
        let cells: String = cells.iter().collect();
        writeln!(picture, "{label:>6} ┤{}", cells.trim_end()).unwrap();
    }
    picture
}

fn datagrams(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / DATAGRAM as f64)
}

/// Time between two rows of ACKs.
const EVERY: Duration = Duration::from_millis(250);

/// A row for each event that is not an ACK, for each ACK that reduces the window, moves it to
/// another phase or ends a recovery period, and every [`EVERY`]. Events of one kind in a row are
/// one row with the last state.
fn table(states: &[State]) -> String {
    let mut rows: Vec<(State, usize)> = Vec::new();
    let mut next = Duration::ZERO;
    let mut before = states[0];
    for state in states {
        let acked = state.event.starts_with("ack");
        // ssthresh of an app-limited sender may cross its window with each ACK.
        let recovery = [before.phase, state.phase].contains(&Phase::Recovery);
        let moved = state.phase != before.phase && (recovery || state.window != before.window);
        let changed = moved || state.window < before.window;
        match rows.last_mut() {
            Some((last, times)) if !acked && last.event == state.event => {
                (*last, *times) = (*state, *times + 1);
            }
            _ if !acked || changed || state.at >= next => rows.push((*state, 1)),
            _ => (),
        }
        if acked && state.at >= next {
            next = state.at + EVERY;
        }
        before = *state;
    }
    let mut table = format!(
        "{:>6} {:<24} {:<20} {:>7} {:>8} {:>7}\n",
        "ms", "event", "phase", "window", "ssthresh", "Mbit/s"
    );
    for (state, times) in rows {
        let mut event = state.event.to_owned();
        if times > 1 {
            write!(event, " x {times}").unwrap();
        }
        writeln!(
            table,
            "{:>6} {event:<24} {:<20} {:>7} {:>8} {:>7}",
            state.at.as_millis(),
            state.phase.as_str(),
            datagrams(state.window),
            state.ssthresh.map_or("-".into(), datagrams),
            state
                .pacing_rate
                .map_or("-".into(), |rate| format!("{:.2}", rate as f64 * 8e-6)),
        )
        .unwrap();
    }
    table
}

/// All scenes of a controller.
fn trajectories(controller: &str) -> String {
    let mut text = "Window and ssthresh in datagrams; 5 Mbit/s, 80 ms, a queue of one BDP, \
                    37 datagrams.\n"
        .to_owned();
    for scene in scenes() {
        let mut states = record(controller, &scene);
        states.retain(|state| state.at >= scene.from);
        let picture = picture(&scene, &states);
        write!(text, "\n{}\n\n{picture}\n{}", scene.title, table(&states)).unwrap();
    }
    text
}

#[test]
fn windows_move_as_before() {
    register(RECORDED, &TABLE).unwrap();
    let check = |controller| {
        let mut settings = insta::Settings::new();
        settings.set_snapshot_path("golden");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(controller, trajectories(controller)));
    };
    // Each controller on a thread, so that all differences are shown.
    thread::scope(|scope| {
        for controller in registry::names() {
            scope.spawn(move || check(controller));
        }
    });
}
