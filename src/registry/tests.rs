use std::fs;

use super::super::events::settings;
use super::*;

/// The reference page of all options, as Markdown.
fn reference() -> String {
    let mut page = String::from(
        "# Options of the controllers\n\n\
         For users who configure a controller. An option string follows the controller's name:\n\
         `petra:alpha=0.8,faster_start=off`. Former names are accepted for one release.\n\n\
         The controllers' definitions generate this page:\n\n\
         \x20   UPDATE_PAGES=1 cargo test --lib registry::\n",
    );
    for entry in CONTROLLERS {
        page += &format!(
            "\n## `{}`\n\n{}.\n\n\
             | option | meaning | values | default | former name |\n|---|---|---|---|---|\n",
            entry.name, entry.title
        );
        for option in (entry.options)() {
            let former = option.former_key.map(|key| format!("`{key}`"));
            page += &format!(
                "| `{}` | {} | {} | {} | {} |\n",
                option.key,
                option.help,
                option.accepted,
                option.default,
                former.unwrap_or_default()
            );
        }
    }
    page
}

/// With `UPDATE_PAGES` in the environment it writes the page instead.
#[test]
fn the_reference_page_is_generated_from_the_options() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/options.md");
    if std::env::var_os("UPDATE_PAGES").is_some() {
        fs::write(path, reference()).unwrap();
    }
    let page = fs::read_to_string(path).unwrap();
    assert!(
        page == reference(),
        "docs/options.md: out of date; expected the output of \
         `UPDATE_PAGES=1 cargo test --lib registry::`"
    );
}

#[test]
fn every_name_has_a_factory_of_that_name() {
    for name in NAMES {
        assert_eq!(factory(name, "").unwrap().name(), name);
    }
    let error = factory("bbr", "").unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "controller: unknown name (got \"bbr\"); expected {}",
            NAMES.join(", ")
        )
    );
}

/// RFC 9002, Section 7.2: ten datagrams of the new size.
#[test]
fn every_initial_window_follows_the_maximum_datagram_size() {
    assert_eq!(names().count(), CONTROLLERS.len());
    for name in names() {
        let mut controller = factory(name, "").unwrap().build(settings());
        controller.on_max_datagram_size(1_500);
        assert_eq!(controller.window(), 15_000, "{name}");
    }
}

#[test]
fn the_description_names_every_controller_and_default() {
    let text = describe();
    for name in NAMES {
        assert!(text.contains(&format!("{name}: ")), "{text}");
    }
    assert!(text.contains("default 0.9)"), "{text}");
    assert!(text.contains("default westwood)"), "{text}");
}
