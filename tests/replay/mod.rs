//! Inputs of a fuzz target in a plain test: the seeds, changes of them, and what libFuzzer found.

use std::fs;
use std::path::Path;
use std::process::Command;

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

/// Gives the fuzz target `name` each seed, and `times` changes of each, the same
/// ones every time. Then each input that `scripts/fuzz keep` has kept.
pub(crate) fn replay(name: &str, times: usize, target: fn(&[u8])) {
    // Of this package, or of the workspace.
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let fuzz = folders.find_map(|it| Some(it.join("fuzz")).filter(|it| it.is_dir()));
    let fuzz = fuzz.expect("the folder of the fuzz targets");
    let mut random = Random(21);
    for seed in inputs(&fuzz.join("seeds").join(name)) {
        target(&seed);
        for _ in 0..times {
            let mut input = seed.clone();
            for _ in 0..=random.next(8) {
                change(&mut input, &mut random);
            }
            target(&input);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let kept = fuzz.join("corpora").join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(kept).arg("-C").arg(folder.path());
    assert!(tar.status().unwrap().success());
    for input in inputs(&folder.path().join(name)) {
        target(&input);
    }
}

/// The files of a folder, in the order of their names.
fn inputs(folder: &Path) -> impl Iterator<Item = Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries.map(|it| it.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files.into_iter().map(|file| fs::read(file).unwrap())
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
