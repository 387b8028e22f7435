//! Colours: the same for the same controller on every page and in every plot.

/// Red, green and blue.
pub(crate) type Rgb = [u8; 3];

/// A colour on a light page, and what takes its place on a dark one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ink {
    pub(crate) light: Rgb,
    pub(crate) dark: Rgb,
}

/// Text, axes and what a curve is compared with.
pub(crate) const TEXT: Ink = ink(0x1b1f24, 0xe6e8eb);
/// Colour of secondary elements: ticks, captions, second curves.
pub(crate) const MUTED: Ink = ink(0x5f6873, 0x9aa4b0);
/// Lines that guide the eye.
pub(crate) const GRID: Ink = ink(0xdfe3e8, 0x343b45);
/// The page.
pub(crate) const PAPER: Ink = ink(0xffffff, 0x14181d);

/// Okabe and Ito's colours, which people of any colour vision tell apart; the
/// yellow darker, to be seen on white.
pub(crate) const SERIES: [Ink; 8] = [
    ink(0xd55e00, 0xf07d33),
    ink(0x0072b2, 0x3f95d6),
    ink(0x009e73, 0x1fbf92),
    ink(0xcc79a7, 0xe29cc2),
    ink(0x4d4d4d, 0xc4c4c4),
    ink(0xe69f00, 0xf3bb3d),
    ink(0x56b4e9, 0x8fd0f5),
    ink(0xa89800, 0xe8dd52),
];

/// Behind curves, light enough not to be taken for one.
pub(crate) const BANDS: [Ink; 4] = [
    ink(0xdcefd9, 0x1d3527),
    ink(0xfae0d6, 0x43261c),
    ink(0xe3eaf5, 0x1f2a3d),
    ink(0xefeadb, 0x36311f),
];

/// Controllers that always have the same colour, whatever else is shown, in
/// the order of [`SERIES`].
const FIXED: [&str; 7] = [
    "petra",
    "westwood",
    "cubic",
    "bbr2",
    "reno",
    "petra-thesis",
    "mechanism",
];

const fn ink(light: u32, dark: u32) -> Ink {
    Ink {
        light: rgb(light),
        dark: rgb(dark),
    }
}

const fn rgb(code: u32) -> Rgb {
    let [_, red, green, blue] = code.to_be_bytes();
    [red, green, blue]
}

/// As CSS and SVG write it.
pub(crate) fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// The colours of some controllers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Palette {
    /// Those without a fixed colour.
    others: Vec<(String, Ink)>,
}

impl Palette {
    /// Others than the fixed ones get, in the order in which they come, the
    /// colours that are left, and go round when there are too many.
    pub(crate) fn new<'a>(controllers: impl IntoIterator<Item = &'a String>) -> Self {
        let (mut others, mut taken) = (Vec::new(), Vec::new());
        for name in controllers {
            match fixed(name) {
                Some(ink) => taken.push(ink),
                None if others.contains(name) => {}
                None => others.push(name.clone()),
            }
        }
        let left = SERIES.iter().rev().filter(|ink| !taken.contains(ink));
        let left: Vec<Ink> = left.copied().collect();
        let colours = if left.is_empty() { &SERIES[..] } else { &left };
        let colours = colours.iter().copied().cycle();
        Palette {
            others: others.into_iter().zip(colours).collect(),
        }
    }

    pub(crate) fn of(&self, controller: &str) -> Ink {
        let other = || self.others.iter().find(|(name, _)| name == controller);
        fixed(controller)
            .or_else(|| other().map(|(_, ink)| *ink))
            .unwrap_or(MUTED)
    }
}

fn fixed(controller: &str) -> Option<Ink> {
    let place = FIXED.iter().position(|name| *name == controller)?;
    Some(SERIES[place])
}

/// CSS that turns the light colours within `scope` into the dark ones. A rule
/// counts more than an attribute of SVG.
pub(crate) fn dark_css(scope: &str) -> String {
    let roles = [TEXT, MUTED, GRID, PAPER];
    let rule = |ink: &Ink| {
        let (light, dark) = (hex(ink.light), hex(ink.dark));
        format!(
            "{scope} [fill=\"{light}\"]{{fill:{dark}}}{scope} \
             [stroke=\"{light}\"]{{stroke:{dark}}}"
        )
    };
    let all = roles.iter().chain(&SERIES).chain(&BANDS);
    all.map(rule).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_controller_has_its_colour_in_any_company() {
        let names = |names: &[&str]| names.iter().map(|it| it.to_string()).collect::<Vec<_>>();
        let few = Palette::new(&names(&["reno", "petra"]));
        let many = Palette::new(&names(&["mine", "petra", "yours", "reno"]));
        assert_eq!(few.of("petra"), many.of("petra"));
        assert_eq!(few.of("reno"), many.of("reno"));
        let all = ["mine", "petra", "yours", "reno"].map(|name| hex(many.of(name).light));
        assert_eq!(BTreeSet::from(all).len(), 4);
    }

    #[test]
    fn light_colours_are_unique_so_that_a_rule_can_find_them() {
        let all = [TEXT, MUTED, GRID, PAPER].into_iter();
        let all = all.chain(SERIES).chain(BANDS);
        let light: BTreeSet<String> = all.map(|ink| hex(ink.light)).collect();
        assert_eq!(light.len(), 4 + SERIES.len() + BANDS.len());
        assert!(dark_css("svg").contains("svg [stroke=\"#D55E00\"]{stroke:#F07D33}"));
    }
}
