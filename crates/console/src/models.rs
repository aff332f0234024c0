//! The models of an account, and a form to try one.

use crate::pages::{ModelRow, ModelsPage, PlaygroundPage, Section};
use overnight_app::errors::AppError;
use overnight_app::requests::waiting;
use overnight_app::{Services, requests};
use overnight_config::RetiresAt;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::roles::Permission;
use serde_json::json;

use super::forms::Form;
use super::replies::{self, PageError, PageResult};
use super::visitors::MemberVisit;

/// The form's default output limit, in tokens.
const MAX_TOKENS: &str = "256";

/// In the order of the settings.
pub(super) async fn model_rows(services: &Services) -> Result<Vec<ModelRow>, AppError> {
    let mut rows = Vec::new();
    for model in services.models().iter() {
        rows.push(ModelRow {
            name: model.config.name.clone(),
            aliases: model.config.aliases.join(", "),
            retires_at: model.config.retires_at.map(|RetiresAt(at)| at),
            is_retired: !model.config.is_offered(services.clock.now()),
            replaced_by: model.config.replaced_by.clone(),
            price: model.price.map(|(_, price)| price),
            default_max_tokens: model.config.default_max_tokens,
            trouble: waiting::of_model(services, &model.config.name).await?,
        });
    }
    Ok(rows)
}

/// `GET /console/{account}/models`.
pub(super) async fn page(visit: MemberVisit) -> PageResult {
    let services = visit.services();
    let mut layout = visit.layout(Section::Models).await?;
    layout.is_live = true;
    let page = ModelsPage {
        layout,
        models: model_rows(services).await?,
        batch_requests: services.config().limits.batch_requests,
        request_bytes: services.config().limits.request_body_bytes,
        url: services.config().public_address("/v1"),
    };
    replies::page(&page)
}

/// `GET /console/{account}/playground`.
pub(super) async fn playground(visit: MemberVisit) -> PageResult {
    show(&visit, None, None).await
}

/// `POST /console/{account}/playground`: sends one request, and leads to its page.
pub(super) async fn send(visit: MemberVisit, form: Form) -> PageResult {
    visit.require(Permission::Work)?;
    let body = match body_of(&form) {
        Ok(body) => body,
        Err(refused) => return show(&visit, Some(&form), Some(refused.to_owned())).await,
    };
    let (services, account) = (visit.services(), visit.account.key);
    let key = form.key("playground");
    match requests::send_one(services, account, Endpoint::ChatCompletions, body.into(), key).await {
        Ok(id) => replies::see_other(&visit.at(&format!("requests/{id}?flash=request_sent"))),
        Err(error) => show(&visit, Some(&form), Some(replies::mendable(error)?)).await,
    }
}

/// The form as a Create Request body, or the reason why there is none.
fn body_of(form: &Form) -> Result<String, &'static str> {
    let mut messages = Vec::new();
    if let Some(system) = form.filled("system") {
        messages.push(json!({"role": "system", "content": system}));
    }
    let prompt = form.filled("prompt").ok_or("The prompt is empty.")?;
    messages.push(json!({"role": "user", "content": prompt}));
    let mut body = json!({"model": form.get("model"), "messages": messages});
    if let Some(text) = form.filled("max_tokens") {
        let tokens: u32 = text.parse().map_err(|_| "The output limit must be a whole number of tokens.")?;
        body["max_tokens"] = tokens.into();
    }
    if let Some(text) = form.filled("temperature") {
        let temperature: f64 = text.parse().map_err(|_| "The temperature must be a number like 0.7.")?;
        body["temperature"] = temperature.into();
    }
    Ok(json!({"request_body": body}).to_string())
}

async fn show(
    visit: &MemberVisit,
    form: Option<&Form>,
    refused: Option<String>,
) -> Result<axum::response::Response, PageError> {
    let services = visit.services();
    let mut layout = visit.layout(Section::Playground).await?;
    layout.refused = refused;
    let mut models = model_rows(services).await?;
    models.retain(|model| !model.is_retired);
    let filled = |name: &str, begun: &'static str| form.map_or(begun, |form| form.raw(name)).to_owned();
    let page = PlaygroundPage {
        layout,
        may_work: visit.role.may(Permission::Work),
        models,
        model: &filled("model", ""),
        system: &filled("system", ""),
        prompt: &filled("prompt", ""),
        max_tokens: &filled("max_tokens", MAX_TOKENS),
        temperature: &filled("temperature", ""),
        url: services.config().public_address("/v1"),
    };
    replies::page(&page)
}
