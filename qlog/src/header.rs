//! The first record of a trace.

use serde_json::{json, Map, Value};

use crate::Error;

/// The versions of qlog that qvis opens.
pub(crate) const QVIS_VERSIONS: [&str; 4] = ["draft-02", "draft-02-RC1", "qlog-03-WIP", "0.3"];

/// The schema of quiche's traces.
const SEQUENTIAL: &str = "urn:ietf:params:qlog:file:sequential";

/// The names of JSON text sequences: quiche's and qvis's, and the media type of later drafts.
const FORMATS: [&str; 2] = ["JSON-SEQ", "application/qlog+json-seq"];

/// The field of a header that says where the events of lost packets are from.
pub(crate) const LOSSES: &str = "petra_packet_lost";

/// Header of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    fields: Map<String, Value>,
}

impl Header {
    /// Reads the text of the first record.
    ///
    /// # Errors
    ///
    /// When it is no header of a version that is understood.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let fields: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| Error::Header(error.to_string()))?;
        let header = Header { fields };
        let word = |name| header.fields.get(name).and_then(Value::as_str);
        match (word("qlog_version"), word("file_schema")) {
            (Some(version), _) if QVIS_VERSIONS.contains(&version) => {}
            (Some(version), _) => return Err(unknown("qlog_version", version, "0.3")),
            (None, Some(schema)) if schema.starts_with(SEQUENTIAL) => {}
            (None, Some(schema)) => return Err(unknown("file_schema", schema, SEQUENTIAL)),
            (None, None) => {
                let reason = "missing `file_schema` or `qlog_version`";
                return Err(Error::Header(reason.to_owned()));
            }
        }
        let format = word("serialization_format").or(word("qlog_format"));
        if !format.is_some_and(|format| FORMATS.contains(&format)) {
            return Err(unknown(
                "serialization_format",
                format.unwrap_or_default(),
                &FORMATS.join("` or `"),
            ));
        }
        if !header.fields.get("trace").is_some_and(Value::is_object) {
            return Err(Error::Header("missing `trace`".to_owned()));
        }
        Ok(header)
    }

    /// The trace is one for qvis, not a raw one.
    pub fn is_for_qvis(&self) -> bool {
        self.fields.contains_key("qlog_version")
    }

    /// The title of the trace.
    pub fn title(&self) -> Option<&str> {
        let own = self.fields.get("title");
        let title = own.or_else(|| self.fields["trace"].get("title"));
        title.and_then(Value::as_str)
    }

    /// Words about the connection, such as its controller.
    pub fn description(&self) -> Option<&str> {
        let own = self.fields.get("description");
        let description = own.or_else(|| self.fields["trace"].get("description"));
        description.and_then(Value::as_str)
    }

    /// The controller's name with its options, from a description that begins with
    /// `congestion controller NAME`, as those of the examples and the laboratory do.
    pub fn controller(&self) -> Option<&str> {
        let rest = self.description()?.strip_prefix("congestion controller ")?;
        let name = rest.split([';', ' ']).next()?;
        (!name.is_empty()).then_some(name)
    }

    /// `server` or `client`, whose trace it is.
    pub fn vantage_point(&self) -> Option<&str> {
        self.fields["trace"]["vantage_point"]["type"].as_str()
    }

    /// The source of the events of lost packets; see [`qvis::Source`](crate::qvis::Source).
    pub fn losses(&self) -> Option<&str> {
        self.fields.get(LOSSES).and_then(Value::as_str)
    }

    /// The same trace's header for qvis, whose last field says `losses`, in
    /// quotes.
    pub(crate) fn for_qvis(&self, losses: &str) -> String {
        let empty = Value::String(String::new());
        let mut trace = self.fields["trace"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        trace.remove("event_schemas");
        let common = trace.get("common_fields").and_then(Value::as_object);
        let mut common = common.cloned().unwrap_or_default();
        // Times count from the beginning. When that was is in words that qvis
        // does not read; they stay, for people.
        if let Some(wall_clock) = common
            .get("reference_time")
            .and_then(|time| time.get("wall_clock_time"))
            .cloned()
        {
            common.insert("wall_clock_time".to_owned(), wall_clock);
        }
        common.insert("reference_time".to_owned(), json!(0));
        common.insert("time_format".to_owned(), json!("relative"));
        trace.insert("common_fields".to_owned(), Value::Object(common));
        format!(
            "{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"title\":{},\
             \"description\":{},\"trace\":{},\"{LOSSES}\":{losses}}}",
            self.fields.get("title").unwrap_or(&empty),
            self.fields.get("description").unwrap_or(&empty),
            Value::Object(trace),
        )
    }
}

fn unknown(field: &str, value: &str, expected: &str) -> Error {
    Error::Header(format!(
        "`{field}`: unknown value (got `{value}`); expected `{expected}`"
    ))
}
