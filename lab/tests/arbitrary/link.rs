//! Options of links, and numbers with units, that somebody mistyped.

use clap::{Args, Command, FromArgMatches};
use petra_lab::link::LinkOptions;
use petra_lab::units;

/// Reads the options of a link, and each word as a number. A number that is taken is as it is
/// printed.
pub(crate) fn link(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let command = LinkOptions::augment_args(Command::new("link").no_binary_name(true));
    if let Ok(matches) = command.try_get_matches_from(text.split_whitespace()) {
        let link = LinkOptions::from_arg_matches(&matches).map(|options| options.link());
        if let Ok(Ok(link)) = link {
            link.check().unwrap();
        }
    }
    for word in text.split(|letter: char| letter.is_whitespace() || "=,@".contains(letter)) {
        number(word);
    }
}

/// The print of a number is that number.
fn number(word: &str) {
    if let Ok(rate) = units::parse_rate(word) {
        assert_eq!(units::parse_rate(&units::format_rate(rate)), Ok(rate));
    }
    if let Ok(time) = units::parse_duration(word) {
        assert_eq!(
            units::parse_duration(&units::format_duration(time)),
            Ok(time)
        );
    }
    if let Ok(size) = units::parse_size(word) {
        assert_eq!(units::parse_size(&units::format_size(size)), Ok(size));
    }
    if let Ok(share) = units::parse_share(word) {
        assert_eq!(units::parse_share(&units::format_share(share)), Ok(share));
    }
    if let Ok(queue) = units::parse_queue(word) {
        assert_eq!(units::parse_queue(&units::format_queue(queue)), Ok(queue));
    }
    let _ = units::parse_number(word);
}
