//! The model of an engine that holds one at a time: llama-server in router mode with `--models-max 1`, and llama-swap. A request for
//! another model waits until running requests have ended and the other model is loaded.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio::sync::{Mutex as AsyncMutex, watch};

use super::lock;
use crate::time;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loads {
    pub loaded: Vec<String>,
    /// Requests that arrived while requests of another model ran or waited.
    pub mixed: u64,
}

#[derive(Debug, Default)]
pub(super) struct Holder {
    /// Held by the first request that waits. A fair lock, so that requests enter in order of arrival.
    turn: AsyncMutex<()>,
    held: Mutex<Option<String>>,
    running: watch::Sender<usize>,
    present: Mutex<BTreeMap<String, usize>>,
    loads: Mutex<Loads>,
}

impl Holder {
    pub(super) fn loads(&self) -> Loads {
        lock(&self.loads).clone()
    }

    pub(super) fn holds(&self, model: &str) -> bool {
        lock(&self.held).as_deref() == Some(model)
    }

    pub(super) fn reset(&self) {
        *lock(&self.held) = None;
    }

    /// Waits until the model is loaded; it stays loaded during the visit.
    pub(super) async fn enter<'a>(&'a self, model: &'a str, load_ms: u64) -> Visit<'a> {
        let mut visit = Visit::begin(self, model);
        let _turn = self.turn.lock().await;
        if !self.holds(model) {
            // The channel lives as long as this sender.
            let _ = self.running.subscribe().wait_for(|running| *running == 0).await;
            *lock(&self.held) = None;
            time::sleep_ms(load_ms).await;
            *lock(&self.held) = Some(model.to_owned());
            lock(&self.loads).loaded.push(model.to_owned());
        }
        visit.is_running = true;
        self.running.send_modify(|running| *running += 1);
        visit
    }
}

/// A request that waits for its model or runs.
#[derive(Debug)]
pub(super) struct Visit<'a> {
    holder: &'a Holder,
    model: &'a str,
    is_running: bool,
}

impl<'a> Visit<'a> {
    fn begin(holder: &'a Holder, model: &'a str) -> Self {
        let mut present = lock(&holder.present);
        let is_mixed = present.iter().any(|(other, count)| other != model && *count > 0);
        *present.entry(model.to_owned()).or_default() += 1;
        lock(&holder.loads).mixed += u64::from(is_mixed);
        Self { holder, model, is_running: false }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        if let Some(count) = lock(&self.holder.present).get_mut(self.model) {
            *count -= 1;
        }
        if self.is_running {
            self.holder.running.send_modify(|running| *running -= 1);
        }
    }
}
