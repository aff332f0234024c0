//! Models, as Anthropic lists them.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use overnight_wire::anthropic::lists::write_page;
use overnight_wire::anthropic::models::write_model;

use crate::app::errors::AppError;
use crate::http::answers;
use crate::http::context::Shared;
use crate::http::errors::Answer;
use crate::http::queries::EdgeQuery;

/// List models.
pub(super) async fn list(State(context): State<Shared>, RawQuery(query): RawQuery) -> Answer {
    let query = EdgeQuery::read(query.as_deref().unwrap_or_default())?;
    let names: Vec<String> =
        context.services.models().iter().map(|model| model.config.name.clone()).collect();
    let place_of = |id: &str| names.iter().position(|name| name == id).ok_or(AppError::NotFound("model"));
    let (page, has_more) = match (&query.before, &query.after) {
        (Some(before), _) => {
            let ahead = &names[..place_of(before)?];
            let from = ahead.len().saturating_sub(query.limit);
            (&ahead[from..], from > 0)
        }
        (None, after) => {
            let from = after.as_deref().map(place_of).transpose()?.map_or(0, |place| place + 1);
            let to = names.len().min(from + query.limit);
            (&names[from..to], to < names.len())
        }
    };
    let started_at = context.services.started_at;
    Ok(answers::ok(|out| {
        write_page(page, has_more, out, |place, out| write_model(&page[place], started_at, out));
    }))
}

/// Retrieve a model. Its name may have slashes.
pub(super) async fn get(State(context): State<Shared>, name: Result<Path<String>, PathRejection>) -> Answer {
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let models = context.services.models();
    let model = models.find(&name).ok_or(AppError::NotFound("model"))?;
    Ok(answers::ok(|out| write_model(&model.config.name, context.services.started_at, out)))
}
