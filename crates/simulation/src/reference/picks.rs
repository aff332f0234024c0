//! Resolves the picks of a step to requests, batches and leases that exist.

use super::steps::Act;
use super::tables::Model;
use super::writes::{End, NewRequest, Write};

/// From this pick on, ended and taken ones may be picked too.
const ANY: u8 = 224;
/// Longer than a group can wait for its commit, in milliseconds: a request expires after it was stored.
const SHORTEST_WINDOW_MS: i64 = 2_000;

#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) requests: usize,
    pub(super) batches: usize,
    pub(super) answers: u64,
}

impl Asked {
    /// The write of an act at `now`; `None` if the act has no possible subject or is not a write.
    pub(super) fn resolve(&mut self, act: &Act, model: &Model, now: i64) -> Option<Write> {
        Some(match act {
            Act::Create { .. } => self.create(act, now)?,
            Act::Group { picks, second_account, has_webhook } => {
                let account = usize::from(*second_account);
                let requests = pick_members(model, account, picks)?;
                self.batches += 1;
                Write::Group { batch: self.batches, account, requests, has_webhook: *has_webhook }
            }
            Act::Cancel(pick) => Write::Cancel { request: pick_request(model, *pick)? },
            Act::CancelBatch(pick) => {
                let batch = newest(model.batches.keys().copied(), *pick)?;
                Write::CancelBatch { batch, account: model.batches[&batch].account }
            }
            Act::CancelChunk(pick) => {
                let marked = model.batches.iter().filter(|(_, batch)| batch.cancelled_at.is_some());
                Write::CancelChunk { batch: newest(marked.map(|(batch, _)| *batch), *pick)? }
            }
            Act::Release(limit) => Write::Release { limit: u32::from(*limit) + 1 },
            Act::Lease { pick, most } => lease(model, *pick, usize::from(*most) + 1)?,
            Act::Settle(picks) => {
                let end = |(pick, tokens): &(u8, Option<(u8, u8)>)| self.end(model, *pick, *tokens);
                Write::Settle(picks.iter().map(end).collect::<Option<_>>()?)
            }
            Act::ReleaseLease { pick, counts } => {
                Write::ReleaseLease { lease: newest(0..model.leases.len(), *pick)?, counts: *counts }
            }
            Act::Expire(limit) => Write::Expire { limit: u32::from(*limit) + 1, answer: self.answer() },
            Act::Heartbeat => Write::Heartbeat,
            Act::Reclaim => Write::Reclaim,
            Act::Wait(_) | Act::Crash { .. } | Act::Stop => return None,
        })
    }

    fn create(&mut self, act: &Act, now: i64) -> Option<Write> {
        let Act::Create { second_account, second_model, hold, gathers_ms, window_s, has_webhook } = act
        else {
            return None;
        };
        self.requests += 1;
        let new = NewRequest {
            account: usize::from(*second_account),
            model: usize::from(*second_model),
            ready_at: now + i64::from(*gathers_ms),
            // Several requests have the same deadline.
            deadline: 1_000 * ((now + SHORTEST_WINDOW_MS) / 1_000 + 1 + i64::from(*window_s)),
            hold: hold.map(|(amount, is_second)| (i64::from(amount), usize::from(is_second))),
            has_webhook: *has_webhook,
        };
        Some(Write::Create(self.requests, new))
    }

    fn end(&mut self, model: &Model, pick: u8, tokens: Option<(u8, u8)>) -> Option<End> {
        let tokens = tokens.map(|(read, written)| (i64::from(read), i64::from(written)));
        Some(End { lease: newest(0..model.leases.len(), pick)?, answer: self.answer(), tokens })
    }

    pub(super) const fn answer(&mut self) -> u64 {
        self.answers += 1;
        self.answers
    }
}

/// The `pick`-th, counted back from the newest.
fn newest<T: Copy>(all: impl Iterator<Item = T>, pick: u8) -> Option<T> {
    let all: Vec<T> = all.collect();
    let back = usize::from(pick).checked_rem(all.len())?;
    all.get(all.len() - 1 - back).copied()
}

fn pick_request(model: &Model, pick: u8) -> Option<usize> {
    let wanted = model.requests.iter().filter(|(_, request)| pick >= ANY || request.is_live());
    newest(wanted.map(|(name, _)| *name), pick)
}

/// Each once, in the order of the picks.
fn pick_members(model: &Model, account: usize, picks: &[u8]) -> Option<Vec<usize>> {
    let mut members = Vec::new();
    for pick in picks {
        let of_account = model.requests.iter().filter(|(_, request)| request.new.account == account);
        let wanted = of_account.filter(|(_, request)| *pick >= ANY || request.batch.is_none());
        let picked = newest(wanted.map(|(name, _)| *name), *pick);
        members.extend(picked.filter(|name| !members.contains(name)));
    }
    (!members.is_empty()).then_some(members)
}

fn lease(model: &Model, pick: u8, most: usize) -> Option<Write> {
    let picked = &model.requests[&pick_request(model, pick)?].new;
    let (account, partition) = (picked.account, picked.model);
    let of_partition =
        model.requests.iter().filter(|(_, it)| (it.new.account, it.new.model) == (account, partition));
    let wanted = of_partition.filter(|(_, request)| pick >= ANY || request.is_live());
    let requests = wanted.map(|(name, _)| *name).take(most).collect();
    Some(Write::Lease { account, model: partition, requests })
}
