//! What can be called with the identifier that a creation answers.

use utoipa::openapi::link::LinkBuilder;
use utoipa::openapi::{OpenApi as Document, RefOr};

/// A path, where the answer to its POST has the identifier, as which parameter it is sent on, and to which operations.
type Links = (&'static str, &'static str, &'static str, [&'static str; 4]);

const LINKS: [Links; 2] = [
    (
        "/v1/requests",
        "$response.body#/0/id",
        "request_id",
        ["get_request", "get_request_status", "cancel_request", "delete_request"],
    ),
    (
        "/v1/batches",
        "$response.body#/id",
        "batch_id",
        ["get_batch_status", "get_batch_results", "cancel_batch", "delete_batch"],
    ),
];

/// Adds them to the reference.
pub(super) fn add(document: &mut Document) {
    for (path, id, parameter, operations) in LINKS {
        let created = document
            .paths
            .paths
            .get_mut(path)
            .and_then(|item| item.post.as_mut())
            .and_then(|post| post.responses.responses.get_mut("201"));
        let Some(RefOr::T(created)) = created else { continue };
        for operation in operations {
            let link = LinkBuilder::new().operation_id(operation).parameter(parameter, id).build();
            created.links.insert(operation.to_owned(), RefOr::T(link));
        }
    }
}
