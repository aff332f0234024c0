//! What can be called with the identifier that a creation answers.

use utoipa::openapi::link::LinkBuilder;
use utoipa::openapi::{OpenApi as Document, RefOr};

/// A path whose POST creates something, and where its answer has the identifier of that.
struct Creation {
    path: &'static str,
    id: &'static str,
    /// As which parameter it is sent on, and to which operations.
    parameter: &'static str,
    operations: &'static [&'static str],
    /// The operation whose body takes it, and as what.
    body: Option<(&'static str, &'static str)>,
}

const CREATIONS: [Creation; 2] = [
    Creation {
        path: "/v1/requests",
        id: "$response.body#/0/id",
        parameter: "request_id",
        operations: &["get_request", "get_request_status", "cancel_request", "delete_request"],
        body: Some(("create_batch", "requests_ids")),
    },
    Creation {
        path: "/v1/batches",
        id: "$response.body#/id",
        parameter: "batch_id",
        operations: &[
            "get_batch",
            "get_batch_status",
            "get_batch_requests",
            "get_batch_results",
            "cancel_batch",
            "delete_batch",
        ],
        body: None,
    },
];

/// Adds them to the reference.
pub(super) fn add(document: &mut Document) {
    for Creation { path, id, parameter, operations, body } in CREATIONS {
        let created = document
            .paths
            .paths
            .get_mut(path)
            .and_then(|item| item.post.as_mut())
            .and_then(|post| post.responses.responses.get_mut("201"));
        let Some(RefOr::T(created)) = created else { continue };
        for operation in operations {
            let link = LinkBuilder::new().operation_id(*operation).parameter(parameter, id).build();
            created.links.insert((*operation).to_owned(), RefOr::T(link));
        }
        if let Some((operation, member)) = body {
            let body = serde_json::json!({member: [format!("{{{id}}}")]});
            let link = LinkBuilder::new().operation_id(operation).request_body(Some(body)).build();
            created.links.insert(operation.to_owned(), RefOr::T(link));
        }
    }
}
