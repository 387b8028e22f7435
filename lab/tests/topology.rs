//! The simulator as a whole, with more than one flow on one link: several
//! links, other traffic, other patterns of use, links that change.

use std::io::Write;
use std::time::Duration;

use petra_lab::link::{goodput_limit, Direction, Link, Lte, Outage, Policer, Queue, Step};
use petra_lab::scenario::{CrossTraffic, Flow, Scenario, Traffic, Way, Web};
use petra_lab::sim::{run, FlowReport, Report};

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A link of `rate` Mbit/s with `delay` ms each way.
fn link(rate: u64, delay: u64) -> Link {
    Link::symmetric(Direction {
        rate: Some(rate * 1_000_000),
        delay: millis(delay),
        ..Direction::default()
    })
}

fn shaped(down: Direction) -> Link {
    let up = link(100, 20).up;
    Link { down, up }
}

/// 20 s of these flows on these links.
fn scenario(path: Vec<Link>, flows: Vec<Flow>) -> Scenario {
    let first = path[0].clone();
    Scenario {
        path,
        duration: secs(20),
        ..Scenario::new(first, flows)
    }
}

fn bulk() -> Flow {
    Flow::new("cubic")
}

fn sound(scenario: &Scenario) -> Report {
    let report = run(scenario).unwrap();
    for flow in &report.flows {
        assert_eq!(flow.failure, None);
    }
    report
}

fn only_flow(scenario: &Scenario) -> FlowReport {
    sound(scenario).flows.remove(0)
}

#[test]
fn links_in_a_row_add_their_delays_and_the_narrowest_is_the_limit() {
    let path = vec![link(20, 10), link(5, 20), link(10, 15)];
    let report = sound(&scenario(path, vec![bulk()]));
    let flow = &report.flows[0];
    let limit = goodput_limit(5_000_000, 0.0, 1350);
    assert_eq!(flow.share, Some(flow.goodput / limit));
    assert!(
        (0.75..=1.0).contains(&flow.share.unwrap()),
        "{:?}",
        flow.share
    );
    // 90 ms and three transmissions each way, of which the longest takes 2 ms.
    let min_rtt = flow.min_rtt.unwrap();
    assert!((90.0..95.0).contains(&min_rtt), "{min_rtt}");
    let used: Vec<f64> = report
        .links
        .iter()
        .map(|link| link.utilisation.unwrap())
        .collect();
    assert!(used[1] > 0.8 && used[1] <= 1.0, "{used:?}");
    assert!((used[1] / used[0] - 4.0).abs() < 0.1, "{used:?}");
    assert!((used[1] / used[2] - 2.0).abs() < 0.1, "{used:?}");
    // One-way: 45 ms, the queue, and what transmission takes.
    let beside_queue = flow.delay.unwrap() - flow.queue.unwrap().mean;
    assert!((45.0..49.0).contains(&beside_queue), "{beside_queue}");
}

#[test]
fn flows_take_the_links_and_have_the_delays_that_are_their_own() {
    let near = Flow {
        hops: Some((1, 1)),
        ..bulk()
    };
    let far = Flow {
        hops: Some((1, 1)),
        delay: millis(40),
        ..bulk()
    };
    let path = vec![link(10, 10), link(10, 10)];
    let report = sound(&scenario(path, vec![bulk(), near, far]));
    let rtts: Vec<f64> = report
        .flows
        .iter()
        .map(|flow| flow.min_rtt.unwrap())
        .collect();
    for (rtt, path) in rtts.iter().zip([40.0, 20.0, 100.0]) {
        assert!((path..path + 20.0).contains(rtt), "{rtts:?}");
    }
    // The first link has the first flow alone.
    let bytes: f64 = report.flows[0].throughput * 20.0 / 8.0;
    assert!((report.links[0].bytes as f64 / bytes - 1.0).abs() < 0.05);
    let fairness = report.fairness.unwrap();
    assert!((1.0 / 3.0..=1.0).contains(&fairness), "{fairness}");
}

#[test]
fn cross_traffic_takes_its_rate_and_leaves_the_rest() {
    let with = |cross| {
        let scenario = Scenario {
            cross,
            ..scenario(vec![link(10, 20)], vec![Flow::new("petra")])
        };
        sound(&scenario)
    };
    let alone = with(vec![]);
    let half = CrossTraffic {
        start: secs(10),
        ..CrossTraffic::new(5_000_000)
    };
    let beside = with(vec![half]);
    // Half of the rate in half of the time.
    assert_eq!(beside.cross[0].sent.abs_diff(10 * 5_000_000 / 12_000), 1);
    let ratio = beside.flows[0].goodput / alone.flows[0].goodput;
    assert!((0.65..0.80).contains(&ratio), "{ratio}");
    let lost = 1.0 - beside.cross[0].arrived as f64 / beside.cross[0].sent as f64;
    assert!(lost < 0.2, "{lost}");
    // On the way back it delays ACKs and no more.
    let back = CrossTraffic {
        way: Way::Up,
        ..half
    };
    let behind = with(vec![back]);
    let ratio = behind.flows[0].goodput / alone.flows[0].goodput;
    assert!(ratio > 0.95, "{ratio}");
}

#[test]
fn a_flow_that_stops_leaves_the_link_to_the_others() {
    let short = Flow {
        stop: Some(secs(8)),
        ..bulk()
    };
    let report = sound(&scenario(vec![link(10, 20)], vec![short, bulk()]));
    let [short, long] = &report.flows[..] else {
        panic!("two flows")
    };
    assert_eq!(short.active, 8.0);
    assert_eq!(short.samples.last().unwrap().time, 7.98);
    assert!(short.share.unwrap() > 0.2, "{:?}", short.share);
    let at = |time: f64| {
        let sample = long.samples.iter().find(|sample| sample.time >= time);
        sample.unwrap().body_bytes as f64
    };
    let after = (at(19.9) - at(11.0)) * 8.0 / 8.9;
    assert!(
        after > 0.85 * goodput_limit(10_000_000, 0.0, 1350),
        "{after}"
    );
}

#[test]
fn an_on_off_flow_pauses_and_goes_on() {
    let flow = Flow {
        traffic: Traffic::OnOff {
            on: secs(2),
            off: secs(3),
        },
        ..bulk()
    };
    let flow = only_flow(&scenario(vec![link(10, 20)], vec![flow]));
    let at = |time: f64| {
        let sample = flow.samples.iter().find(|sample| sample.time >= time);
        sample.unwrap().body_bytes
    };
    for period in 0..4 {
        let start = 5.0 * f64::from(period);
        assert!(at(start + 1.9) - at(start + 0.5) > 1_000_000, "{period}");
        assert_eq!(at(start + 4.9), at(start + 3.0), "{period}");
    }
    // Of four times 2 s.
    let share = flow.share.unwrap();
    assert!((0.3..0.4).contains(&share), "{share}");
}

#[test]
fn an_on_off_flow_goes_on_where_another_fills_the_link() {
    let pauses = Flow {
        traffic: Traffic::OnOff {
            on: secs(2),
            off: millis(200),
        },
        ..Flow::new("reno")
    };
    // What it has sent and no longer wants may still fill its window when it asks again.
    let deep = Link::symmetric(Direction {
        rate: Some(2_000_000),
        delay: millis(20),
        queue: Queue::Bytes(100_000),
        ..Direction::default()
    });
    let report = sound(&scenario(vec![deep], vec![bulk(), pauses]));
    let samples = &report.flows[1].samples;
    let at = |time: f64| {
        let sample = samples.iter().find(|sample| sample.time >= time);
        sample.unwrap().body_bytes
    };
    assert!(at(19.9) > at(15.0), "{} {}", at(19.9), at(15.0));
}

#[test]
fn web_like_flows_get_their_objects_one_after_the_other() {
    let flow = Flow {
        traffic: Traffic::Web(Web {
            size: 50_000,
            think: millis(500),
        }),
        ..bulk()
    };
    let scenario = Scenario {
        duration: secs(120),
        ..scenario(vec![link(10, 20)], vec![flow.clone(), flow])
    };
    let report = sound(&scenario);
    for flow in &report.flows {
        let objects = flow.objects.unwrap();
        // A pause of 0.5 s, and at least a round trip of 40 ms.
        assert!((100..250).contains(&objects.count), "{objects:?}");
        let mean = objects.mean.unwrap();
        assert!(mean > 0.04 && mean < 1.0, "{objects:?}");
        assert!(objects.p95 > objects.mean, "{objects:?}");
    }
    // Each client has a sequence of its own.
    assert_ne!(report.flows[0].body_bytes, report.flows[1].body_bytes);
    assert_eq!(report, run(&scenario).unwrap());
}

#[test]
fn goodput_follows_a_rate_that_steps_and_stands() {
    let stepped = Direction {
        rate: Some(10_000_000),
        steps: vec![Step {
            at: secs(10),
            rate: Some(2_000_000),
            ..Step::default()
        }],
        outages: vec![Outage {
            at: secs(4),
            lasts: secs(1),
        }],
        ..link(10, 20).down
    };
    let flow = only_flow(&scenario(vec![shaped(stepped)], vec![Flow::new("petra")]));
    let during = |from: f64, to: f64| {
        let bytes = |time: f64| {
            let sample = flow.samples.iter().find(|sample| sample.time >= time);
            sample.unwrap().body_bytes as f64
        };
        (bytes(to) - bytes(from)) * 8e-6 / (to - from)
    };
    assert!(
        (8.0..9.6).contains(&during(2.0, 3.9)),
        "{}",
        during(2.0, 3.9)
    );
    assert_eq!(during(4.1, 4.9), 0.0);
    let slow = during(13.0, 19.9);
    assert!((1.5..1.95).contains(&slow), "{slow}");
    // 9 s at 10 Mbit/s and 10 s at 2, of 20.
    let share = flow.share.unwrap();
    let limit = goodput_limit(5_500_000, 0.0, 1350);
    assert!((share - flow.goodput / limit).abs() < 1e-3, "{share}");
    let capacity = |time: f64| {
        let sample = flow.samples.iter().find(|sample| sample.time >= time);
        sample.unwrap().capacity.unwrap()
    };
    assert_eq!([3.0, 4.5, 15.0].map(capacity), [10e6, 0.0, 2e6]);
}

#[test]
fn several_bodies_come_one_after_the_other_or_at_once() {
    let bodies = |at_once| {
        let flow = Flow {
            traffic: Traffic::Bodies {
                size: 500_000,
                count: 8,
                at_once,
            },
            ..Flow::new("reno")
        };
        only_flow(&scenario(vec![link(10, 20)], vec![flow]))
    };
    let (one, four, eight) = (bodies(1), bodies(4), bodies(8));
    for flow in [&one, &four, &eight] {
        assert_eq!(flow.body_bytes, 4_000_000);
        assert_eq!(flow.objects.as_ref().unwrap().count, 8);
    }
    // Each body's mean time as a part of the time of all: an eighth one after the
    // other, a half four at a time, and most of it at once.
    let part =
        |flow: &FlowReport| flow.objects.as_ref().unwrap().mean.unwrap() / flow.completion.unwrap();
    for (flow, range) in [(&one, 0.11..0.13), (&four, 0.4..0.55), (&eight, 0.65..1.0)] {
        assert!(range.contains(&part(flow)), "{} in {range:?}", part(flow));
    }
}

#[test]
fn video_frames_come_in_time_where_there_is_room_for_them() {
    let video = |rate: u64, media: &str| {
        let flow: Flow = serde_json::from_str(&format!(
            r#"{{"cc": "reno", "media": {{"rate": "4mbit"{media}}}}}"#
        ))
        .unwrap();
        let flow = only_flow(&scenario(vec![link(rate, 20)], vec![flow]));
        let video = flow.video.unwrap();
        (video.late.unwrap(), video.delay.unwrap(), flow.body_bytes)
    };
    let (late, delay, bytes) = video(20, "");
    // Those before the request are no part of it.
    assert!(late < 0.01, "{late}");
    assert!((20.0..60.0).contains(&delay.p50), "{delay:?}");
    assert!(delay.p95 <= delay.p99);
    // 20 s of 4 Mbit/s are 10 MB.
    assert!((9_300_000..10_700_000).contains(&bytes), "{bytes}");
    // Twice what there is room for: frames wait ever longer, unless the encoder follows.
    let (late, ..) = video(2, "");
    assert!(late > 0.8, "{late}");
    let (follows, ..) = video(2, r#", "least_rate": "300kbit""#);
    assert!(follows < 0.5 * late, "{follows}");
    // Without a patience of 200 ms more are late.
    let (strict, ..) = video(20, r#", "deadline": "25ms""#);
    assert!(strict > 0.3, "{strict}");
}

#[test]
fn a_start_is_drawn_from_its_range_by_the_seed() {
    let flow = Flow {
        start: secs(2),
        start_spread: secs(10),
        ..bulk()
    };
    let starts = |seed| {
        let scenario = Scenario {
            seed,
            ..scenario(vec![link(2, 20)], vec![flow.clone(), flow.clone(), bulk()])
        };
        let report = sound(&scenario);
        report
            .flows
            .iter()
            .map(|flow| flow.start)
            .collect::<Vec<_>>()
    };
    let drawn = starts(1);
    assert!(
        drawn[..2].iter().all(|start| (2.0..12.0).contains(start)),
        "{drawn:?}"
    );
    assert_ne!(drawn[0], drawn[1]);
    assert_eq!(drawn[2], 0.0);
    assert_eq!(drawn, starts(1));
    assert_ne!(drawn, starts(2));
}

#[test]
fn a_flow_begins_with_the_window_and_the_rtt_that_it_remembers() {
    let object = |cc: &str, initial_window, initial_rtt| {
        let flow = Flow {
            initial_window,
            initial_rtt,
            traffic: Traffic::Size(100_000),
            ..Flow::new(cc)
        };
        only_flow(&scenario(vec![link(20, 50)], vec![flow]))
    };
    for cc in ["petra", "petra-thesis", "reno", "cubic", "bbr2"] {
        let new = object(cc, None, None);
        let resumed = object(cc, Some(80), None);
        // The whole object goes at once, not in windows that grow: a round trip is spared
        // at least.
        let (new, resumed) = (new.completion.unwrap(), resumed.completion.unwrap());
        assert!(resumed < new - 0.1, "{cc}: {resumed} {new}");
    }
    // A server that takes the path for far shorter sends probes that nobody needs.
    let millis = |rtt| object("reno", None, Some(millis(rtt))).ptos;
    assert_eq!((millis(100), millis(5) > 0), (0, true));
}

#[test]
fn ten_packets_that_are_acknowledged_together_need_a_tenth_of_the_way_back() {
    // 926 datagrams a second, each of whose ACKs is some 70 bytes: 520 kbit/s.
    let mut path = link(10, 20);
    path.up.rate = Some(150_000);
    let run = |ack_every| {
        let flow = Flow {
            ack_every,
            ..Flow::new("reno")
        };
        only_flow(&scenario(vec![path.clone()], vec![flow])).goodput
    };
    let (each, ten) = (run(1), run(10));
    assert!(ten > 3.0 * each, "{each} {ten}");
}

#[test]
fn the_round_trip_follows_a_delay_that_steps_and_starts_over() {
    // As to satellites that pass: 20 and 35 ms each way in turn, each for 5 s.
    let passing = Direction {
        steps: vec![Step {
            at: secs(5),
            delay: Some(millis(35)),
            ..Step::default()
        }],
        repeat: Some(secs(10)),
        ..link(10, 20).down
    };
    let path = Link {
        up: passing.clone(),
        down: passing,
    };
    let limited = Flow {
        receive_window: Some(20_000),
        ..Flow::new("reno")
    };
    let flow = only_flow(&scenario(vec![path], vec![limited]));
    for (time, round_trip) in [(4.9, 40.0), (9.9, 70.0), (14.9, 40.0), (19.9, 70.0)] {
        let sample = flow.samples.iter().find(|it| it.time >= time).unwrap();
        let seen = sample.rtt.unwrap();
        // A window of 20 kB takes 16 ms at the bottleneck.
        let range = round_trip..round_trip + 16.0;
        assert!(range.contains(&seen), "{time}: {seen}");
    }
}

#[test]
fn a_policer_is_the_limit_and_nothing_waits_for_it() {
    let policed = Direction {
        rate: Some(100_000_000),
        policer: Some(Policer {
            rate: 5_000_000,
            burst: 50_000,
        }),
        ..link(100, 20).down
    };
    let flow = only_flow(&scenario(vec![shaped(policed)], vec![Flow::new("reno")]));
    let share = flow.share.unwrap();
    assert!((0.5..=1.0).contains(&share), "{share}");
    assert!(flow.aqm_drops > 0);
    assert_eq!(flow.tail_drops, 0);
    let queue = flow.queue.unwrap();
    assert!(queue.p95 < 6.0, "{queue:?}");
}

#[test]
fn a_connection_comes_about_where_most_acks_are_thinned_out() {
    let mut thinned = scenario(vec![link(10, 20)], vec![Flow::new("reno")]);
    thinned.path[0].up.ack_filter = 16;
    let flow = only_flow(&thinned);
    assert!(flow.share.unwrap() > 0.5, "{:?}", flow.share);
}

#[test]
fn a_trace_is_a_link_of_its_mean_rate() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    // 6 Mbit/s: one opportunity in 2 ms, unevenly.
    for at in (0..1000).step_by(8) {
        writeln!(file, "{at}\n{at}\n{}\n{}", at + 3, at + 8).unwrap();
    }
    let traced = Direction {
        trace: Some(file.path().to_owned()),
        delay: millis(20),
        ..Direction::default()
    };
    let report = sound(&scenario(vec![shaped(traced)], vec![Flow::new("petra")]));
    let flow = &report.flows[0];
    assert!(
        (0.8..=1.0).contains(&flow.share.unwrap()),
        "{:?}",
        flow.share
    );
    let limit = goodput_limit(500 * 1504 * 8, 0.0, 1350);
    assert!((flow.goodput / limit / flow.share.unwrap() - 1.0).abs() < 0.01);

    let missing = Direction {
        trace: Some("/no/such/trace".into()),
        ..Direction::default()
    };
    let error = run(&scenario(vec![shaped(missing)], vec![bulk()])).unwrap_err();
    assert!(format!("{error:#}").contains("/no/such/trace"));
}

#[test]
fn an_lte_cell_wanders_around_its_mean_and_delays_what_fails() {
    let lte = Direction {
        lte: Some(Lte {
            mean: 10_000_000,
            deviation: 0.4,
            coherence: millis(50),
            block_errors: 0.1,
        }),
        queue: petra_lab::link::Queue::Bytes(1_000_000),
        delay: millis(20),
        ..Direction::default()
    };
    let scenario = scenario(vec![shaped(lte)], vec![Flow::new("reno")]);
    let flow = only_flow(&scenario);
    assert!(
        (0.8..=1.0).contains(&flow.share.unwrap()),
        "{:?}",
        flow.share
    );
    let rates: Vec<f64> = flow
        .samples
        .iter()
        .filter_map(|sample| sample.capacity)
        .collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert!((7e6..11e6).contains(&mean), "{mean}");
    let least = rates.iter().copied().fold(f64::MAX, f64::min);
    let most = rates.iter().copied().fold(0.0, f64::max);
    assert!(least < 0.6 * mean && most > 1.6 * mean, "{least} {most}");
    assert!(flow.jitter.unwrap() > 0.5, "{:?}", flow.jitter);
    assert_eq!(flow, only_flow(&scenario));
}

#[test]
fn queue_management_shortens_the_queue_and_flows_come_to_equal_shares() {
    let managed = |aqm: &str| {
        let down = Direction {
            aqm: aqm.parse().unwrap(),
            queue: petra_lab::link::Queue::Bdp(4.0),
            ..link(10, 20).down
        };
        let scenario = Scenario {
            duration: secs(30),
            ..scenario(
                vec![shaped(down)],
                vec![Flow::new("reno"), "reno@5s".parse().unwrap()],
            )
        };
        sound(&scenario)
    };
    let (tail, codel, fq) = (managed("drop-tail"), managed("codel"), managed("fq_codel"));
    let wait = |report: &Report| report.flows[0].queue.unwrap().mean;
    assert!(
        wait(&codel) < 0.3 * wait(&tail),
        "{} {}",
        wait(&codel),
        wait(&tail)
    );
    assert!(
        wait(&fq) < 0.3 * wait(&tail),
        "{} {}",
        wait(&fq),
        wait(&tail)
    );
    assert!(codel.flows[0].aqm_drops > 0 && codel.flows[0].tail_drops == 0);
    // Turns by bytes are equal shares, soon.
    assert!(fq.convergence.unwrap() < 5.0, "{:?}", fq.convergence);
    assert!(fq.fairness.unwrap() > 0.98, "{:?}", fq.fairness);
}
