//! One direction of a link against theory: what goes in comes out, when, and in
//! which order.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use petra_lab::entropy::generator;
use petra_lab::link::{
    Aggregate, Aqm, Direction, Distribution, GilbertElliott, Handover, LossEvery, Lte, Outage,
    Policer, Queue, Step,
};
use petra_lab::plan::Plan;
use petra_lab::sim::{Channel, Nanos, PacketOutcome, QueuedPacket};
use proptest::prelude::*;
use rand_pcg::rand_core::Rng;
use rand_pcg::Pcg64;

const MS: Nanos = 1_000_000;
const SECOND: Nanos = 1_000 * MS;

/// A packet that enters: when, of which flow, how long.
type Entry = (Nanos, u32, usize);

/// Returns the outcome of each packet, in the order of entering; `None` for packets that are still
/// inside at the end.
fn pass(direction: &Direction, entries: &[Entry], end: Nanos) -> Vec<Option<PacketOutcome>> {
    let round_trip = 2 * direction.delay;
    let mut channel = Channel::new(direction, round_trip, generator(1, 1)).unwrap();
    let mut outcomes = vec![None; entries.len()];
    let mut settle = |channel: &mut Channel<usize>| {
        while let Some((index, outcome)) = channel.decided() {
            assert_eq!(outcomes[index], None, "one outcome for each packet");
            outcomes[index] = Some(outcome);
        }
    };
    for (index, (at, flow, bytes)) in entries.iter().enumerate() {
        while let Some(next) = channel.next().filter(|next| next <= at) {
            channel.advance(next);
            settle(&mut channel);
        }
        channel.enter(
            *at,
            QueuedPacket {
                content: index,
                bytes: *bytes,
                flow: *flow,
                long_header: false,
            },
        );
        settle(&mut channel);
    }
    while let Some(next) = channel.next().filter(|next| *next <= end) {
        channel.advance(next);
        settle(&mut channel);
    }
    outcomes
}

fn uniform(random: &mut Pcg64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// `count` packets whose distances are exponential with the mean `every`.
fn poisson(count: usize, every: f64, bytes: usize) -> Vec<Entry> {
    let mut random = generator(7, 7);
    let mut at = 0.0;
    let mut next = || {
        at -= (1.0 - uniform(&mut random)).ln() * every;
        (at as Nanos, 0, bytes)
    };
    (0..count).map(|_| next()).collect()
}

/// One packet every `every`, from 0 to `end`.
fn regular(flow: u32, every: Nanos, bytes: usize, end: Nanos) -> Vec<Entry> {
    (0..end)
        .step_by(every as usize)
        .map(|at| (at, flow, bytes))
        .collect()
}

fn queued(outcome: &Option<PacketOutcome>) -> Option<Nanos> {
    match outcome {
        Some(PacketOutcome::Arrives { queued, .. }) => Some(*queued),
        _ => None,
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    sum / count
}

/// 8 Mbit/s, where a packet of 1000 bytes takes 1 ms, and room for everything.
fn wide() -> Direction {
    Direction {
        rate: Some(8_000_000),
        queue: Queue::Bytes(1_000_000_000),
        ..Direction::default()
    }
}

#[test]
fn random_arrivals_wait_as_long_as_md1_says() {
    for load in [0.5, 0.8, 0.9] {
        let entries = poisson(400_000, MS as f64 / load, 1000);
        let outcomes = pass(&wide(), &entries, 0);
        let waits = outcomes
            .iter()
            .map(|outcome| queued(outcome).unwrap() as f64 / MS as f64);
        let measured = mean(waits);
        // Pollaczek and Khinchine, with a constant service of 1 ms.
        let theory = load / (2.0 * (1.0 - load));
        assert!(
            (measured / theory - 1.0).abs() < 0.05,
            "{load}: {measured} {theory}"
        );
    }
}

#[test]
fn a_rate_that_is_said_in_another_way_is_the_same_rate() {
    let entries = poisson(20_000, 0.9 * MS as f64, 1000);
    let small = Direction {
        queue: Queue::Bytes(20_000),
        ..wide()
    };
    let in_steps = Direction {
        steps: vec![Step {
            at: Duration::from_secs(5),
            rate: Some(8_000_000),
            ..Step::default()
        }],
        ..small.clone()
    };
    let plain = pass(&small, &entries, 0);
    assert!(plain.contains(&Some(PacketOutcome::TailDropped)));
    assert_eq!(plain, pass(&in_steps, &entries, 0));
}

#[test]
fn codel_brings_a_standing_queue_to_its_target() {
    let managed = |aqm: &str| Direction {
        aqm: aqm.parse().unwrap(),
        queue: Queue::Bytes(100_000),
        ..wide()
    };
    // Three packets a second too much, which a drop or two per interval undo.
    let entries = regular(0, 997_000, 1000, 100 * SECOND);
    let wait = |aqm| {
        let outcomes = pass(&managed(aqm), &entries, 200 * SECOND);
        let late = outcomes.iter().skip(entries.len() / 2).filter_map(queued);
        mean(late.map(|queued| queued as f64 / MS as f64))
    };
    let full = wait("drop-tail");
    assert!((98.0..=100.0).contains(&full), "{full}");
    for (aqm, target) in [("codel", 5.0), ("codel:target=20ms,interval=200ms", 20.0)] {
        let managed = wait(aqm);
        assert!(
            (0.5 * target..1.5 * target).contains(&managed),
            "{aqm}: {managed}"
        );
    }
}

#[test]
fn fq_codel_keeps_a_modest_flow_from_a_heavy_one() {
    // 4 Mbit/s beside 16 on 8, and not in step.
    let mut entries = regular(1, 2_000_300, 1000, 20 * SECOND);
    entries.extend(regular(2, 501_001, 1000, 20 * SECOND));
    entries.sort_by_key(|(at, ..)| *at);
    let outcome = |aqm: Aqm| {
        let direction = Direction {
            aqm,
            queue: Queue::Bytes(100_000),
            ..wide()
        };
        let outcomes = pass(&direction, &entries, 40 * SECOND);
        let of = |flow: u32| -> Vec<Option<Nanos>> {
            let entries = entries.iter().zip(&outcomes);
            let own = entries.filter(|((_, other, _), _)| *other == flow);
            own.map(|(_, outcome)| queued(outcome)).collect()
        };
        [of(1), of(2)]
    };
    let [modest, heavy] = outcome("fq_codel".parse().unwrap());
    // A bit less than half the rate is its own: nothing lost, and it waits for
    // a quantum or two of the other at the most.
    let lost = modest.iter().filter(|queued| queued.is_none()).count();
    assert_eq!(lost, 0);
    assert!(modest.iter().flatten().all(|queued| *queued <= 4 * MS));
    let through = heavy.iter().flatten().count();
    assert!((9_900..10_300).contains(&through), "{through}");
    // Without isolation it loses as the other does.
    let [modest, _] = outcome(Aqm::DropTail);
    let lost = modest.iter().filter(|queued| queued.is_none()).count();
    assert!(lost > 2_000, "{lost}");
}

#[test]
fn red_holds_its_average_between_its_thresholds() {
    let direction = Direction {
        aqm: "red:min=20kB,max=60kB,probability=10%".parse().unwrap(),
        ..wide()
    };
    // 5 % too much, so that in the long run 1 of 21 is dropped.
    let entries = poisson(300_000, MS as f64 / 1.05, 1000);
    let outcomes = pass(&direction, &entries, 0);
    let late = &outcomes[100_000..];
    let dropped = late
        .iter()
        .filter(|outcome| **outcome == Some(PacketOutcome::AqmDropped))
        .count();
    let share = dropped as f64 / late.len() as f64;
    assert!((share - 0.05 / 1.05).abs() < 0.005, "{share}");
    // Between drops there are 1 to 1 / p packets, all as likely: of those 1 in
    // (1 + 1 / p) / 2 is dropped. So p is 0.0244, a quarter of the way.
    let queue = mean(
        late.iter()
            .filter_map(queued)
            .map(|queued| queued as f64 / MS as f64),
    );
    assert!((25.0..35.0).contains(&queue), "{queue}");
}

#[test]
fn aggregated_packets_enter_together() {
    let direction = Direction {
        rate: None,
        aggregate: Some(Aggregate {
            packets: 4,
            at_most: Duration::from_millis(10),
        }),
        ..Direction::default()
    };
    let at = |ms: &[u64]| -> Vec<Entry> { ms.iter().map(|ms| (ms * MS, 0, 60)).collect() };
    let entries = at(&[0, 1, 2, 3, 20, 21, 29, 30, 31]);
    let arrivals: Vec<Nanos> = pass(&direction, &entries, SECOND)
        .iter()
        .map(|outcome| match outcome {
            Some(PacketOutcome::Arrives { at, .. }) => at / MS,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(arrivals, [3, 3, 3, 3, 30, 30, 30, 40, 40]);
}

#[test]
fn of_small_packets_every_third_passes() {
    let direction = Direction {
        ack_filter: 3,
        ..Direction::default()
    };
    let entries: Vec<Entry> = [60, 1000, 60, 60, 199, 200, 60, 60]
        .map(|bytes| (0, 0, bytes))
        .into();
    let passed: Vec<bool> = pass(&direction, &entries, 0)
        .iter()
        .map(|outcome| *outcome != Some(PacketOutcome::Thinned))
        .collect();
    let expected = [true, true, false, false, true, true, false, false];
    assert_eq!(passed, expected);
}

/// Reduces the behaviour of a link with every random feature to one number.
#[test]
fn the_same_seed_is_the_same_link_on_every_machine() {
    let direction = Direction {
        rate: None,
        lte: Some(Lte {
            mean: 8_000_000,
            deviation: 0.5,
            coherence: Duration::from_millis(100),
            block_errors: 0.1,
        }),
        aqm: "red:min=5kB,max=30kB".parse().unwrap(),
        delay: Duration::from_millis(20),
        jitter: Duration::from_millis(2),
        burst: Some(GilbertElliott {
            to_bad: 0.01,
            to_good: 0.25,
            loss_good: 0.0,
            loss_bad: 0.5,
        }),
        ..wide()
    };
    let mut random = generator(5, 5);
    let mut at = 0;
    let mut next = || {
        at += random.next_u64() % (2 * MS);
        (at, 0, 1000)
    };
    let entries: Vec<Entry> = (0..50_000).map(|_| next()).collect();
    // FNV-1a of when each arrives, or of what else becomes of it.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for outcome in pass(&direction, &entries, SECOND) {
        let word = match outcome {
            Some(PacketOutcome::Arrives { at, queued }) => at ^ queued.rotate_left(32),
            Some(PacketOutcome::Lost { .. }) => 1,
            Some(PacketOutcome::AqmDropped) => 2,
            _ => 3,
        };
        for byte in word.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    assert_eq!(hash, 0x81e8_a72e_444e_f429, "{hash:#x}");
}

fn millis(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

fn capacity() -> impl Strategy<Value = Direction> {
    let rate = 100_000u64..50_000_000;
    let constant = rate.clone().prop_map(|rate| Direction {
        rate: Some(rate),
        ..Direction::default()
    });
    let steps = (rate.clone(), rate.clone(), millis(1..900)).prop_map(|(first, then, at)| {
        let steps = vec![Step {
            at,
            rate: Some(then),
            ..Step::default()
        }];
        Direction {
            rate: Some(first),
            steps,
            ..Direction::default()
        }
    });
    let lte = (rate, 0.0..1.0f64, 0.0..0.5f64).prop_map(|(mean, deviation, block_errors)| {
        let coherence = Duration::from_millis(50);
        Direction {
            lte: Some(Lte {
                mean,
                deviation,
                coherence,
                block_errors,
            }),
            ..Direction::default()
        }
    });
    prop_oneof![Just(Direction::default()), constant, steps, lte]
}

fn aqm() -> impl Strategy<Value = Aqm> {
    let texts = [
        "drop-tail",
        "codel",
        "fq_codel:flows=4",
        "red:min=5kB,max=15kB",
    ];
    prop::sample::select(texts.map(|text| text.parse().unwrap()).to_vec())
}

const DISTRIBUTIONS: [Distribution; 4] = [
    Distribution::Normal,
    Distribution::Uniform,
    Distribution::Pareto,
    Distribution::ParetoNormal,
];

/// A step of everything, and maybe a period, which is after all outages.
fn schedule() -> impl Strategy<Value = (Step, Option<Duration>)> {
    let rate = 100_000u64..50_000_000;
    let step = (
        millis(1..900),
        rate,
        millis(0..100),
        millis(0..5),
        0.0..0.5f64,
    );
    let step = step.prop_map(|(at, rate, delay, jitter, loss)| Step {
        at,
        rate: Some(rate),
        delay: Some(delay),
        jitter: Some(jitter),
        loss: Some(loss),
        queue: Some(Queue::Time(delay + Duration::from_millis(1))),
    });
    (step, prop::option::of(millis(1_000..2_000)))
}

prop_compose! {
    fn direction()(
        capacity in capacity(),
        aqm in aqm(),
        queue in 1_000u64..100_000,
        delay in millis(0..100),
        jitter in millis(0..5),
        slot in millis(0..20),
        loss in 0.0..0.5f64,
        burst in prop::option::of(Just(GilbertElliott {
            to_bad: 0.1, to_good: 0.3, loss_good: 0.01, loss_bad: 0.7,
        })),
        outage in prop::option::of((millis(0..500), millis(1..200))),
        aggregate in prop::option::of((1u32..8, millis(0..30))),
        ack_filter in 1u32..4,
        handover in prop::option::of(millis(100..500)),
        distribution in prop::sample::select(DISTRIBUTIONS.to_vec()),
        jitter_hold in millis(0..5),
        loss_every in prop::option::of((2u32..50, 1u32..2)),
        policer in prop::option::of((100_000u64..50_000_000, 1_500u64..50_000)),
        schedule in prop::option::of(schedule()),
    ) -> Direction {
        let limited = capacity.rate.is_some() || capacity.lte.is_some();
        let (mut steps, mut repeat) = (capacity.steps.clone(), None);
        if let Some((step, period)) = schedule {
            steps.retain(|other| other.at < step.at);
            steps.push(Step {
                rate: step.rate.filter(|_| capacity.rate.is_some()),
                loss: step.loss.filter(|_| burst.is_none()),
                ..step
            });
            repeat = period;
        }
        Direction {
            steps,
            repeat,
            jitter_distribution: distribution,
            jitter_hold,
            loss_every: loss_every.map(|(packets, burst)| LossEvery { packets, burst }),
            policer: policer.map(|(rate, burst)| Policer { rate, burst }),
            aqm: if limited { aqm } else { Aqm::DropTail },
            queue: Queue::Bytes(queue),
            delay,
            jitter,
            slot,
            loss: if burst.is_some() { 0.0 } else { loss },
            burst,
            outages: outage.iter().map(|(at, lasts)| Outage { at: *at, lasts: *lasts }).collect(),
            aggregate: aggregate.map(|(packets, at_most)| Aggregate { packets, at_most }),
            ack_filter,
            handover: handover.map(|every| Handover {
                every,
                gap: every / 4,
                delay: delay / 2,
            }),
            ..capacity
        }
    }
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let entry = (0u64..3 * MS, 0u32..3, 28usize..1500);
    prop::collection::vec(entry, 1..400).prop_map(|mut entries| {
        let mut now = 0;
        for (at, ..) in &mut entries {
            now += *at;
            *at = now;
        }
        entries
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// In is out, lost or inside; nothing is early; and each flow keeps its
    /// order, of which FQ-CoDel's hash knows.
    #[test]
    fn packets_are_conserved_and_keep_their_order(
        direction in direction(),
        entries in entries(),
    ) {
        direction.check().unwrap();
        let last = entries.last().unwrap().0;
        let outcomes = pass(&direction, &entries, last + 3600 * SECOND);
        let steps = direction.steps.iter();
        let delays = steps.filter_map(|step| step.delay);
        let delays = delays.chain(direction.handover.map(|handover| handover.delay));
        let fastest = delays.fold(direction.delay, Duration::min);
        let jitters = direction.steps.iter().filter_map(|step| step.jitter);
        let steady = jitters.fold(direction.jitter, Duration::max).is_zero();
        let mut arrivals = [0; 3];
        for ((entered, flow, _), outcome) in entries.iter().zip(&outcomes) {
            // An hour later nothing is inside.
            let outcome = outcome.expect("an outcome");
            if let PacketOutcome::Arrives { at, queued } = outcome {
                // Jitter may shorten the delay, but never below none.
                prop_assert!(at >= entered + queued);
                if steady {
                    prop_assert!(at >= entered + fastest.as_nanos() as Nanos);
                }
                let before = &mut arrivals[*flow as usize];
                prop_assert!(at >= *before);
                *before = at;
            }
        }
    }

    /// No more comes out in any time than the rate carries.
    #[test]
    fn a_bottleneck_is_never_faster_than_its_rate(
        rate in 100_000u64..50_000_000,
        aqm in aqm(),
        entries in entries(),
    ) {
        let direction = Direction {
            rate: Some(rate),
            aqm,
            queue: Queue::Bytes(30_000),
            ..Direction::default()
        };
        let outcomes = pass(&direction, &entries, 3600 * SECOND);
        let mut out: Vec<(Nanos, usize)> = entries
            .iter()
            .zip(&outcomes)
            .filter_map(|((.., bytes), outcome)| match outcome {
                Some(PacketOutcome::Arrives { at, .. }) => Some((*at, *bytes)),
                _ => None,
            })
            .collect();
        out.sort_unstable();
        for pair in out.windows(2) {
            let transmission = pair[1].1 as u64 * 8 * SECOND / rate;
            prop_assert!(pair[1].0 - pair[0].0 >= transmission);
        }
    }
}

/// The way of the data in a case of the suite for Wi-Fi.
fn wifi(case: &str) -> Direction {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("plans/suites/wifi.toml");
    let plan = Plan::read(&file).unwrap();
    let mut points = plan.points.into_iter();
    let point = points.find(|point| point.case.as_deref() == Some(case));
    point.unwrap().scenario.path.remove(0).down
}

fn arrival(outcome: &Option<PacketOutcome>) -> Option<Nanos> {
    match outcome {
        Some(PacketOutcome::Arrives { at, .. }) => Some(*at),
        _ => None,
    }
}

#[test]
fn contention_for_the_air_is_paretos_and_holds_for_what_is_sent_together() {
    let crowded = wifi("contention, 20 ms");
    // Pairs 1 ms apart, 400 ms from each other: in the same 4 ms, and after the rest.
    let pairs = (0..20_000u64).flat_map(|pair| [400 * pair, 400 * pair + 1]);
    let entries: Vec<Entry> = pairs.map(|ms| (ms * MS, 0, 1000)).collect();
    let outcomes = pass(&crowded, &entries, 0);
    let delay = |index: usize| (arrival(&outcomes[index]).unwrap() - entries[index].0) as f64 / 1e6;
    let mut delays: Vec<f64> = (0..outcomes.len()).step_by(2).map(delay).collect();
    // But for those that wait for one before them which is 400 ms late.
    let pairs = (0..).step_by(2).zip(&delays);
    let apart = pairs.filter(|(index, first)| (delay(index + 1) - **first).abs() > 1e-6);
    let apart = apart.count();
    assert!(apart <= 20, "{apart} of 20000");
    delays.sort_by(f64::total_cmp);
    // 20 ms and 0.2 ms of transmission, with a deviation of 20 ms. Of shape 3, the minimum, the
    // median and the 95th percentile are at these numbers of deviations from the mean.
    let rank = |part: f64| (delays[(part * delays.len() as f64) as usize] - 20.2) / 20.0;
    for (part, deviations) in [(0.0, -0.577), (0.5, -0.277), (0.95, 1.402)] {
        let measured = rank(part);
        assert!((measured - deviations).abs() < 0.05, "{part}: {measured}");
    }
    assert!((mean(delays.iter().copied()) - 20.2).abs() < 0.5);
    // The least delay is that of the least draw, and not cut off at nothing.
    assert!(delays[0] > 8.0, "{}", delays[0]);
}

#[test]
fn aggregated_frames_come_every_5_ms_with_all_that_was_sent_meanwhile() {
    // All that 40 Mbit/s carry.
    let entries = regular(0, MS / 5, 1000, SECOND);
    let outcomes = pass(&wifi("aggregation"), &entries, 0);
    let mut frames = BTreeMap::<Nanos, usize>::new();
    for at in outcomes.iter().map(|outcome| arrival(outcome).unwrap()) {
        *frames.entry(at).or_default() += 1;
    }
    assert!(frames.keys().all(|at| at % (5 * MS) == 0));
    let mut inner = frames.values().skip(1).take(frames.len() - 2);
    assert!(inner.all(|packets| *packets == 25), "{frames:?}");
}

#[test]
fn fades_carry_the_rates_of_their_steps_and_lose_in_the_deepest() {
    let fades = wifi("fades");
    let entries = regular(0, MS / 5, 1000, 16 * SECOND);
    let outcomes = pass(&fades, &entries, 17 * SECOND);
    let left: Vec<Nanos> = outcomes
        .iter()
        .filter_map(arrival)
        .map(|at| at - 20 * MS)
        .collect();
    // The queue is never empty, and 250 kB of it take 50 ms of 40 Mbit/s after a step.
    for (from, to, rate) in [
        (0, 3, 40.0),
        (3, 5, 20.0),
        (5, 7, 6.0),
        (7, 8, 20.0),
        (8, 11, 40.0),
    ] {
        let within = |at: &&Nanos| (from * SECOND..to * SECOND).contains(*at);
        let bits = left.iter().filter(within).count() as f64 * 8000.0;
        let measured = bits / 1e6 / (to - from) as f64;
        assert!((measured / rate - 1.0).abs() < 0.01, "{from}: {measured}");
    }
    let lost = |from: u64, to: u64| {
        let own = entries.iter().zip(&outcomes);
        let own = own.filter(|((at, ..), _)| (from * SECOND..to * SECOND).contains(at));
        own.filter(|(_, outcome)| matches!(outcome, Some(PacketOutcome::Lost { .. })))
            .count()
    };
    // Of 1500 packets in 2 s 0.5 %, of which each period has its own.
    assert_eq!(lost(0, 4) + lost(9, 12), 0);
    let deep = lost(4, 8) + lost(12, 16);
    assert!((5..30).contains(&deep), "{deep}");
}

#[test]
fn a_suspended_station_gets_nothing_for_120_ms_and_then_all_of_it() {
    let suspended = wifi("suspensions");
    // An eighth of what the link carries.
    let entries = regular(0, 8 * MS / 5, 1000, 15 * SECOND);
    let outcomes = pass(&suspended, &entries, 16 * SECOND);
    let left: Vec<Nanos> = outcomes
        .iter()
        .map(|it| arrival(it).unwrap() - 20 * MS)
        .collect();
    for at in [4, 9, 14].map(|second| second * SECOND) {
        // What is under way goes on afterwards, and what came meanwhile at the full rate.
        let inside = left
            .iter()
            .filter(|it| (at + 1..at + 120 * MS).contains(it))
            .count();
        let after = at + 120 * MS..at + 135 * MS;
        let burst = left.iter().filter(|it| after.contains(it)).count();
        assert_eq!(inside, 0);
        assert!((70..=80).contains(&burst), "{burst}");
    }
}
