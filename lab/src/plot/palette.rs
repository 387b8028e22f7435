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

/// Okabe and Ito's colours, the light ones darker, and five more: each has a contrast of 3:1 to
/// the page. The looks of controllers have dashes and marks besides.
pub(crate) const SERIES: [Ink; 12] = [
    ink(0xd55e00, 0xf07d33),
    ink(0x0060a8, 0x3f8fe0),
    ink(0x009e73, 0x1fbf92),
    ink(0xcc79a7, 0xe29cc2),
    ink(0x4b1f96, 0xa98bf0),
    ink(0xb5830a, 0xf3bb3d),
    ink(0x0a9bd8, 0x7fd8ff),
    ink(0x6d7300, 0xe8f052),
    ink(0x6e2f08, 0xc08050),
    ink(0xa3003f, 0xff5c80),
    ink(0x1f5a12, 0x79c95a),
    ink(0xd030e0, 0xe070ff),
];

/// Lengths of the strokes of a line and of the gaps between them; `""` is a line without gaps.
pub(crate) type Dash = &'static str;

/// A line without gaps.
pub(crate) const SOLID: Dash = "";

/// The dashes, in the order of [`SERIES`].
const DASHES: [Dash; SERIES.len()] = [
    SOLID,
    "7 3",
    "2 2",
    "10 3 2 3",
    "14 4",
    "4 4",
    "10 3 2 3 2 3",
    "1 4",
    "14 3 5 3",
    "2 2 2 6",
    "5 8",
    "14 3 2 3 2 3 2 3",
];

/// A mark: a circle, or a regular polygon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The number of corners; 0 is a circle.
    pub(crate) corners: u32,
    /// The direction of the first corner in degrees, clockwise from the top.
    pub(crate) turn: u32,
    /// True for an outline.
    pub(crate) is_open: bool,
}

/// A disc.
pub(crate) const DISC: Shape = shape(0, 0, false);
/// A ring.
pub(crate) const RING: Shape = shape(0, 0, true);

/// Of a curve that the upper end of the axis cuts off: a triangle.
pub(crate) const CLIPPED_MARK: Shape = shape(3, 0, true);

/// The marks, in the order of [`SERIES`].
const SHAPES: [Shape; SERIES.len()] = [
    DISC,
    shape(4, 45, false),
    shape(3, 0, false),
    shape(4, 0, false),
    RING,
    shape(4, 45, true),
    shape(3, 0, true),
    shape(4, 0, true),
    shape(3, 180, false),
    shape(3, 180, true),
    shape(6, 0, false),
    shape(6, 0, true),
];

/// The look of a controller, which is readable without colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) ink: Ink,
    /// Of its curves.
    pub(crate) dash: Dash,
    /// Of its spots and its bars.
    pub(crate) shape: Shape,
}

/// Of what has no look of its own.
const PLAIN: Look = Look {
    ink: MUTED,
    dash: SOLID,
    shape: DISC,
};

/// Behind curves, light enough not to be taken for one.
pub(crate) const BANDS: [Ink; 4] = [
    ink(0xdcefd9, 0x1d3527),
    ink(0xfae0d6, 0x43261c),
    ink(0xe3eaf5, 0x1f2a3d),
    ink(0xefeadb, 0x36311f),
];

/// Controllers that always have the same look, whatever else is shown, in the order of
/// [`SERIES`]: all that are shipped, and the name of the thesis's tables.
const FIXED: [&str; 11] = [
    "petra",
    "westwood",
    "cubic",
    "bbr2",
    "reno",
    "petra-thesis",
    "westwood-nr",
    "newreno-34",
    "highbrow",
    "oracle",
    "mechanism",
];

const fn shape(corners: u32, turn: u32, is_open: bool) -> Shape {
    Shape {
        corners,
        turn,
        is_open,
    }
}

/// The look at this place of the lists.
fn look(place: usize) -> Look {
    Look {
        ink: SERIES[place],
        dash: DASHES[place],
        shape: SHAPES[place],
    }
}

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

/// The looks of some controllers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Palette {
    /// Those without a fixed look.
    others: Vec<(String, Look)>,
}

impl Palette {
    /// Others than the fixed ones get, in the order in which they come, the
    /// looks that are left, and go round when there are too many.
    pub(crate) fn new<'a>(controllers: impl IntoIterator<Item = &'a String>) -> Self {
        let (mut others, mut taken) = (Vec::new(), Vec::new());
        for name in controllers {
            match fixed(name) {
                Some(place) => taken.push(place),
                None if others.contains(name) => {}
                None => others.push(name.clone()),
            }
        }
        let left = (0..SERIES.len()).rev().filter(|it| !taken.contains(it));
        let left: Vec<usize> = left.collect();
        Palette {
            others: others
                .into_iter()
                .zip(left.into_iter().map(look).cycle())
                .collect(),
        }
    }

    pub(crate) fn look(&self, controller: &str) -> Look {
        let other = || self.others.iter().find(|(name, _)| name == controller);
        fixed(controller)
            .map(look)
            .or_else(|| other().map(|(_, look)| *look))
            .unwrap_or(PLAIN)
    }

    /// The ink of the look.
    pub(crate) fn of(&self, controller: &str) -> Ink {
        self.look(controller).ink
    }
}

fn fixed(controller: &str) -> Option<usize> {
    FIXED.iter().position(|name| *name == controller)
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

    /// The contrast of two colours as WCAG 2 defines it.
    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let linear = |channel: u8| match f64::from(channel) / 255.0 {
            low if low <= 0.04045 => low / 12.92,
            high => ((high + 0.055) / 1.055).powf(2.4),
        };
        let luminance = |[red, green, blue]: Rgb| {
            0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn each_ink_has_the_contrast_of_graphics_to_the_page() {
        assert!((contrast([0; 3], [255; 3]) - 21.0).abs() < 1e-9);
        for ink in SERIES.iter().chain([&TEXT, &MUTED]) {
            for (page, drawn) in [(PAPER.light, ink.light), (PAPER.dark, ink.dark)] {
                let contrast = contrast(page, drawn);
                assert!(contrast >= 3.0, "{}: {contrast:.2}", hex(drawn));
            }
        }
        // The page has these backgrounds, and not others.
        let style = include_str!("../report/style.css");
        for page in [PAPER.light, PAPER.dark] {
            let paper = format!("--paper: {};", hex(page).to_lowercase());
            assert_eq!(style.matches(&paper).count(), 1, "{paper}");
        }
    }

    #[test]
    fn all_shipped_controllers_look_different() {
        let shipped = petra::registry::names().chain(["reno", "cubic", "bbr2", "oracle"]);
        let shipped: Vec<&str> = shipped.collect();
        for name in &shipped {
            assert!(fixed(name).is_some(), "{name} has no fixed look");
        }
        let looks = || shipped.iter().map(|name| Palette::default().look(name));
        let inks: BTreeSet<String> = looks().map(|it| hex(it.ink.light)).collect();
        let dark: BTreeSet<String> = looks().map(|it| hex(it.ink.dark)).collect();
        let dashes: BTreeSet<&str> = looks().map(|it| it.dash).collect();
        let shapes = looks().map(|it| (it.shape.corners, it.shape.turn, it.shape.is_open));
        let shapes: BTreeSet<_> = shapes.collect();
        let counts = [inks.len(), dark.len(), dashes.len(), shapes.len()];
        assert_eq!(counts, [shipped.len(); 4]);
    }

    #[test]
    fn controllers_without_a_fixed_look_share_none_before_all_are_taken() {
        let mine: Vec<String> = (0..SERIES.len()).map(|it| format!("mine-{it}")).collect();
        let palette = Palette::new(&mine);
        let dashes: BTreeSet<&str> = mine.iter().map(|name| palette.look(name).dash).collect();
        assert_eq!(dashes.len(), SERIES.len());
        assert_eq!(palette.look("another"), PLAIN);
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
