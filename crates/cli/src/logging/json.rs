//! A line of the log as one flat JSON object.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{FormatEvent, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Writes each event as an object with `timestamp`, `level`, `target` and `message`, its own fields, and those of all its spans. If fields
/// share a name, the event's one counts, then that of the inner span. Spans must be formatted by `JsonFields`.
pub(super) struct JsonLine;

#[derive(Serialize)]
struct Line<'a> {
    timestamp: &'a str,
    level: &'a str,
    target: &'a str,
    #[serde(flatten)]
    fields: BTreeMap<String, Value>,
}

/// Names that every line has; a field with such a name would be a duplicate.
const TAKEN: [&str; 3] = ["timestamp", "level", "target"];

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields::default();
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            if let Some(formatted) = span.extensions().get::<FormattedFields<N>>() {
                let read = serde_json::from_str::<Map<String, Value>>(&formatted.fields);
                fields.0.extend(read.unwrap_or_default());
            }
        }
        event.record(&mut fields);
        let Fields(mut fields) = fields;
        fields.retain(|name, _| !TAKEN.contains(&name.as_str()));
        let mut timestamp = String::new();
        SystemTime.format_time(&mut Writer::new(&mut timestamp))?;
        let metadata = event.metadata();
        let (level, target) = (metadata.level().as_str(), metadata.target());
        let line = serde_json::to_string(&Line { timestamp: &timestamp, level, target, fields });
        writeln!(writer, "{}", line.map_err(|_| fmt::Error)?)
    }
}

#[derive(Default)]
struct Fields(BTreeMap<String, Value>);

impl Fields {
    fn set(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, value);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::fmt::format::JsonFields;

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_has_the_fields_of_its_event_and_of_all_its_spans() {
        let sink = Sink::default();
        let writer = sink.clone();
        let log = tracing_subscriber::fmt().with_writer(move || writer.clone());
        let log = log.fmt_fields(JsonFields::new()).event_format(JsonLine).finish();
        tracing::subscriber::with_default(log, || {
            let call = tracing::info_span!(
                "call",
                request_id = "call_1",
                place = 1,
                account = tracing::field::Empty
            );
            let _inside = call.enter();
            tracing::info!("before");
            call.record("account", "acct_1");
            let _deeper = tracing::info_span!("attempt", place = 2, level = "none").entered();
            tracing::warn!(place = 3, is_so = true, share = 0.5, why = %"a \"quote\"\n", "within {}", 1);
        });
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str::<Map<String, Value>>(line).unwrap());
        let mut next = || {
            let mut line = lines.next().unwrap();
            assert!(line.remove("timestamp").unwrap().as_str().unwrap().ends_with('Z'));
            Value::Object(line)
        };
        let target = module_path!();
        let expected = serde_json::json!({"level": "INFO", "target": target, "message": "before", "request_id": "call_1", "place": 1});
        assert_eq!(next(), expected);
        let expected = serde_json::json!({"level": "WARN", "target": target, "message": "within 1", "request_id": "call_1",
            "account": "acct_1", "place": 3, "is_so": true, "share": 0.5, "why": "a \"quote\"\n"});
        assert_eq!(next(), expected);
    }
}
