use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use overnight_app::Model;
use overnight_app::errors::AppError;
use overnight_config::RetiresAt;
use overnight_wire::anthropic::lists::write_page;
use overnight_wire::anthropic::models::write_model;

use crate::answers;
use crate::context::Shared;
use crate::errors::Answer;
use crate::queries::EdgeQuery;

pub(super) async fn list(State(context): State<Shared>, RawQuery(query): RawQuery) -> Answer {
    let query = EdgeQuery::read(query.as_deref().unwrap_or_default())?;
    let (models, now) = (context.services.models(), context.services.clock.now());
    let offered: Vec<&Model> = models.offered(now).map(|model| &**model).collect();
    let names: Vec<String> = offered.iter().map(|model| model.config.name.clone()).collect();
    let place_of = |id: &str| names.iter().position(|name| name == id).ok_or(AppError::NotFound("model"));
    let (from, to) = match (&query.before, &query.after) {
        (Some(before), _) => {
            let to = place_of(before)?;
            (to.saturating_sub(query.limit), to)
        }
        (None, after) => {
            let from = after.as_deref().map(place_of).transpose()?.map_or(0, |place| place + 1);
            (from, names.len().min(from + query.limit))
        }
    };
    let has_more = if query.before.is_some() { from > 0 } else { to < names.len() };
    let started_at = context.services.started_at;
    Ok(answers::ok(|out| {
        write_page(&names[from..to], has_more, out, |place, out| {
            write(offered[from + place], started_at, out);
        });
    }))
}

/// Its name or alias may contain slashes.
pub(super) async fn get(State(context): State<Shared>, name: Result<Path<String>, PathRejection>) -> Answer {
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let models = context.services.models();
    let model = models.find(&name).filter(|model| model.config.is_offered(context.services.clock.now()));
    let model = model.ok_or(AppError::NotFound("model"))?;
    Ok(answers::ok(|out| write(model, context.services.started_at, out)))
}

fn write(model: &Model, started_at: i64, out: &mut Vec<u8>) {
    let retires_at = model.config.retires_at.map(|RetiresAt(at)| at);
    write_model(&model.config.name, started_at, retires_at, out);
}
