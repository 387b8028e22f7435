//! Inputs of a fuzz target in a plain test: the seeds, and changes of them.

use std::fs;
use std::path::Path;

/// The generator `xorshift64*`.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as usize % below
    }
}

/// Gives `target` each input in `folder`, and `times` changes of each, the same ones every time.
pub(crate) fn replay(folder: &Path, times: usize, target: fn(&[u8])) {
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries.map(|it| it.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let mut random = Random(21);
    for file in files {
        let seed = fs::read(&file).unwrap();
        target(&seed);
        for _ in 0..times {
            let mut input = seed.clone();
            for _ in 0..=random.next(8) {
                change(&mut input, &mut random);
            }
            target(&input);
        }
    }
}

/// Changes a byte or a bit, or adds a byte or what is there already.
fn change(input: &mut Vec<u8>, random: &mut Random) {
    let at = random.next(input.len());
    match random.next(5) {
        0 => input[at] = random.next(256) as u8,
        1 => input[at] ^= 1 << random.next(8),
        2 => input.insert(at, random.next(256) as u8),
        3 => input.insert(at, b"0123456789.,=-\"[]"[random.next(17)]),
        _ => {
            let to = at + random.next(input.len() - at).min(32);
            let part = input[at..to].to_vec();
            let place = random.next(input.len());
            input.splice(place..place, part);
        }
    }
}
