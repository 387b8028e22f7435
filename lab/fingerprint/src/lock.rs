//! The versions of crates, from a lock file.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use toml::{Table, Value};

/// The crates that `roots` need in a Cargo.lock, themselves among them, each as a line with name,
/// version and checksum.
///
/// # Errors
///
/// A text that is not a Cargo.lock, or one without a root.
pub fn dependencies(lock: &str, roots: &[&str]) -> Result<String> {
    let lock: Table = lock.parse().context("Cargo.lock")?;
    let packages = lock.get("package").and_then(Value::as_array);
    let packages = packages.context("Cargo.lock: no packages; expected [[package]] tables")?;
    let text = |package: &Value, key: &str| {
        let text = package.get(key).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    // Several versions of a crate count together.
    let mut by_name: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for package in packages {
        by_name
            .entry(text(package, "name"))
            .or_default()
            .push(package);
    }
    let mut wanted: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
    let mut seen = BTreeSet::new();
    let mut lines = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let versions = by_name.get(&name);
        let versions = versions.with_context(|| format!("Cargo.lock: no package `{name}`"))?;
        for package in versions {
            let [version, checksum] = ["version", "checksum"].map(|key| text(package, key));
            lines.insert(format!("{name} {version} {checksum}\n"));
            let needs = package.get("dependencies").and_then(Value::as_array);
            // `name`, or `name version` where there are several.
            let names = needs.into_iter().flatten().filter_map(Value::as_str);
            wanted.extend(
                names
                    .filter_map(|need| need.split(' ').next())
                    .map(str::to_owned),
            );
        }
    }
    Ok(lines.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
        version = 4
        [[package]]
        name = "a"
        version = "1.0.0"
        dependencies = ["b 2.0.0"]
        [[package]]
        name = "b"
        version = "1.0.0"
        checksum = "11"
        [[package]]
        name = "b"
        version = "2.0.0"
        checksum = "22"
        dependencies = ["a"]
        [[package]]
        name = "plots"
        version = "3.0.0"
    "#;

    #[test]
    fn only_what_the_roots_need_is_named() {
        assert_eq!(
            dependencies(LOCK, &["a"]).unwrap(),
            "a 1.0.0 \nb 1.0.0 11\nb 2.0.0 22\n"
        );
        assert_eq!(dependencies(LOCK, &["plots"]).unwrap(), "plots 3.0.0 \n");
    }

    #[test]
    fn a_root_that_is_not_there_is_an_error() {
        assert!(dependencies(LOCK, &["c"])
            .unwrap_err()
            .to_string()
            .contains("`c`"));
        assert!(dependencies("", &["a"]).is_err());
        assert!(dependencies("=", &["a"]).is_err());
    }
}
