//! Asks engines for their load, concurrently with scheduling, which never waits for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use overnight_base::tasks;
use overnight_domain::scheduler::{Replica, ReplicaKey, SchedulerInput};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot::{self, error::TryRecvError};

use super::replicas::Replicas;

/// The shortest interval for one replica.
const EVERY_MS: i64 = 900;
/// After a missing answer, perhaps of a busy replica.
const MISSED_MS: i64 = 3_000;
/// For a replica that never reported a load.
const SILENT_MS: i64 = 60_000;
/// A replica without work may be starting: so many times the pause is the shorter one.
const IDLE_ASKS_MAX: u32 = 20;

/// When each replica is asked next, and the pending answers.
#[derive(Default)]
pub(super) struct Loads {
    asked: BTreeMap<ReplicaKey, Asked>,
}

struct Asked {
    at: i64,
    answer: Option<oneshot::Receiver<bool>>,
    is_missed: bool,
    has_told: bool,
    /// How often it was asked without a report, while it had no work.
    idle_asks: u32,
    was_idle: bool,
}

impl Loads {
    pub(super) fn has_told(&self, replica: ReplicaKey) -> bool {
        self.asked.get(&replica).is_some_and(|asked| asked.has_told)
    }

    pub(super) fn forget(&mut self, replica: ReplicaKey) {
        self.asked.remove(&replica);
    }

    /// Asks a replica if it is due.
    pub(super) fn ask(
        &mut self,
        replica: &Replica,
        is_idle: bool,
        replicas: &Arc<Replicas>,
        answers: &UnboundedSender<SchedulerInput>,
        now: i64,
    ) {
        let key = replica.key;
        let asked = self.asked.entry(key).or_insert(Asked {
            at: i64::MIN,
            answer: None,
            is_missed: false,
            has_told: false,
            idle_asks: 0,
            was_idle: false,
        });
        match asked.answer.as_mut().map(oneshot::Receiver::try_recv) {
            Some(Err(TryRecvError::Empty)) => return,
            Some(told) => {
                let was_missed = std::mem::replace(&mut asked.is_missed, told != Ok(true));
                if asked.is_missed && !was_missed && replica.colocated_percent.is_some() {
                    let replica = replicas.name(key);
                    tracing::warn!(
                        replica,
                        "co-located engine tells no load at /metrics; nothing is sent to it until it does"
                    );
                }
                asked.has_told |= !asked.is_missed;
            }
            None => {}
        }
        asked.answer = None;
        let pause_ms = match (asked.is_missed, asked.has_told) {
            (false, _) => EVERY_MS,
            (true, true) => MISSED_MS,
            (true, false) if asked.was_idle && asked.idle_asks < IDLE_ASKS_MAX => MISSED_MS,
            (true, false) => SILENT_MS,
        };
        // The clock may have been set back.
        if (0..pause_ms).contains(&now.saturating_sub(asked.at)) {
            return;
        }
        asked.at = now;
        asked.was_idle = is_idle;
        asked.idle_asks += u32::from(is_idle && !asked.has_told);
        let (tell, answer) = oneshot::channel();
        asked.answer = Some(answer);
        let (replicas, answers) = (Arc::clone(replicas), answers.clone());
        tasks::spawn(async move {
            let load = replicas.load(key).await;
            let _ = tell.send(load.is_some());
            if let Some(load) = load {
                let _ = answers.send(SchedulerInput::Load { replica: key, load });
            }
        });
    }
}
