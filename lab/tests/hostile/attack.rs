//! The ACKs that a client sends for the packets that it received, or did not.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use petra_lab::sim::Nanos;

pub(crate) const MS: Nanos = 1_000_000;

/// Most ranges of an ordinary ACK frame.
const RANGES: usize = 32;

/// Ranges that fill an ACK frame of the size of a datagram.
const MANY_RANGES: usize = 500;

/// A way to acknowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attack {
    /// Each packet at once, the truth.
    Honest,
    /// Packets that are on their way are acknowledged too.
    Optimistic,
    /// The same from the third second on.
    OptimisticLater,
    /// Packets that the server cannot have sent are acknowledged.
    Unsent,
    /// Every packet number up to the largest is acknowledged: lost packets too.
    ConcealAll,
    /// Lost packets too, but for gaps of one packet, which the server may have skipped.
    ConcealRuns,
    /// Lost packets too, each time right behind an ACK of the newest packet alone: what the server
    /// has skipped lies behind what it has seen acknowledged.
    ConcealSplit,
    /// Lost packets too, two round trips after the truth: their losses seem spurious.
    ConcealLate,
    /// Each packet has an ACK of its own, which acknowledges no other.
    Division,
    /// Each ACK comes ten times.
    Duplicates,
    /// ACKs are withheld for 200 ms.
    Bursts,
    /// The same, and then each packet has an ACK of its own.
    BurstsDivided,
    /// ACKs are delayed more and more, up to 400 ms, and deny it.
    Inflate,
    /// ACKs are delayed by 100 ms for two seconds, and then not at all.
    Deflate,
    /// ACKs of the first flight are delayed by 100 ms: jitter of lone packets, it seems.
    LateStart,
    /// ACKs are delayed more and more, up to 100 ms in four round trips, again and again: a swing
    /// of the minimum RTT.
    Swing,
    /// Each ACK claims to have waited for the longest time that a frame can hold.
    FalseDelay,
    /// Every second packet is denied until 500 ranges tell of it.
    Ranges,
    /// Nothing is acknowledged after three seconds.
    Stop,
    /// Every 20th packet is acknowledged two round trips late: losses that seem spurious.
    Spurious,
    /// Every 10th packet is acknowledged five round trips late: reordering.
    Reordered,
}

impl Attack {
    /// All but the honest one.
    pub(crate) const ALL: [Attack; 20] = [
        Attack::Optimistic,
        Attack::OptimisticLater,
        Attack::Unsent,
        Attack::ConcealAll,
        Attack::ConcealRuns,
        Attack::ConcealSplit,
        Attack::ConcealLate,
        Attack::Division,
        Attack::Duplicates,
        Attack::Bursts,
        Attack::BurstsDivided,
        Attack::Inflate,
        Attack::Deflate,
        Attack::LateStart,
        Attack::Swing,
        Attack::FalseDelay,
        Attack::Ranges,
        Attack::Stop,
        Attack::Spurious,
        Attack::Reordered,
    ];

    /// Its row in the page.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Attack::Honest => "none",
            Attack::Optimistic => "packets on their way are acknowledged, from the start",
            Attack::OptimisticLater => "the same from 2 s on",
            Attack::Unsent => "packets that were never sent are acknowledged",
            Attack::ConcealAll => "lost packets are acknowledged, from 2 s on",
            Attack::ConcealRuns => "the same where two or more in a row are lost",
            Attack::ConcealSplit => "lost packets are acknowledged behind an ACK of a later one",
            Attack::ConcealLate => "lost packets are acknowledged two RTTs late",
            Attack::Division => "each packet has an ACK that acknowledges no other",
            Attack::Duplicates => "each ACK comes ten times",
            Attack::Bursts => "ACKs are withheld for 200 ms",
            Attack::BurstsDivided => "the same, then one ACK for each packet",
            Attack::Inflate => "ACKs come later and later, up to 400 ms",
            Attack::Deflate => "ACKs come 100 ms late for 2 s, then at once",
            Attack::LateStart => "ACKs of the first flight come 100 ms late",
            Attack::Swing => "ACKs come later and later, up to 100 ms, again and again",
            Attack::FalseDelay => "each ACK claims a delay of an hour",
            Attack::Ranges => "every second packet is denied, in ACKs of 500 ranges",
            Attack::Stop => "no ACK after 3 s",
            Attack::Spurious => "every 20th packet is acknowledged two RTTs late",
            Attack::Reordered => "every 10th packet is acknowledged five RTTs late",
        }
    }

    /// The attack that has begun after this time.
    fn after(self, time: Nanos) -> Attack {
        match self {
            Attack::OptimisticLater | Attack::ConcealAll if time < 2_000 * MS => Attack::Honest,
            Attack::OptimisticLater => Attack::Optimistic,
            begun => begun,
        }
    }
}

/// Packet numbers as ranges, from the first to the last of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a number, and forgets the lowest ranges above `most`.
    fn insert(&mut self, number: u64, most: usize) {
        let (mut first, mut last) = (number, number);
        if let Some((&below, &to)) = self.0.range(..=number).next_back() {
            if to >= number {
                return;
            }
            if to + 1 == number {
                first = below;
            }
        }
        if let Some(to) = self.0.remove(&(number + 1)) {
            last = to;
        }
        self.0.insert(first, last);
        while self.0.len() > most {
            self.0.pop_first();
        }
    }

    /// Those of at most `most` ranges, the highest first.
    fn top(&self, most: usize) -> Vec<(u64, u64)> {
        self.0
            .iter()
            .rev()
            .take(most)
            .map(|(a, b)| (*a, *b))
            .collect()
    }
}

/// An ACK frame: its ranges, the highest first, and the delay that it claims, in microseconds.
#[derive(Clone, Debug)]
struct Ack {
    ranges: Vec<(u64, u64)>,
    delay: u64,
}

impl Ack {
    /// The frame's bytes (RFC 9000, Section 19.3), with the default exponent of the delay.
    fn frame(&self) -> Vec<u8> {
        let (first, last) = self.ranges[0];
        let mut frame = vec![0x02];
        let rest = &self.ranges[1..];
        let numbers = [last, self.delay >> 3, rest.len() as u64, last - first];
        numbers
            .iter()
            .for_each(|number| varint(&mut frame, *number));
        let mut below = first;
        for (first, last) in rest {
            varint(&mut frame, below - last - 2);
            varint(&mut frame, last - first);
            below = *first;
        }
        frame
    }
}

fn varint(to: &mut Vec<u8>, number: u64) {
    match number {
        0..0x40 => to.push(number as u8),
        0x40..0x4000 => to.extend((number as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => to.extend((number as u32 | 0x8000_0000).to_be_bytes()),
        _ => to.extend((number | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// The receiver: what came, and the ACKs that wait.
pub(crate) struct Receiver {
    attack: Attack,
    since: Nanos,
    round_trip: Nanos,
    received: Ranges,
    largest: u64,
    packets: u64,
    /// Arrivals of the last round trip.
    recent: VecDeque<Nanos>,
    /// Packets that are received by another time than this one.
    late: BTreeSet<(Nanos, u64)>,
    /// ACKs by the time at which they leave, and in their order.
    waiting: BTreeMap<(Nanos, u64), Ack>,
    sent: u64,
}

impl Receiver {
    /// A receiver that has received `largest`, and begins now.
    pub(crate) fn new(attack: Attack, now: Nanos, round_trip: Nanos, largest: u64) -> Receiver {
        Receiver {
            attack,
            since: now,
            round_trip,
            received: Ranges::default(),
            largest,
            packets: 0,
            recent: VecDeque::new(),
            late: BTreeSet::new(),
            waiting: BTreeMap::new(),
            sent: 0,
        }
    }

    fn send(&mut self, at: Nanos, ranges: Vec<(u64, u64)>, delay: u64) {
        self.sent += 1;
        self.waiting.insert((at, self.sent), Ack { ranges, delay });
    }

    fn most_ranges(&self) -> usize {
        match self.attack {
            Attack::Ranges => MANY_RANGES,
            _ => RANGES,
        }
    }

    fn truth(&self) -> Vec<(u64, u64)> {
        self.received.top(self.most_ranges())
    }

    /// A packet arrives.
    pub(crate) fn receive(&mut self, now: Nanos, number: u64) {
        let gap = number.saturating_sub(self.largest + 1);
        let missing = self.largest + 1..number;
        self.largest = self.largest.max(number);
        self.packets += 1;
        self.recent.push_back(now);
        let round_trip = self.round_trip;
        while self.recent.front().is_some_and(|at| at + round_trip < now) {
            self.recent.pop_front();
        }
        self.mature(now);
        let wait = match self.attack {
            Attack::Spurious if number.is_multiple_of(20) => 2 * round_trip,
            Attack::Reordered if number.is_multiple_of(10) => 5 * round_trip,
            Attack::Ranges if number.is_multiple_of(2) => 5_000 * MS,
            _ => 0,
        };
        if wait > 0 {
            self.late.insert((now + wait, number));
            return;
        }
        let most = self.most_ranges();
        self.received.insert(number, most);
        match self.attack {
            Attack::ConcealRuns if gap >= 2 => {
                missing.for_each(|number| self.received.insert(number, most));
            }
            Attack::ConcealLate => {
                let lost = missing.map(|number| (now + 2 * round_trip, number));
                self.late.extend(lost);
            }
            _ => (),
        }
        self.acknowledge(now, number);
    }

    /// Counts as received all that was held back.
    fn mature(&mut self, now: Nanos) {
        let most = self.most_ranges();
        while let Some((at, number)) = self.late.pop_first() {
            if at > now {
                self.late.insert((at, number));
                break;
            }
            self.received.insert(number, most);
        }
    }

    fn acknowledge(&mut self, now: Nanos, number: u64) {
        let since = now - self.since;
        // The end of the period of 200 ms.
        let burst = now - since % (200 * MS) + 200 * MS;
        let truth = self.truth();
        match self.attack.after(since) {
            Attack::Optimistic => {
                let ahead = self.recent.len() as u64 / 2;
                self.send(now, vec![(0, self.largest + ahead)], 0);
            }
            Attack::Unsent => self.send(now, vec![(0, self.largest + 100_000)], 0),
            Attack::ConcealAll => self.send(now, vec![(0, self.largest)], 0),
            Attack::ConcealSplit => {
                self.send(now, vec![(number, number)], 0);
                self.send(now, vec![(0, self.largest)], 0);
            }
            Attack::Division => self.send(now, vec![(number, number)], 0),
            Attack::Duplicates => (0..10).for_each(|_| self.send(now, truth.clone(), 0)),
            Attack::Bursts => {
                self.waiting.clear();
                self.send(burst, truth, 0);
            }
            Attack::BurstsDivided => self.send(burst, vec![(number, number)], 0),
            Attack::Inflate => self.send(now + since.min(10_000 * MS) / 25, truth, 0),
            Attack::Deflate if since < 2_000 * MS => self.send(now + 100 * MS, truth, 0),
            Attack::LateStart if since < self.round_trip => self.send(now + 100 * MS, truth, 0),
            Attack::Swing => {
                let period = 4 * self.round_trip;
                self.send(now + 100 * MS * (since % period) / period, truth, 0);
            }
            Attack::FalseDelay => self.send(now, truth, 3_600_000_000),
            Attack::Stop if since > 3_000 * MS => (),
            _ => self.send(now, truth, 0),
        }
    }

    /// The time of the next ACK.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.waiting.keys().next().map(|(at, _)| *at)
    }

    /// The frame of an ACK that leaves now.
    pub(crate) fn output(&mut self, now: Nanos) -> Option<Vec<u8>> {
        let entry = self.waiting.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove().frame())
    }

    /// Number of ACKs that were made.
    pub(crate) fn acks(&self) -> u64 {
        self.sent
    }
}
