//! Structs that know the documentation of their fields: what a plan's keys, the
//! options of the command line and the page of reference say of a field is its
//! doc comment.

/// A field as it is declared.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key in text formats.
    pub name: &'static str,
    /// The doc comment, line by line as it is written.
    about: &'static str,
    /// The type, and what serde is told of it.
    declared: &'static str,
}

/// A struct whose fields are documented.
pub trait Documented {
    /// In the order of their declaration.
    const FIELDS: &[Field];
}

/// A part of a declaration, the values that such a field has, and the one that it
/// has when nothing is written.
const VALUES: [(&str, &str, &str); 20] = [
    ("StepRate>", "rate", "none"),
    ("<Rate>", "rate", "none"),
    ("<Time>", "duration", "`0s`"),
    ("<Share>", "share", "`0%`"),
    ("<Size>", "size", "none"),
    ("<Room>", "queue", "none"),
    ("Queue", "queue", "none"),
    ("Aqm", "name, or name with options", "`drop-tail`"),
    (
        "Distribution",
        "`normal`, `uniform`, `pareto`, `paretonormal`",
        "`normal`",
    ),
    ("Pacing", "`release`, `hold`, `off`", "`release`"),
    ("Way", "`down`, `up`", "`down`"),
    ("PathBuf", "file", "none"),
    ("Vec<(String,String)>", "list of pairs of texts", "empty"),
    ("Vec<String>", "list of texts", "empty"),
    ("String", "text", "none"),
    ("bool", "`true`, `false`", "`false`"),
    ("f64", "number", "none"),
    ("(usize,usize)", "two whole numbers: `[0, 1]`", "none"),
    ("Vec<", "list of tables", "none"),
    ("u", "whole number", "`1`"),
];

impl Field {
    /// The field that `about` documents and `declared` declares, spaces aside.
    pub const fn new(name: &'static str, about: &'static str, declared: &'static str) -> Self {
        Field {
            name,
            about,
            declared,
        }
    }

    /// The doc comment in one line.
    pub fn about(&self) -> String {
        let words: Vec<&str> = self.about.split_whitespace().collect();
        words.join(" ")
    }

    /// Returns true if the field is a list to which each mention adds an element.
    pub fn is_list(&self) -> bool {
        self.values() == "list of tables"
    }

    /// The values that it has, with their unit and range.
    pub fn values(&self) -> &'static str {
        self.kind().0
    }

    /// The value that it has when nothing is written.
    pub fn blank(&self) -> &'static str {
        match self.declared.contains("Option") {
            true => "none",
            false => self.kind().1,
        }
    }

    fn kind(&self) -> (&'static str, &'static str) {
        let declared = self.declared.replace(' ', "");
        let (_, kind) = declared.rsplit_once(TYPE).unwrap_or_default();
        let has = |part: &str| match part {
            "u" => kind.contains("u64") || kind.contains("u32") || kind.contains("usize"),
            part => declared.contains(part),
        };
        let found = VALUES.iter().find(|(part, ..)| has(part));
        found.map_or(("table", "none"), |(_, values, blank)| (values, blank))
    }
}

/// The part of a declaration before the type.
const TYPE: &str = "//";

/// Declares a struct that is [`Documented`].
macro_rules! documented {
    (
        $(#[$of:meta])*
        $visible:vis struct $name:ident {
            $($(#[doc = $about:literal])* $(#[serde $serde:tt])? $public:vis $field:ident: $kind:ty,)*
        }
    ) => {
        $(#[$of])*
        $visible struct $name {
            $($(#[doc = $about])* $(#[serde $serde])? $public $field: $kind,)*
        }

        impl crate::documented::Documented for $name {
            const FIELDS: &[crate::documented::Field] = &[$(crate::documented::Field::new(
                stringify!($field),
                concat!($($about, "\n",)*),
                concat!($(stringify!($serde),)? "//", stringify!($kind)),
            )),*];
        }
    };
}

pub(crate) use documented;
