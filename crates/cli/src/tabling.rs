//! Results of requests as the cells of a table.

use std::borrow::Cow;
use std::collections::HashMap;

use overnight_client::{Client, ErrorBody, FullRequest};
use overnight_domain::money::{Credits, Pricing};
use overnight_tables::{Column, ColumnType};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::errors::CliError;
use crate::quoting::pricing_of;
use crate::schema::AnswerSchema;

const ANSWER: [(&str, ColumnType); 6] = [
    ("answer", ColumnType::Text),
    ("finish_reason", ColumnType::Text),
    ("prompt_tokens", ColumnType::Integer),
    ("completion_tokens", ColumnType::Integer),
    ("cost", ColumnType::Number),
    ("error", ColumnType::Text),
];

/// The columns of a request that belongs to no row of a table.
const REQUEST: [(&str, ColumnType); 3] =
    [("id", ColumnType::Text), ("status", ColumnType::Text), ("metadata", ColumnType::Json)];

pub(crate) struct Tabling {
    prices: HashMap<String, Pricing>,
    schema: Option<AnswerSchema>,
    /// Whether a row names its request.
    names_requests: bool,
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    metadata: Option<Value>,
    #[serde(borrow)]
    request_body: RequestBody<'a>,
    #[serde(borrow)]
    result_body: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RequestBody<'a> {
    #[serde(borrow, default)]
    model: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
struct ResultBody {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Usage>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Choice {
    message: Option<Message>,
    /// The text of a completion that is not a chat.
    text: Option<String>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

#[derive(Deserialize)]
struct Failure {
    code: Option<String>,
    message: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) prompt_tokens: u64,
    pub(crate) completion_tokens: u64,
    /// At current prices; 0 if its model has none.
    pub(crate) cost: Credits,
}

impl Tabling {
    /// Uses the service's current prices. `names_requests` adds columns that identify the request, unless rows of a table already do.
    pub(crate) async fn new(
        client: &Client,
        schema: Option<&AnswerSchema>,
        names_requests: bool,
    ) -> Result<Self, CliError> {
        let mut prices = HashMap::new();
        for model in client.list_models().await? {
            if let Some(pricing) = pricing_of(&model)? {
                prices.extend(model.aliases.into_iter().chain([model.id]).map(|name| (name, pricing)));
            }
        }
        Ok(Self { prices, schema: schema.cloned(), names_requests })
    }

    /// The cells of a record, in the order of [`columns`].
    pub(crate) fn cells(&self, record: &[u8]) -> serde_json::Result<Vec<Value>> {
        let record: Record<'_> = serde_json::from_slice(record)?;
        let result: ResultBody = record
            .result_body
            .map_or_else(|| Ok(ResultBody::default()), |body| serde_json::from_str(body.get()))?;
        let mut error = match (&result.error, record.status.as_ref()) {
            (Some(Failure { code: Some(code), message }), _) => Some(format!("{code}: {message}")),
            (Some(Failure { code: None, message }), _) => Some(message.clone()),
            (None, "completed") => None,
            (None, status) => Some(status.to_owned()),
        };
        let usage = result.usage.as_ref();
        let pricing = self.prices.get(record.request_body.model.as_ref());
        let cost = usage.zip(pricing);
        let cost = cost.map(|(usage, pricing)| pricing.cost(usage.prompt_tokens, usage.completion_tokens));
        let choice = result.choices.into_iter().next();
        let finish_reason = choice.as_ref().and_then(|choice| choice.finish_reason.clone());
        let answer = choice.and_then(|choice| choice.message.map_or(choice.text, |message| message.content));
        let mut fields = Vec::new();
        if let Some(schema) = &self.schema {
            fields = vec![Value::Null; schema.columns().len()];
            match answer.as_deref().map(|answer| schema.cells(answer)) {
                Some(Ok(cells)) => fields = cells,
                Some(Err(words)) => error = error.or(Some(words)),
                None if error.is_none() => error = Some("there is no answer".to_owned()),
                None => {}
            }
        }
        let mut cells = Vec::with_capacity(REQUEST.len() + ANSWER.len() + fields.len());
        if self.names_requests {
            cells.extend([Value::from(record.id), record.status.into(), record.metadata.into()]);
        }
        cells.extend([
            answer.into(),
            finish_reason.into(),
            usage.map(|usage| usage.prompt_tokens).into(),
            usage.map(|usage| usage.completion_tokens).into(),
            cost.and_then(|cost| cost.to_string().parse::<f64>().ok()).into(),
            error.into(),
        ]);
        cells.extend(fields);
        Ok(cells)
    }

    /// The cells for a line that the service refused.
    pub(crate) fn refused(&self, error: &ErrorBody) -> Vec<Value> {
        self.unasked("refused", format!("{}: {}", error.code, error.message))
    }

    /// The cells of a row without a request, with the reason.
    pub(crate) fn unasked(&self, status: &str, error: String) -> Vec<Value> {
        let fields = self.schema.as_ref().map_or(0, |schema| schema.columns().len());
        let mut cells = Vec::with_capacity(REQUEST.len() + ANSWER.len() + fields);
        if self.names_requests {
            cells.extend([Value::Null, status.into(), Value::Null]);
        }
        cells.resize(cells.len() + ANSWER.len() - 1, Value::Null);
        cells.push(error.into());
        cells.resize(cells.len() + fields, Value::Null);
        cells
    }

    /// The usage of a completed request; `None` if its engine does not report it.
    pub(crate) fn used(&self, record: &FullRequest) -> Result<Option<Used>, CliError> {
        let unreadable = |error| CliError::unavailable(format!("a record cannot be read: {error}"));
        let RequestBody { model } = serde_json::from_str(record.request_body.get()).map_err(unreadable)?;
        let Some(body) = &record.result_body else { return Ok(None) };
        let result: ResultBody = serde_json::from_str(body.get()).map_err(unreadable)?;
        let pricing = self.prices.get(model.as_ref());
        Ok(result.usage.map(|Usage { prompt_tokens, completion_tokens }| {
            let cost =
                pricing.map_or(Credits::ZERO, |pricing| pricing.cost(prompt_tokens, completion_tokens));
            Used { prompt_tokens, completion_tokens, cost }
        }))
    }
}

/// The columns of answers, with `prefix` before their names. Fails if two columns have the same name; `taken` knows a table's own columns.
pub(crate) fn columns(
    prefix: &str,
    schema: Option<&AnswerSchema>,
    names_requests: bool,
    taken: impl Fn(&str) -> bool,
) -> Result<Vec<Column>, CliError> {
    let own = if names_requests { &REQUEST[..] } else { &[] }.iter().chain(&ANSWER);
    let own = own.map(|(name, holds)| Column::new(format!("{prefix}{name}"), *holds));
    let fields = schema.into_iter().flat_map(AnswerSchema::columns);
    let fields =
        fields.map(|field| Column { name: format!("{prefix}{}", field.name).into(), holds: field.holds });
    let mut columns: Vec<Column> = Vec::new();
    for column in own.chain(fields) {
        if taken(&column.name) {
            let message = format!("the table has a column {:?}, as answers have", column.name);
            return Err(
                CliError::unusable(message).with_hint("--prefix names the columns of answers otherwise")
            );
        }
        if columns.iter().any(|other| other.name == column.name) {
            let message = format!("the schema has a property {:?}, as answers have beside it", column.name);
            return Err(CliError::unusable(message).with_hint("call the property otherwise"));
        }
        columns.push(column);
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tabling() -> Tabling {
        let price = |text: &str| Some(text.parse::<Credits>().expect("credits"));
        let pricing = Pricing::of(price("1000"), price("2000")).expect("prices");
        Tabling { prices: HashMap::from([("m".to_owned(), pricing)]), schema: None, names_requests: true }
    }

    #[test]
    fn what_became_of_a_request_is_in_its_cells() {
        let record = json!({"id": "req_1", "status": "completed", "metadata": {"row": 1}, "request_body": {"model": "m"},
            "result_body": {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5}}});
        let cells = tabling().cells(record.to_string().as_bytes()).unwrap();
        let expected = json!(["req_1", "completed", {"row": 1}, "yes", "stop", 10, 5, 0.02, null]);
        assert_eq!(Value::from(cells), expected);
        let record = json!({"id": "req_2", "status": "failed", "metadata": null, "request_body": {"model": "m"},
            "result_body": {"error": {"code": "expired", "message": "too late"}}});
        let cells = tabling().cells(record.to_string().as_bytes()).unwrap();
        assert_eq!(
            Value::from(cells),
            json!(["req_2", "failed", null, null, null, null, null, null, "expired: too late"])
        );
    }

    #[test]
    fn names_that_a_table_has_are_refused_and_a_prefix_helps() {
        let taken = |name: &str| name == "answer";
        let error = columns("", None, false, taken).unwrap_err();
        assert!(
            error.message().contains("\"answer\"")
                && error.hint().is_some_and(|hint| hint.contains("--prefix"))
        );
        let columns = columns("ai_", None, false, taken).unwrap();
        assert_eq!((columns.len(), &*columns[0].name), (6, "ai_answer"));
    }
}
