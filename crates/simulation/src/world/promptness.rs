//! After every jump of the clock, in either direction, new requests must be released and sent within seconds.

use overnight_app::requests;
use overnight_domain::requests::{RequestState, RequestStatus};

use super::World;
use crate::broken::{Step, ensure};
use crate::engines::Weather;
use crate::events::{Client, Event};
use crate::plan::MODELS;
use crate::tags::Tag;

/// A client sends a request at most this long after a jump.
const SENT_MS_MAX: i64 = 10_000;
/// A request leaves gathering within this time after it is ready, and is sent if an engine is free.
const WITHIN_MS: i64 = 5_000;
/// The model without a price, so that every account can pay.
const MODEL: usize = MODELS.len() - 1;

impl World<'_> {
    /// The clock was just set: a client sends a request, which is checked seconds after it is ready.
    pub(super) fn plan_promptness(&mut self) {
        let account = *self.chance.pick(&self.accounts);
        let request = self.draw_request(account, MODEL);
        let sent_ms = self.chance.between(0, SENT_MS_MAX);
        self.timeline.after(sent_ms, Event::Client(Client::Create(request)));
        let looked_ms = sent_ms + self.plan.aggregation_ms + WITHIN_MS;
        self.timeline.after(looked_ms, Event::Prompt { request, life: self.lives });
    }

    /// If the process ended meanwhile, the request is lost or its time begins anew.
    pub(super) async fn check_promptness(&mut self, request: Tag, life: u64) -> Step {
        if self.life.is_none() || self.lives != life {
            return Ok(());
        }
        let facts = self.oracle.request(request)?;
        let (Some(id), account) = (facts.id, facts.account) else { return Ok(()) };
        let services = self.life()?.services.clone();
        let state = requests::get_record(&services, account, id).await?.summary.state;
        let is_gathering = matches!(state, RequestState::Gathering { .. });
        ensure!(!is_gathering, "the clock was set, and request {request} is not released: {state:?}");
        self.summary.prompt += 1;
        if self.has_free_engine()? {
            let waits = state.status() == RequestStatus::Registered;
            ensure!(
                !waits,
                "the clock was set, and request {request} is not sent to a free engine: {state:?}"
            );
            self.summary.prompt_sent += 1;
        }
        Ok(())
    }

    /// Whether every engine is healthy and idle, according to the scheduler.
    fn has_free_engine(&mut self) -> Step<bool> {
        let engines = self.engines.keys();
        let are_fair = engines.iter().all(|key| matches!(self.engines.weather(*key), Weather::Fair));
        let now = self.timeline.now();
        let life = self.life()?;
        let models = life.models();
        let is_free = |key| {
            !life.scheduler.is_paused(key)
                && life.scheduler.in_flight(key) == 0
                && models.iter().all(|model| life.scheduler.busy(key, *model, now).is_none())
        };
        Ok(are_fair && engines.into_iter().all(is_free))
    }
}
