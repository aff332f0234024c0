//! The clients: bursts of requests, batches of them, and cancels; and crashes at the same times.

use overnight_domain::scheduler::AccountKey;
use overnight_store::CrashPoint;

use super::World;
use crate::engines::Nature;
use crate::events::{Client, Event};
use crate::oracle::RequestFacts;
use crate::plan::MODELS;
use crate::tags::Tag;
use crate::texts;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// The least and the most time between two bursts.
const BURST_EVERY_MS: (i64, i64) = (20 * MINUTE_MS, 180 * MINUTE_MS);
const LARGE_BURST: i64 = 1_050;
/// The longest time after which a call is repeated.
const REPEAT_MS_MAX: i64 = 6 * HOUR_MS;

impl World<'_> {
    /// Draws the calls of clients, and the faults of the process meanwhile.
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
            if self.chance.strikes(300) {
                self.plan_files(at);
            }
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
            let model = usize::from(self.chance.strikes(350));
            let tag = self.draw_request(account, model);
            sent.push((tag, account));
            let delay_ms = self.chance.between(0, if is_large { 2_000 } else { spread_ms });
            self.timeline.after(at + delay_ms, Event::Client(Client::Create(tag)));
            self.plan_repeats(at + delay_ms, tag, 100);
            self.plan_deletion(at + delay_ms, tag, 40);
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
            self.plan_repeats(at + delay_ms, batch, 400);
            self.plan_deletion(at + delay_ms, batch, 200);
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

    pub(super) fn draw_request(&mut self, account: AccountKey, model: usize) -> Tag {
        let tag = self.oracle.next_tag();
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

    /// Draws when a call sent at `at` is repeated (in the same group of writes, before or after its answer, or hours later) and when its
    /// key is reused for another call.
    pub(super) fn plan_repeats(&mut self, at: i64, tag: Tag, per_thousand: i64) {
        while self.chance.strikes(per_thousand) {
            let delay_ms = self.draw_repeat_ms();
            self.timeline.after(at + delay_ms, Event::Client(Client::Repeat(tag)));
        }
        if self.chance.strikes(per_thousand / 3) {
            let delay_ms = self.draw_repeat_ms();
            self.timeline.after(at + delay_ms, Event::Client(Client::ReuseKey(tag)));
        }
    }

    fn draw_repeat_ms(&mut self) -> i64 {
        match self.chance.between(0, 3) {
            0 => 0,
            1 => self.chance.between(0, 12),
            2 => self.chance.between(0, 15_000),
            _ => self.chance.between(0, REPEAT_MS_MAX),
        }
    }

    /// Many clients repeat calls that the process did not answer before it died.
    pub(super) fn plan_repeats_of_unheard(&mut self, down_ms: i64, unheard: &[Tag]) {
        for tag in unheard {
            if self.chance.strikes(600) {
                let delay_ms = down_ms + self.chance.between(0, MINUTE_MS);
                self.timeline.after(delay_ms, Event::Client(Client::Repeat(*tag)));
            }
        }
    }

    /// Some clients that could not pay try again.
    pub(super) fn plan_repeat_of_refused(&mut self, request: Tag) {
        if self.chance.strikes(300) {
            let delay_ms = self.chance.between(0, REPEAT_MS_MAX);
            self.timeline.after(delay_ms, Event::Client(Client::Repeat(request)));
        }
    }
}
