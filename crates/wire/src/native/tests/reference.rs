//! The schemas of the reference.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::native::batches::{BatchCreated, BatchSummary, CreateBatch, FullBatch};
use crate::native::chat::ChatCompletionRequest;
use crate::native::completions::{CompletionRequest, TextCompletion};
use crate::native::embeddings::{EmbeddingList, EmbeddingRequest};
use crate::native::errors::ErrorEnvelope;
use crate::native::events::Event;
use crate::native::models::{Model, ModelList};
use crate::native::requests::{CreateRequest, FullRequest, RequestCreated, RequestFilter, RequestSummary};
use crate::native::results::FailedResult;
use crate::native::waiting::WaitingFor;
use crate::native::warnings::Warning;

fn add<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}

fn schemas() -> Value {
    let mut schemas = Vec::new();
    add::<CreateRequest>(&mut schemas);
    add::<RequestCreated>(&mut schemas);
    add::<RequestSummary>(&mut schemas);
    add::<FullRequest>(&mut schemas);
    add::<CreateBatch>(&mut schemas);
    add::<BatchCreated>(&mut schemas);
    add::<BatchSummary>(&mut schemas);
    add::<FullBatch>(&mut schemas);
    add::<ModelList>(&mut schemas);
    add::<ErrorEnvelope>(&mut schemas);
    add::<Event>(&mut schemas);
    schemas.into_iter().map(|(name, schema)| (name, json!(schema))).collect::<Map<_, _>>().into()
}

#[test]
fn every_schema_that_one_refers_to_is_there() {
    let text = schemas().to_string();
    let names: Vec<_> =
        text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() > 10);
    for name in names {
        assert!(schemas().get(name).is_some(), "{name} is missing");
    }
}

#[test]
fn what_is_absent_until_set_is_never_null_and_what_may_be_null_is_always_there() {
    let schemas = schemas();
    let check = |record: &str, absent: &[&str]| {
        let record = &schemas[record];
        let required: Vec<_> = record["required"].as_array().expect("a list").iter().collect();
        for (key, schema) in record["properties"].as_object().expect("an object") {
            let nullable = schema["type"].as_array().is_some_and(|types| types.contains(&json!("null")));
            assert_eq!(required.contains(&&json!(key)), !absent.contains(&key.as_str()), "{key}");
            assert!(!nullable || !absent.contains(&key.as_str()), "{key}");
        }
    };
    check("RequestStatus", &["in_progress_at", "ended_at", "waiting_for", "estimated_completion_at"]);
    check(
        "Request",
        &[
            "in_progress_at",
            "ended_at",
            "result_body",
            "warnings",
            "attempts",
            "waiting_for",
            "estimated_completion_at",
        ],
    );
    check("WaitingFor", &["until", "others", "running_model"]);
    check("BatchStatus", &["in_progress_at", "completed_at", "estimated_completion_at"]);
    check("Batch", &["in_progress_at", "completed_at", "estimated_completion_at", "requests_ids"]);
}

#[test]
fn only_what_is_listed_may_be_sent_beside_the_body() {
    for input in ["CreateRequest", "CreateBatch"] {
        assert_eq!(schemas()[input]["additionalProperties"], json!(false));
    }
    assert_ne!(schemas()["ChatCompletionRequest"]["additionalProperties"], json!(false));
    assert_eq!(schemas()["CreateRequest"]["properties"]["completion_window"]["enum"], json!(["24h"]));
    assert_eq!(schemas()["CreateRequest"]["required"], json!(["request_body"]));
}

#[test]
fn every_filter_is_an_optional_query_parameter() {
    let parameters = serde_json::to_value(RequestFilter::into_params(|| None)).expect("parameters are JSON");
    let parameters = parameters.as_array().expect("a list");
    let names: Vec<_> = parameters.iter().map(|parameter| parameter["name"].as_str().unwrap_or("")).collect();
    assert_eq!(names, ["status", "model", "created_after", "created_before", "limit", "after", "order"]);
    for parameter in parameters {
        assert_eq!((&parameter["in"], &parameter["required"]), (&json!("query"), &json!(false)));
    }
}

fn example<T: PartialSchema + DeserializeOwned>() {
    let schema = serde_json::to_value(T::schema()).expect("a schema is JSON");
    // Raw JSON can only be read from text.
    let example = schema["example"].to_string();
    serde_json::from_str::<T>(&example).expect("the example is one of its own type");
}

#[test]
fn every_example_is_one_of_its_type() {
    example::<CreateRequest>();
    example::<FullRequest>();
    example::<CreateBatch>();
    example::<FullBatch>();
    example::<RequestCreated>();
    example::<RequestSummary>();
    example::<BatchCreated>();
    example::<BatchSummary>();
    example::<ChatCompletionRequest>();
    example::<CompletionRequest>();
    example::<TextCompletion>();
    example::<EmbeddingRequest>();
    example::<EmbeddingList>();
    example::<ErrorEnvelope>();
    example::<Event>();
    example::<FailedResult>();
    example::<Model>();
    example::<WaitingFor>();
    example::<Warning>();
}
