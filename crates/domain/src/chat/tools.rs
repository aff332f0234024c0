//! Tools and forms of output that cost more than tokens. Only the client's tools are passed on. A provider bills its own
//! tools by other units, and runs them in its network.

use crate::bodies::{self, Path, Review};
use crate::faults::{Quoted, codes};
use crate::json::{Json, RawObject};

/// The types of tools that the client runs. A member of the same name describes the tool.
const TYPES: [&str; 2] = ["function", "custom"];

const READ: [&str; 4] = ["type", "name", "function", "custom"];

pub(super) fn check_tools(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) {
    let Some(value) = body.get_some("tools") else { return };
    let path = path.member("tools");
    let Some(tools) = value.elements() else {
        return review.fault(&path, codes::WRONG_TYPE, "must be an array of tools");
    };
    for (index, tool) in tools.enumerate() {
        check_tool(review, tool, &path.element(index));
    }
}

fn check_tool(review: &mut Review<'_>, tool: Json<'_>, path: &Path<'_>) {
    let Some(tool) = review.object(tool, path) else { return };
    review.check_spelling(&tool, path, &READ);
    if let Some(value) = review.required(&tool, path, "type") {
        check_type(review, value, &path.member("type"));
    }
    check_name(review, &tool, path);
    for kind in TYPES {
        let Some(value) = tool.get_some(kind) else { continue };
        let path = path.member(kind);
        if let Some(described) = review.object(value, &path) {
            review.check_spelling(&described, &path, &READ);
            check_name(review, &described, &path);
        }
    }
}

fn check_type(review: &mut Review<'_>, value: Json<'_>, path: &Path<'_>) {
    if !review.expect_string(value, path) {
        return;
    }
    let kind = value.decode_string().unwrap_or_default();
    if !TYPES.contains(&kind.as_ref()) {
        let message = format_args!(
            "must be {}, not '{}': the client runs its tools itself",
            TYPES.join(" or "),
            Quoted(&kind)
        );
        review.fault(path, codes::NOT_ALLOWED, message);
    }
}

/// Refuses the names of Moonshot's tools, such as `$web_search`.
fn check_name(review: &mut Review<'_>, object: &RawObject<'_>, path: &Path<'_>) {
    let name = object.get_some("name").and_then(Json::decode_string);
    if name.is_some_and(|name| name.trim_start().starts_with('$')) {
        let message = "must not begin with $: some engines run tools of such names themselves";
        review.fault(&path.member("name"), codes::NOT_ALLOWED, message);
    }
}

/// Refuses every form of output but text, unless the operator allows it.
pub(super) fn check_modalities(review: &mut Review<'_>, body: &RawObject<'_>, path: &Path<'_>) {
    let Some(value) = body.get_some("modalities") else { return };
    let is_text = value.elements().is_some_and(|mut forms| forms.all(|form| form.as_str() == "\"text\""));
    if !is_text {
        bodies::check_allowed(review, path, "modalities");
    }
}
