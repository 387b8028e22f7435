//! A hash of a program's behaviour, as far as its sources determine it.
//!
//! The laboratory keeps the results of runs under a key that holds this hash, so that results of
//! other sources are not taken for those of these. Words change nothing that a run measures: the
//! hash is over the tokens of the sources, without comments, documentation, help texts and tests.

mod lock;
mod tokens;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

pub use lock::dependencies;

/// The sources of a program and the versions of the crates behind it.
#[derive(Default)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
    /// Adds a file, or those of a folder and its folders, Rust as its tokens and anything else as
    /// it is.
    ///
    /// # Errors
    ///
    /// A file or folder that cannot be read, or a file that is not Rust.
    pub fn add(&mut self, source: &Path) -> Result<()> {
        let mut files = Vec::new();
        collect(source, &mut files)?;
        files.sort();
        let above = source.parent().unwrap_or(source);
        for file in files {
            let content = fs::read_to_string(&file).with_context(|| place(&file))?;
            let name = file.strip_prefix(above).unwrap_or(&file).to_string_lossy();
            if file.extension().is_some_and(|extension| extension == "rs") {
                let words = tokens::of(&content).with_context(|| place(&file))?;
                self.add_text(&name, &words);
            } else {
                self.add_text(&name, &content);
            }
        }
        Ok(())
    }

    /// Adds a text under a name.
    pub fn add_text(&mut self, name: &str, text: &str) {
        // With the lengths, so that nothing can pass from one to the next.
        self.0.update(format!("{name} {}\n", text.len()));
        self.0.update(text);
    }

    /// The first 8 bytes of the hash, in hexadecimal.
    pub fn hex(self) -> String {
        let hash = self.0.finalize();
        hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The one file, or those of a folder and its folders without tests and pages.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path).with_context(|| place(path))? {
        let path = entry.with_context(|| place(path))?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let counts = file != "tests.rs" && !file.ends_with("_tests.rs") && !file.ends_with(".md");
        if counts {
            collect(&path, files)?;
        }
    }
    Ok(())
}

fn place(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash of a folder with these files.
    fn of(files: &[(&str, &str)]) -> String {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("src");
        fs::create_dir(&folder).unwrap();
        for (name, content) in files {
            fs::write(folder.join(name), content).unwrap();
        }
        let mut fingerprint = Fingerprint::default();
        fingerprint.add(&folder).unwrap();
        fingerprint.hex()
    }

    #[test]
    fn code_counts_and_tests_and_pages_do_not() {
        let code = ("a.rs", "const A: u32 = 1;");
        let one = of(&[code]);
        assert_eq!(one.len(), 16);
        assert_eq!(
            one,
            of(&[code, ("tests.rs", "fn a() {}"), ("README.md", "a")])
        );
        assert_ne!(one, of(&[("a.rs", "const A: u32 = 2;")]));
        assert_ne!(one, of(&[("b.rs", "const A: u32 = 1;")]));
        assert_ne!(one, of(&[code, ("b.rs", "")]));
        assert_ne!(one, of(&[code, ("key.pem", "a")]));
    }

    #[test]
    fn what_cannot_be_read_has_its_name_in_the_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("broken.rs");
        let add = |path: &Path| Fingerprint::default().add(path).unwrap_err().to_string();
        assert!(add(&file).ends_with("broken.rs"));
        fs::write(&file, "fn (").unwrap();
        assert!(add(&file).ends_with("broken.rs"));
    }
}
