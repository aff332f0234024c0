//! The clients: bursts of requests, batches over them, cancels; and the crashes that hit while they are busy.

use overnight_domain::scheduler::AccountKey;
use overnight_server::app::idempotency::Answered;
use overnight_server::app::{batches, requests};
use overnight_server::store::CrashPoint;

use super::World;
use crate::broken::Step;
use crate::engines::Nature;
use crate::events::{Client, Event};
use crate::oracle::{BatchFacts, RequestFacts};
use crate::outcomes::Outcome;
use crate::plan::MODELS;
use crate::tags::Tag;
use crate::texts;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// The least and the most time between two bursts.
const BURST_EVERY_MS: (i64, i64) = (20 * MINUTE_MS, 180 * MINUTE_MS);
const LARGE_BURST: i64 = 1_050;

impl World<'_> {
    /// Draws what clients do, and what befalls the process meanwhile.
    pub(super) fn plan_bursts(&mut self) {
        let end_at = self.plan.hours * HOUR_MS;
        let mut at = self.chance.between(0, MINUTE_MS);
        let mut has_large_burst = !self.plan.has_large_burst;
        while at < end_at {
            let size = match self.chance.between(0, 9) {
                _ if !has_large_burst => LARGE_BURST,
                0..=4 => self.chance.between(1, 6),
                5..=8 => self.chance.between(5, 25),
                _ => self.chance.between(25, 60),
            };
            has_large_burst = true;
            self.plan_burst(at, size);
            self.plan_accident(at);
            if self.chance.strikes(80) {
                let point = *self.chance.pick(&[CrashPoint::AfterCommit, CrashPoint::BeforeCommit]);
                self.timeline.after(at, Event::Crash(Some(point)));
            }
            at += self.chance.between(BURST_EVERY_MS.0, BURST_EVERY_MS.1);
        }
        for _ in 0..self.chance.between(3, 6) {
            let at = self.chance.between(0, end_at);
            self.timeline.after(at, Event::Verify);
        }
    }

    fn plan_burst(&mut self, at: i64, size: i64) {
        let is_large = size == LARGE_BURST;
        let spread_ms = *self.chance.pick(&[0, 200, 5_000, 2 * MINUTE_MS]);
        let account = *self.chance.pick(&self.accounts);
        let mut sent = Vec::new();
        for _ in 0..size {
            let account = if is_large || self.chance.strikes(700) {
                account
            } else {
                *self.chance.pick(&self.accounts)
            };
            let tag = self.draw_request(account);
            sent.push((tag, account));
            let delay_ms = self.chance.between(0, if is_large { 2_000 } else { spread_ms });
            self.timeline.after(at + delay_ms, Event::Client(Client::Create(tag)));
            if self.chance.strikes(80) {
                let delay_ms = delay_ms + self.chance.between(0, 15_000);
                self.timeline.after(at + delay_ms, Event::Client(Client::Cancel(tag)));
            }
        }
        let count = if is_large { 1 } else { self.chance.between(0, 2) };
        for _ in 0..count {
            let delay_ms = spread_ms + self.chance.between(0, 20_000);
            let share = if is_large { 1_000 } else { *self.chance.pick(&[300, 700, 1_000]) };
            let requests: Vec<Tag> =
                sent.iter().filter(|(_, it)| *it == account).map(|(tag, _)| *tag).collect();
            let requests = requests.into_iter().filter(|_| self.chance.strikes(share)).collect();
            let batch = self.oracle.next_tag();
            self.timeline.after(at + delay_ms, Event::Client(Client::Group { batch, account, requests }));
            if is_large || self.chance.strikes(450) {
                let delay_ms = delay_ms + self.chance.between(1, 12_000);
                for _ in 0..self.chance.between(1, 2) {
                    self.timeline.after(at + delay_ms, Event::Client(Client::CancelGroup(batch)));
                }
                if self.chance.strikes(if is_large { 800 } else { 250 }) {
                    let point = *self.chance.pick(&[CrashPoint::AfterCommit, CrashPoint::BeforeCommit]);
                    let delay_ms = delay_ms + self.chance.between(0, 12);
                    self.timeline.after(at + delay_ms, Event::Crash(Some(point)));
                }
            }
        }
    }

    fn draw_request(&mut self, account: AccountKey) -> Tag {
        let tag = self.oracle.next_tag();
        let model = usize::from(self.chance.strikes(350));
        let nature = match self.chance.between(0, 999) {
            0..=9 => Nature::Invalid,
            10..=15 => Nature::Unknown,
            16..=19 => Nature::Poison,
            _ => Nature::Plain,
        };
        let prompt = texts::prompt(MODELS[model], tag, &mut self.chance);
        self.oracle.requests.insert(tag, RequestFacts::new(tag, account, model, prompt, nature));
        tag
    }

    fn plan_accident(&mut self, at: i64) {
        let delay_ms = match self.chance.between(0, 2) {
            0 => self.chance.between(0, 5_000),
            1 => self.chance.between(0, 2 * MINUTE_MS),
            _ => self.chance.between(0, HOUR_MS),
        };
        let event = match self.chance.between(0, 29) {
            0..=4 => Event::Crash(Some(CrashPoint::BeforeCommit)),
            5..=9 => Event::Crash(Some(CrashPoint::AfterCommit)),
            10 | 11 => Event::Crash(None),
            12 | 13 => Event::Stop,
            14..=16 => Event::Jump { ms: self.draw_jump_ms() },
            _ => return,
        };
        self.timeline.after(at + delay_ms, event);
    }

    /// Some of these requests are answered at the very moment at which they are cancelled.
    fn hasten(&mut self, requests: &[Tag]) {
        for request in requests {
            if let Some((replica, lease)) = self.engines.find(*request)
                && self.chance.strikes(400)
            {
                let delay_ms = self.chance.between(0, 16);
                self.timeline.after(delay_ms, Event::Answer { replica, lease });
            }
        }
    }

    /// A client calls; while the process is down, nobody answers.
    pub(super) async fn serve_client(&mut self, client: Client) -> Step {
        let Some(life) = &self.life else { return Ok(()) };
        let services = life.services.clone();
        match client {
            Client::Create(request) => {
                let facts = self.oracle.request(request)?;
                facts.is_sent = true;
                let (account, body) = (facts.account, texts::create_request(&facts.prompt, request));
                let operation = async move {
                    let answer = requests::create(&services, account, body.into(), Ok, None).await.map(new);
                    Outcome::Created { request, answer }
                };
                self.begin(false, Box::pin(operation)).await
            }
            Client::Cancel(request) => {
                let Some(id) = self.id_of(request) else { return Ok(()) };
                let account = self.oracle.request(request)?.account;
                self.hasten(&[request]);
                let operation = async move {
                    let answer = requests::cancel(&services, account, id).await;
                    Outcome::Cancelled { request, answer }
                };
                self.begin(true, Box::pin(operation)).await
            }
            Client::Group { batch, account, requests } => {
                let known = requests.into_iter().filter(|request| self.id_of(*request).is_some());
                let requests: Vec<Tag> = known.collect();
                if requests.is_empty() {
                    return Ok(());
                }
                let ids: Vec<String> = requests
                    .iter()
                    .filter_map(|request| self.id_of(*request))
                    .map(|id| id.to_string())
                    .collect();
                let body = texts::create_batch(&ids, batch);
                self.oracle.batches.insert(batch, BatchFacts::new(batch, account, requests));
                let operation = async move {
                    let answer = batches::create(&services, account, body.into(), None).await.map(new);
                    Outcome::Grouped { batch, answer }
                };
                self.begin(false, Box::pin(operation)).await
            }
            Client::CancelGroup(batch) => {
                let Some(facts) = self.oracle.batches.get(&batch) else { return Ok(()) };
                let (Some(id), account) = (facts.id, facts.account) else { return Ok(()) };
                let requests = facts.requests.clone();
                self.cancelling.insert(batch);
                self.hasten(&requests);
                let operation = async move {
                    let answer = batches::cancel(&services, account, id).await;
                    Outcome::GroupCancelled { batch, answer }
                };
                self.begin(true, Box::pin(operation)).await
            }
        }
    }
}

/// What a call without a key did.
fn new<T>(answered: Answered<T>) -> T {
    answered.into_new().expect("only a call with a key is a repeat")
}
