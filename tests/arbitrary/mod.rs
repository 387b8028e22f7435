//! Arbitrary bytes as what happens to a controller, and as its options: what the fuzz targets run.

use std::time::Duration;

use petra::controller::Settings;
use petra::registry::{factory, names};

use crate::transport::{built, check, check_estimate, Step, Transport};

/// Most steps of an input: the checks read all that has happened.
const STEPS: usize = 200;

/// Runs every controller through the events that `bytes` are, four to a step, and checks its
/// properties after each.
pub(crate) fn controllers(bytes: &[u8]) {
    let Some((head, rest)) = bytes.split_first_chunk::<4>() else {
        return;
    };
    let max_datagram_size = 1_200 + u64::from(u16::from_le_bytes([head[0], head[1]])) % 64_000;
    let settings = Settings {
        max_datagram_size,
        initial_window: (1 + u64::from(head[2]) % 100) * max_datagram_size,
    };
    for name in names() {
        let mut transport = Transport::new(vec![built(name, "", settings)], settings);
        for word in rest.chunks_exact(4).take(STEPS) {
            let before = transport.controllers[0].window();
            let step = step(word);
            transport.step(&step);
            check(&transport);
            let controller = &transport.controllers[0];
            let after = controller.window();
            match step {
                Step::Lose { .. } | Step::Marks => {
                    assert!(after <= before, "{name}: {before} {after}")
                }
                Step::Ack {
                    app_limited: true, ..
                } => assert!(after <= before, "{name}: {before} {after}"),
                Step::PersistentCongestion => {
                    assert_eq!(after, 2 * transport.settings.max_datagram_size, "{name}");
                }
                _ => (),
            }
            check_estimate(name, &controller.metrics(), transport.most_acked(name));
        }
    }
}

fn step(word: &[u8]) -> Step {
    let number = u16::from_le_bytes([word[1], word[2]]);
    let count = 1 + usize::from(word[3]) % 40;
    match word[0] % 16 {
        // From a nanosecond to some 10 s, every order of magnitude alike.
        0..4 => {
            let bits = word[3] % 34;
            let nanos = (1 << bits) + ((u64::from(number) << bits) >> 16);
            Step::Wait(Duration::from_nanos(nanos))
        }
        4..8 => Step::Send {
            bytes: 1 + u64::from(number),
            times: 1 + count % 8,
        },
        8..12 => Step::Ack {
            from: number,
            count,
            app_limited: word[3] >= 240,
        },
        12 if word[3] >= 200 => Step::Marks,
        12 => Step::Lose {
            from: number,
            count: 1 + count % 10,
        },
        13 if word[3] & 1 == 0 => Step::Pto,
        13 => Step::PersistentCongestion,
        14 => Step::Spurious {
            whole_event: word[3] & 1 == 0,
        },
        _ => Step::Mtu(1_200 + u64::from(number) % 64_000),
    }
}

/// Gives `bytes` to every controller as its options: what it takes, it can be built with, and what
/// it does not take, it says in one line.
pub(crate) fn options(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let settings = Settings {
        max_datagram_size: 1_350,
        initial_window: 13_500,
    };
    for name in names() {
        match factory(name, text) {
            Ok(factory) => {
                let controllers = vec![factory.build(settings)];
                let mut transport = Transport::new(controllers, settings);
                for step in [
                    Step::Send {
                        bytes: 1_350,
                        times: 10,
                    },
                    Step::Wait(Duration::from_millis(50)),
                    Step::Ack {
                        from: 0,
                        count: 5,
                        app_limited: false,
                    },
                    Step::Lose { from: 0, count: 1 },
                ] {
                    transport.step(&step);
                    check(&transport);
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
