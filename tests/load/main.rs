//! The example server under load and attack, over loopback. Each test prints its measurements and
//! asserts that no honest download fails, and that memory has a bound. Times are not asserted.
//!
//! The sizes are small, unless `scripts/soak` asks for more and writes docs/security.md.

#[allow(dead_code)]
#[path = "../examples/harness.rs"]
mod harness;
#[path = "../initial/mod.rs"]
mod initial;
#[path = "../keys/mod.rs"]
mod keys;
#[allow(dead_code)]
#[path = "../examples/relay.rs"]
mod relay;
#[allow(dead_code)]
#[path = "../examples/stranger.rs"]
mod stranger;

mod attack;
mod clients;
mod lack;
mod page;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use attack::{Attack, Progress};
use clients::{Clients, Tally};
use harness::{wait_for, Server};
use stranger::{packet_type, Stranger};

/// Largest memory of a connection that has downloaded and is idle, in bytes.
const MAX_PER_CONNECTION: u64 = 256 << 10;

/// Largest growth of memory over most of a long load, in bytes.
const MAX_GROWTH: u64 = 8 << 20;

/// Largest peak of the server's memory in bytes under any attack.
const MAX_UNDER_ATTACK: u64 = 192 << 20;

/// Honest connections at a time while the server is attacked.
const HONEST: usize = 4;

/// Steps after which each attack has begun half as many handshakes as the short form's limit.
const MANY_STEPS: u64 = 600;

/// Sizes of the loads.
struct Size {
    at_once: usize,
    in_sequence: usize,
    /// Time of each attack.
    attack: Duration,
    soak: Duration,
    /// The server's limit on unfinished handshakes under attack, which the attack reaches.
    handshakes: &'static str,
}

impl Size {
    /// The sizes, as `scripts/soak` sets them by `PETRA_SOAK`, the seconds of the soak.
    fn get() -> Size {
        let soak = std::env::var("PETRA_SOAK").ok();
        match soak.map(|seconds| seconds.parse().expect("PETRA_SOAK has seconds")) {
            Some(seconds) => Size {
                at_once: 2000,
                in_sequence: 10_000,
                attack: Duration::from_secs(20),
                soak: Duration::from_secs(seconds),
                handshakes: "1000",
            },
            None => Size {
                at_once: 200,
                in_sequence: 300,
                attack: Duration::from_secs(1),
                soak: Duration::from_secs(2),
                // Each handshake has 250 ms before it makes room. An attack that pauses for 1 ms
                // begins fewer than these places admit, or honest ones would fail by chance.
                handshakes: "300",
            },
        }
    }
}

/// Lets one load run at a time.
fn alone() -> MutexGuard<'static, ()> {
    static LOAD: Mutex<()> = Mutex::new(());
    LOAD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn mb(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[test]
fn connections_at_once() {
    let (_alone, size) = (alone(), Size::get());
    let mut table = "| controller | connections | memory before | all open | per connection | \
                     as many more, these closed |\n|---|---|---|---|---|---|\n"
        .to_string();
    for cc in ["petra", "cubic", "reno"] {
        let server = Server::start(&["--cc", cc, "--idle-timeout", "10m"]);
        let before = server.resident();
        let mut clients = Clients::new(server.address);
        clients.open(size.at_once, "/bytes/100000");
        clients.finish();
        let open = server.resident();
        let each = open.saturating_sub(before) / size.at_once as u64;
        let tally = clients.close();
        tally.check(size.at_once);
        clients.open(size.at_once, "/bytes/100000");
        clients.finish();
        let again = server.resident();
        clients.close().check(size.at_once);
        table += &format!(
            "| `{cc}` | {} | {} | {} | {:.1} kB | {} |\n",
            size.at_once,
            mb(before),
            mb(open),
            each as f64 / 1e3,
            mb(again),
        );
        assert!(each < MAX_PER_CONNECTION, "{each} bytes per connection");
        // A packet that closes a connection can be lost. The server then keeps the connection until
        // its idle timeout.
        assert!(again < 2 * open + MAX_GROWTH, "{open}, then {again}");
    }
    page::write("at once", &table);
}

#[test]
fn connections_in_sequence() {
    let (_alone, size) = (alone(), Size::get());
    let server = Server::start(&[]);
    let mut clients = Clients::new(server.address);
    let mut memory = vec![];
    let tenth = size.in_sequence / 10;
    for _ in 0..10 {
        clients.run(tenth, "/bytes/20000", 10).check(tenth);
        memory.push(server.resident());
    }
    let cells: Vec<String> = memory.iter().map(|bytes| mb(*bytes)).collect();
    let titles: Vec<String> = (1..=10).map(|part| (part * tenth).to_string()).collect();
    page::write(
        "in sequence",
        &format!(
            "| connections so far | {} |\n{}|\n| memory | {} |\n",
            titles.join(" | "),
            "|---".repeat(11),
            cells.join(" | ")
        ),
    );
    let (first, last) = (memory[2], memory[9]);
    assert!(last < first + MAX_GROWTH, "from {first} to {last} bytes");
}

/// Runs honest downloads while the attack runs. Returns them, and the steps of the attack.
fn honest_during(
    server: &Server,
    attack: Attack,
    until: Instant,
    each: impl FnMut(),
) -> (Tally, u64) {
    let progress = Progress::default();
    thread::scope(|scope| {
        attack.run(scope, server.address, &progress);
        let mut clients = Clients::new(server.address);
        let tally = clients.run_until(until, "/bytes/200000", HONEST, each);
        if attack.takes_places() {
            wait_for("the attack's steps", || progress.steps() > MANY_STEPS);
            let mut stranger = Stranger::to(server.address);
            stranger.send();
            // A full buffer of a socket loses some.
            let first = (0..100).find_map(|_| {
                let answer = stranger.received(Duration::from_millis(100));
                if answer.is_empty() {
                    stranger.repeat();
                }
                answer.into_iter().next()
            });
            let first = first.and_then(|mut answer| packet_type(&mut answer));
            assert_eq!(first, Some(quiche::Type::Retry), "{attack:?} is no load");
        }
        (tally, progress.stop())
    })
}

#[test]
fn attacks() {
    let (_alone, size) = (alone(), Size::get());
    let mut table =
        "| attack | its steps | honest downloads | failed | median | slowest | peak memory |\n\
                     |---|---|---|---|---|---|---|\n"
            .to_string();
    for attack in Attack::ALL {
        let server = Server::start(&["--max-handshakes", size.handshakes]);
        let (tally, steps) = honest_during(&server, attack, Instant::now() + size.attack, || {});
        let peak = server.memory();
        let (about, cells) = (attack.about(), tally.cells());
        table += &format!("| {about} | {steps} | {cells} | {} |\n", mb(peak));
        tally.check(1);
        assert!(peak < MAX_UNDER_ATTACK, "{attack:?}: {peak} bytes");
    }
    page::write("attacks", &table);
}

#[test]
fn a_soak() {
    let (_alone, size) = (alone(), Size::get());
    let server = Server::start(&["--max-handshakes", size.handshakes]);
    let (begun, step) = (Instant::now(), size.soak / 10);
    let mut memory = vec![];
    let (tally, _) = honest_during(&server, Attack::All, begun + size.soak, || {
        if memory.len() < 10 && begun.elapsed() >= step * (memory.len() as u32 + 1) {
            memory.push(server.resident());
        }
    });
    let time = |part| format!("{} s", (step * part).as_secs_f64());
    let titles: Vec<String> = (1..=memory.len() as u32).map(time).collect();
    let cells: Vec<String> = memory.iter().map(|bytes| mb(*bytes)).collect();
    let hour = size.soak >= Duration::from_secs(3600);
    page::write(
        if hour { "soak of an hour" } else { "soak" },
        &format!(
            "| time | {} |\n{}|\n| memory | {} |\n\nHonest downloads: {}, failed: {}.\n",
            titles.join(" | "),
            "|---".repeat(cells.len() + 1),
            cells.join(" | "),
            tally.complete(),
            tally.failures().len(),
        ),
    );
    tally.check(1);
    let middle = memory[memory.len() / 2];
    let last = *memory.last().expect("a soak has samples");
    assert!(
        last < middle + middle / 4 + MAX_GROWTH,
        "from {middle} to {last} bytes"
    );
}
