//! The lines of List Requests, as the reference shows them.

use overnight_wire::native::requests::{FullRequest, RequestSummary};
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// How a request stands, or the whole of it; a whole one is also one that says how it stands.
pub(super) struct RequestLine;

impl PartialSchema for RequestLine {
    fn schema() -> RefOr<Schema> {
        let description =
            "A line of List Requests: how the request stands, or with `full=true` the whole request.";
        let schema = AnyOfBuilder::new()
            .item(Ref::from_schema_name(RequestSummary::name()))
            .item(Ref::from_schema_name(FullRequest::name()))
            .description(Some(description));
        RefOr::T(schema.build().into())
    }
}

impl ToSchema for RequestLine {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((RequestSummary::name().into_owned(), RequestSummary::schema()));
        schemas.push((FullRequest::name().into_owned(), FullRequest::schema()));
        RequestSummary::schemas(schemas);
        FullRequest::schemas(schemas);
    }
}
