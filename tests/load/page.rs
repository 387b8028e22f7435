//! The tables of docs/security.md.

use std::fs;
use std::path::Path;

/// Prints a table. With `PETRA_SOAK` and `UPDATE_PAGES` in the environment, it replaces the one of
/// this name in the page.
pub(crate) fn write(name: &str, table: &str) {
    println!("{table}");
    let set = |name| std::env::var_os(name).is_some();
    if !set("UPDATE_PAGES") || !set("PETRA_SOAK") {
        return;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/security.md");
    let text = fs::read_to_string(&page).expect("the page is there");
    let (begin, end) = (format!("<!-- load: {name} -->\n"), "<!-- end -->");
    let (before, rest) = text.split_once(&begin).expect("the page has the table");
    let (_, after) = rest.split_once(end).expect("the table ends");
    fs::write(page, format!("{before}{begin}{table}{end}{after}")).expect("the page is written");
}
