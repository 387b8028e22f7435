//! Arbitrary bytes as what people write: what the fuzz targets run.

pub(crate) mod link;
pub(crate) mod path;
pub(crate) mod plan;
