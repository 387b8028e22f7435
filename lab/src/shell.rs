//! Commands as a shell takes them.

use std::env;
use std::path::Path;

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=.,:@/+%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The program's own command with these arguments.
pub(crate) fn command(arguments: impl IntoIterator<Item = String>) -> String {
    let arguments = arguments.into_iter().map(|word| quoted(&word));
    let words: Vec<String> = std::iter::once("petra-lab".to_owned())
        .chain(arguments)
        .collect();
    words.join(" ")
}

/// A path as a word: by its place from here where it is below. None is taken for an option.
pub(crate) fn path(path: &Path) -> String {
    let here = env::current_dir().unwrap_or_default();
    let near = match path.strip_prefix(&here) {
        Ok(near) if path.is_absolute() => near,
        _ => path,
    };
    match near.as_os_str().is_empty() {
        true => ".".to_owned(),
        false => {
            let near = near.to_string_lossy();
            let sign = if near.starts_with('-') { "./" } else { "" };
            quoted(&format!("{sign}{near}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_signs_of_the_shell_are_quoted() {
        assert_eq!(quoted("petra:alpha=0.8"), "petra:alpha=0.8");
        assert_eq!(quoted("a|b"), "'a|b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_path_is_short_below_this_folder_and_whole_elsewhere() {
        let here = env::current_dir().unwrap();
        assert_eq!(path(&here.join("plans/a.toml")), "plans/a.toml");
        assert_eq!(path(&here), ".");
        assert_eq!(path(Path::new("../a b.toml")), "'../a b.toml'");
        assert_eq!(path(Path::new("-o")), "./-o");
        assert_eq!(path(Path::new("/else/a.toml")), "/else/a.toml");
    }
}
