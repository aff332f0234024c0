//! The worker that fills batches from their files: one task for each account that has any.

use overnight_app::errors::AppError;
use overnight_app::file_batches::{self, FillPause};
use overnight_domain::scheduler::AccountKey;

use super::World;
use crate::broken::{Step, ensure};
use crate::events::{Duty, Event};
use crate::outcomes::Outcome;

const MINUTE_MS: i64 = 60_000;
/// The service looks each second, and when notified.
const LOOK_MS: i64 = 1_000;
/// The service asks an account that cannot pay again after two seconds. Here it may be half an hour, to shorten runs.
const WAIT_MS_MAX: i64 = 30 * MINUTE_MS;

impl World<'_> {
    pub(super) fn plan_filler(&mut self, ms: i64) {
        let due_at = self.timeline.elapsed() + ms;
        let Some(life) = &mut self.life else { return };
        if let Some(slot) = life.filler.take_if(|(at, _)| *at > due_at) {
            self.timeline.cancel(slot);
        }
        if life.filler.is_none() {
            life.filler = Some(self.timeline.after(ms, Event::Duty(Duty::Filler)));
        }
    }

    /// Fills the batches of every account that has any, in a task of its own unless one runs.
    pub(super) async fn fill(&mut self) -> Step {
        let life = self.life()?;
        life.filler = None;
        let services = life.services.clone();
        for account in file_batches::list_filling(&services).await? {
            if !self.life()?.filling.insert(account) {
                continue;
            }
            let services = services.clone();
            let operation = async move {
                let answer = file_batches::fill_account(&services, account).await;
                Outcome::Filled { account, answer }
            };
            self.begin(true, Box::pin(operation)).await?;
        }
        Ok(())
    }

    pub(super) async fn note_filled(
        &mut self,
        account: AccountKey,
        answer: Result<FillPause, AppError>,
    ) -> Step {
        let services = self.life()?.services.clone();
        self.life()?.filling.remove(&account);
        self.unpaid.remove(&account);
        let rest_ms = match answer? {
            FillPause::Waits(ms) => {
                self.summary.fills_unpaid += 1;
                self.unpaid.insert(account);
                Some(ms)
            }
            // If the clock was set back, the batch belongs to its last filler until then.
            FillPause::Idle => {
                file_batches::list_filling(&services).await?.contains(&account).then_some(LOOK_MS)
            }
        };
        if let Some(rest_ms) = rest_ms {
            let rest_ms = self.chance.between(rest_ms, WAIT_MS_MAX);
            self.plan_filler(rest_ms);
        }
        Ok(())
    }

    /// At the end every line is a request, except lines that cannot be paid.
    pub(super) async fn check_filled(&mut self) -> Step {
        let services = self.life()?.services.clone();
        let filling = file_batches::list_filling(&services).await?;
        let left = filling.iter().find(|account| !self.unpaid.contains(account));
        ensure!(left.is_none(), "a batch of {left:?} is not filled at the end");
        Ok(())
    }
}
