use super::super::{
    Mechanisms, NewReno34Config, PetraConfig, PetraThesisConfig, QueueTarget, WestwoodConfig,
};
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
fn the_base_has_two_names() {
    for (word, base) in [
        ("newreno", super::super::Base::NewReno),
        ("westwood", super::super::Base::Westwood),
    ] {
        assert_eq!(thesis(&format!("base={word}")).unwrap().base, base);
    }
}

#[test]
fn a_number_out_of_range_names_the_range() {
    let error = Alpha::new(1.0).unwrap_err().to_string();
    assert_eq!(error, "out of range; expected a number from 0 to 0.999");
}

#[test]
fn the_queue_has_three_targets() {
    for (word, target) in [
        ("short", QueueTarget::Short),
        ("balanced", QueueTarget::Balanced),
        ("full", QueueTarget::Full),
    ] {
        let config: PetraConfig = parse(&format!("queue={word}")).unwrap();
        assert_eq!(config.queue, target);
    }
    assert!(parse::<PetraConfig>("queue=empty").is_err());
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
        "petra-thesis: best_recovery: invalid value (got \"yes\"); expected on, off, true or false"
    );
}

#[test]
fn numbers_keep_to_their_range() {
    for text in ["alpha=0", "alpha=0.999", "pacing_gain=1", "pacing_gain=4"] {
        assert!(thesis(text).is_ok(), "{text}");
    }
    for value in ["1", "-0.1", "NaN", "inf", "", "much"] {
        let error = refused(&format!("alpha={value}"));
        let expected = format!(
            "petra-thesis: alpha: invalid value (got {value:?}); expected a number from 0 to 0.999"
        );
        assert_eq!(error, expected);
    }
    assert_eq!(
        parse::<WestwoodConfig>("tau=0.001")
            .unwrap_err()
            .to_string(),
        "westwood: tau: invalid value (got \"0.001\"); expected a number from 0.01 to 60"
    );
}

#[test]
fn an_unknown_key_is_refused_with_the_known_ones() {
    let error = refused("beta=0.7");
    assert!(error.starts_with("petra-thesis: unknown option (got \"beta\"); expected initial"));
    for key in ["initial_ssthresh", "alpha", "base", "pacing_gain"] {
        assert!(error.contains(key), "{error}");
    }
}

#[test]
fn former_keys_are_accepted() {
    for (former, present) in [
        ("after_loss=0.6,avoidance=2", "beta=0.6,additive_increase=2"),
        ("beta=0.6,avoidance=2", "additive_increase=2,beta=0.6"),
    ] {
        let parse = parse::<NewReno34Config>;
        assert_eq!(parse(former), parse(present), "{former}");
        assert_ne!(parse(former), Ok(NewReno34Config::default()), "{former}");
    }
    let span = parse::<PetraConfig>("span=0.7").unwrap();
    assert_eq!(span.min_sample_interval, Alpha::new(0.7).unwrap());
    assert_eq!(
        parse::<NewReno34Config>("beta=0.6,after_loss=0.6")
            .unwrap_err()
            .to_string(),
        "newreno-34: beta: duplicate option"
    );
}

#[test]
fn a_duplicate_key_is_refused() {
    assert_eq!(
        refused("alpha=0.8,base=newreno,alpha=0.8"),
        "petra-thesis: alpha: duplicate option"
    );
}

#[test]
fn a_malformed_option_is_refused() {
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
    assert!(error.to_string().contains("got \"2\""));
}
