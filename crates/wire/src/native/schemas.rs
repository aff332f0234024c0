//! Schemas that no Rust type gives: names of states, free objects, and unions.

use overnight_domain::batches::BatchStatus;
use overnight_domain::requests::RequestStatus;
use overnight_domain::webhooks::EventKind;
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOfBuilder, ArrayBuilder, ObjectBuilder, SchemaType, Type,
};
use utoipa::openapi::{Array, Object, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Named schemas, so that generated clients have one type for each. A name must differ from every shape's name followed by a field's,
/// because generators name anonymous schemas that way.
macro_rules! named {
    ($($name:ident: $schema:expr;)+) => {$(
        pub(super) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                Schema::from($schema).into()
            }
        }

        impl ToSchema for $name {}
    )+};
}

named! {
    RequestState: names(
        RequestStatus::ALL.map(RequestStatus::as_str),
        "`registered`: waiting for its turn. `in progress`: given to an engine. `completed`: ended with a result. \
         `failed`: ended with an error. `cancelled`: ended by the client. The last three never change again.",
    );
    BatchState: names(
        BatchStatus::ALL.map(BatchStatus::as_str),
        "`registered`: none of its requests has started. `in progress`: some have started or ended. `completed`: all \
         have ended. `cancelled`: ended by the client. The last two never change again.",
    );
}

pub(super) fn event_kind() -> Object {
    names(
        EventKind::ALL.map(EventKind::as_str),
        "What happened. More may be added: answer 2xx to what you do not know, and pass over it.",
    )
}

pub(super) fn limit() -> Schema {
    AnyOfBuilder::new()
        .item(ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)))
        .item(ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["none"])))
        .item(ObjectBuilder::new().schema_type(Type::Null))
        .description(Some(
            "A whole number above 0; `none` for no limit; null for that of the settings. Absent: it stays.",
        ))
        .build()
        .into()
}

pub(super) fn retention() -> Schema {
    AnyOfBuilder::new()
        .item(
            ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(86_400)).maximum(Some(315_360_000)),
        )
        .item(ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["none"])))
        .item(ObjectBuilder::new().schema_type(Type::Null))
        .description(Some(
            "Seconds, from a day to 3,650; `none` for ever; null for as long as the settings say.",
        ))
        .build()
        .into()
}

pub(super) fn role() -> Object {
    names(["system", "developer", "user", "assistant", "tool"], "Who speaks.")
}

pub(super) fn completion_window() -> Object {
    names(
        ["24h"],
        "The time the request may take, from the answer to Create Request on. There is one, which an absent one stands for.",
    )
}

fn names<const N: usize>(names: [&'static str; N], description: &str) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(names))
        .description(Some(description))
        .build()
}

pub(super) fn metadata_input() -> Object {
    object_or_null("Anything you want to read back: a JSON object of at most 16 KiB, or null. Absent: `{}`.")
}

pub(super) fn metadata() -> Object {
    object_or_null("The metadata it was created with: `{}` where none was sent, null where null was sent.")
}

pub(super) fn requests_ids() -> Array {
    let id = ObjectBuilder::new().schema_type(Type::String);
    let ids = ArrayBuilder::new().items(id).unique_items(true).min_items(Some(1)).max_items(Some(100_000));
    let description =
        "The requests to group, each your own and in no batch yet, in any state and without repetition.";
    ids.description(Some(description)).build()
}

/// Generators treat an object without this statement as one without members.
fn object_or_null(description: &str) -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Object, Type::Null]))
        .additional_properties(Some(AdditionalProperties::FreeForm(true)))
        .description(Some(description))
        .build()
}

/// The value of `object` in a shape, which distinguishes results.
macro_rules! objects {
    ($($name:ident: $object:literal;)+) => {$(
        pub(super) fn $name() -> Object {
            names([$object], concat!("Always `", $object, "`."))
        }
    )+};
}

objects! {
    chat_completion_object: "chat.completion";
    text_completion_object: "text_completion";
    list_object: "list";
    model_object: "model";
}

pub(super) fn content() -> Schema {
    let text = ObjectBuilder::new().schema_type(Type::String);
    let part = ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::FreeForm(true)));
    let parts = ArrayBuilder::new().items(part).min_items(Some(1));
    let nothing = ObjectBuilder::new().schema_type(Type::Null);
    AnyOfBuilder::new()
        .item(text)
        .item(parts)
        .item(nothing)
        .description(Some(
            "What is said: a string, or a list of OpenAI's content parts, whose media are `data:` URLs. Null or absent \
             on an `assistant` message with `tool_calls`.",
        ))
        .build()
        .into()
}

pub(super) fn inputs() -> Schema {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let tokens = || ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::Integer));
    AnyOfBuilder::new()
        .item(text())
        .item(ArrayBuilder::new().items(text()))
        .item(tokens())
        .item(ArrayBuilder::new().items(tokens()))
        .description(Some(
            "A string, an array of strings, an array of tokens, or an array of arrays of tokens.",
        ))
        .build()
        .into()
}

pub(super) fn vector() -> Schema {
    AnyOfBuilder::new()
        .item(ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::Number)))
        .item(ObjectBuilder::new().schema_type(Type::String))
        .description(Some(
            "Its numbers; or their bytes (little-endian, 4 each) in base64 where the request's `encoding_format` is `base64`.",
        ))
        .build()
        .into()
}
