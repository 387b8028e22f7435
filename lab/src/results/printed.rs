//! Values that a publication printed, to be shown next to what is measured.

use serde::{Deserialize, Serialize};

use crate::documented::documented;

documented! {
    /// The values that a publication printed, and the orders that it claims.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Printed {
        /// Heading of the summary, which is over all plans of a report that have it.
        pub title: String,
        /// Text below the heading.
        #[serde(default)]
        pub note: String,
        /// The metric that was printed.
        pub metric: String,
        /// The printed columns. The first is compared with each of the others. An empty list shows
        /// none.
        pub columns: Vec<Column>,
        /// Controllers of which the first is expected above the second: `[["petra", "reno"]]`. A
        /// row holds, is undecided or is reversed.
        #[serde(default)]
        pub orders: Vec<(String, String)>,
        /// Metrics of both controllers to show where an order is reversed.
        #[serde(default)]
        pub circumstances: Vec<String>,
    }
}

documented! {
    /// A column of a publication's table.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Column {
        /// The cases' numbers with the printed values: `printed.petra`.
        pub reference: String,
        /// The name in the publication.
        pub name: String,
        /// The controller that is measured for it.
        pub controller: String,
    }
}
