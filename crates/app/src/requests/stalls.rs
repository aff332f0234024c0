//! Stalled work: an account's requests whose obstacle does not resolve by itself.

use overnight_domain::ids::BatchId;
use overnight_domain::scheduler::AccountKey;

use super::waiting::{self, WaitingReason};
use crate::engines::{self, Why};
use crate::errors::AppError;
use crate::{Services, forecasts};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Members of an account may see neither engines' names nor their words.
    Members,
    Operators,
}

/// A model whose requests are sent to no engine because of a fault or a missing part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stall {
    pub model: String,
    pub reason: WaitingReason,
    /// The paused engines, each with the reason, for operators.
    pub engines: Vec<(String, String)>,
}

/// The stalled models of an account's waiting requests.
pub async fn of_account(
    services: &Services,
    account: AccountKey,
    audience: Audience,
) -> Result<Vec<Stall>, AppError> {
    let mut stalls = Vec::new();
    let models = services.models();
    for model in models.iter() {
        if let Some(stall) = of_model(services, &model.config.name, audience).await?
            && forecasts::has_work(services, account, model).await?
        {
            stalls.push(stall);
        }
    }
    Ok(stalls)
}

/// The stalled models of an unfinished batch.
pub async fn of_batch(
    services: &Services,
    account: AccountKey,
    batch: BatchId,
    audience: Audience,
) -> Result<Vec<Stall>, AppError> {
    let (mut stalls, models) = (Vec::new(), services.models());
    let found = forecasts::models_of_batch(services, account, batch).await?;
    for model in models.iter().filter(|model| model.keys().any(|key| found.contains(&key))) {
        stalls.extend(of_model(services, &model.config.name, audience).await?);
    }
    Ok(stalls)
}

/// The stall of one model, whether or not requests wait for it.
pub async fn of_model(
    services: &Services,
    model: &str,
    audience: Audience,
) -> Result<Option<Stall>, AppError> {
    let Some(reason) = waiting::of_model(services, model).await?.filter(WaitingReason::is_fault) else {
        return Ok(None);
    };
    let mut engines = Vec::new();
    if audience == Audience::Operators {
        for report in engines::recent(services).await?.iter().filter(|it| it.engine.serves(model)) {
            if let Some(Why::Paused(words)) = report.engine.out_for(model).map(|out| out.why) {
                engines.push((report.engine.name.clone(), words.to_owned()));
            }
        }
        engines.dedup();
    }
    Ok(Some(Stall { model: model.to_owned(), reason, engines }))
}
