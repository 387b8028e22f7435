use super::super::catalogue::{describe, recipe, NAMES};
use super::super::{Mechanisms, PetraThesisConfig, WestwoodConfig};
use super::*;

fn thesis(text: &str) -> Result<PetraThesisConfig, OptionError> {
    parse(text)
}

fn refused(text: &str) -> String {
    thesis(text).expect_err(text).to_string()
}

#[test]
fn nothing_means_the_defaults() {
    for nothing in ["", "  "] {
        assert_eq!(thesis(nothing), Ok(PetraThesisConfig::default()));
    }
}

#[test]
fn options_are_set_and_the_rest_left() {
    let config = thesis("alpha=0.8, faster_start = off,base=newreno").unwrap();
    let expected = PetraThesisConfig {
        alpha: Alpha::new(0.8).unwrap(),
        mechanisms: Mechanisms {
            faster_start: false,
            ..Mechanisms::ALL
        },
        base: super::super::Base::NewReno,
        ..PetraThesisConfig::default()
    };
    assert_eq!(config, expected);
}

#[test]
fn switches_take_four_words() {
    for (word, value) in [
        ("on", true),
        ("true", true),
        ("off", false),
        ("false", false),
    ] {
        let config = thesis(&format!("best_recovery={word}")).unwrap();
        assert_eq!(config.mechanisms.best_recovery, value);
    }
    assert_eq!(
        refused("best_recovery=yes"),
        "petra-thesis: best_recovery takes on, off, true or false, not \"yes\""
    );
}

#[test]
fn numbers_keep_to_their_range() {
    for text in ["alpha=0", "alpha=0.999", "pacing_gain=1", "pacing_gain=4"] {
        assert!(thesis(text).is_ok(), "{text}");
    }
    for value in ["1", "-0.1", "NaN", "inf", "", "much"] {
        let error = refused(&format!("alpha={value}"));
        assert!(error.contains("petra-thesis"), "{error}");
        assert!(
            error.contains("alpha takes a number from 0 to 0.999"),
            "{error}"
        );
    }
    assert_eq!(
        parse::<WestwoodConfig>("tau=0.001")
            .unwrap_err()
            .to_string(),
        "westwood: tau takes a number from 0.01 to 60, not \"0.001\""
    );
}

#[test]
fn an_unknown_key_is_answered_with_the_known_ones() {
    let error = refused("beta=0.7");
    assert!(error.starts_with("petra-thesis has no option \"beta\"; it has"));
    for key in ["initial_ssthresh", "alpha", "base", "pacing_gain"] {
        assert!(error.contains(key), "{error}");
    }
}

#[test]
fn a_repeated_key_is_refused() {
    assert_eq!(
        refused("alpha=0.8,base=newreno,alpha=0.8"),
        "petra-thesis: alpha is given twice"
    );
}

#[test]
fn what_is_no_assignment_is_refused() {
    for text in [
        "alpha",
        "=0.9",
        ",",
        "alpha=0.9,",
        ",alpha=0.9",
        "alpha=0.9,,base=newreno",
    ] {
        let error = refused(text);
        assert!(error.contains("key=value"), "{text}: {error}");
    }
}

#[test]
fn an_error_is_an_error() {
    let error: Box<dyn std::error::Error> = Box::new(thesis("alpha=2").unwrap_err());
    assert!(error.to_string().contains("not \"2\""));
}

#[test]
fn every_name_has_a_recipe_that_knows_its_name() {
    for name in NAMES {
        assert_eq!(recipe(name, "").unwrap().name(), name);
    }
    let error = recipe("bbr", "").unwrap_err().to_string();
    assert_eq!(
        error,
        "no controller is called \"bbr\"; there are petra, petra-thesis, westwood, \
         westwood-nr, newreno-34, highbrow"
    );
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
