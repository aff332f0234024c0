//! The test oracle: what clients sent, were answered and saw. Everything that the service shows later must agree.

mod batches;
mod calls;
mod deletions;
mod requests;

use std::collections::BTreeMap;

use overnight_domain::ids::RequestId;
use overnight_domain::requests::RequestStatus;

pub(super) use self::batches::{BatchFacts, FileFacts};
pub(super) use self::calls::Calls;
pub(super) use self::deletions::Deletion;
pub(super) use self::requests::{Offer, RequestFacts};
use super::broken::{Broken, Step, ensure};
use super::summary::Summary;
use super::tags::Tag;

#[derive(Debug, Default)]
pub(super) struct Oracle {
    pub(super) requests: BTreeMap<Tag, RequestFacts>,
    pub(super) batches: BTreeMap<Tag, BatchFacts>,
    tags: BTreeMap<u128, Tag>,
    last_tag: Tag,
}

impl Oracle {
    pub(super) fn next_tag(&mut self) -> Tag {
        self.last_tag += 1;
        self.last_tag
    }

    pub(super) fn request(&mut self, tag: Tag) -> Step<&mut RequestFacts> {
        self.requests.get_mut(&tag).ok_or_else(|| Broken(format!("nobody sent request {tag}")))
    }

    pub(super) fn batch(&mut self, tag: Tag) -> Step<&mut BatchFacts> {
        self.batches.get_mut(&tag).ok_or_else(|| Broken(format!("nobody sent batch {tag}")))
    }

    /// Records that the request with this identifier was sent as `tag`.
    pub(super) fn name(&mut self, id: RequestId, tag: Tag) -> Step {
        let line_of = self.request(tag)?.line_of;
        let is_sent = match line_of {
            Some(batch) => self.batch(batch)?.calls.is_sent(),
            None => self.request(tag)?.calls.is_sent(),
        };
        ensure!(is_sent, "request {tag} is {id} before it was sent");
        let facts = self.request(tag)?;
        ensure!(
            facts.id.is_none_or(|known| known == id),
            "request {tag} is stored twice: {:?} and {id}",
            facts.id
        );
        facts.id = Some(id);
        let before = self.tags.insert(bits(id), tag);
        ensure!(before.is_none_or(|before| before == tag), "{id} is request {tag} and request {before:?}");
        Ok(())
    }

    /// Whether a request or batch may have been deleted, alone or with its batch.
    pub(super) fn may_be_gone(&self, tag: Tag) -> bool {
        let of_batch = |batch: Tag| self.batches.get(&batch).is_some_and(|facts| facts.deletion.is_sent());
        let of_request = |facts: &RequestFacts| facts.deletion.is_sent() || facts.batch.is_some_and(of_batch);
        self.requests.get(&tag).map_or_else(|| of_batch(tag), of_request)
    }

    pub(super) fn tag_of(&self, id: RequestId) -> Step<Tag> {
        let tag = self.tags.get(&bits(id)).copied();
        tag.ok_or_else(|| Broken(format!("{id} is a request that nobody sent")))
    }

    /// The process died. Returns the calls whose answers are lost.
    pub(super) fn lose_calls(&mut self) -> Vec<Tag> {
        let requests = self.requests.values_mut().map(|facts| (facts.tag, &mut facts.calls));
        let batches = self.batches.values_mut().map(|facts| (facts.tag, &mut facts.calls));
        requests.chain(batches).filter_map(|(tag, calls)| calls.lose().then_some(tag)).collect()
    }

    pub(super) fn count(&self, summary: &mut Summary) {
        for facts in self.requests.values() {
            match (facts.is_acknowledged, facts.id) {
                (false, Some(_)) => summary.unheard_done += 1,
                (false, None) if facts.calls.is_sent() => summary.unheard_undone += 1,
                _ => {}
            }
            summary.requests += u64::from(facts.id.is_some());
            summary.lines_filled += u64::from(facts.line_of.is_some() && facts.id.is_some());
            match facts.state.map(|state| state.status()) {
                Some(RequestStatus::Completed) => summary.completed += 1,
                Some(RequestStatus::Failed) if facts.has_expired => summary.expired += 1,
                Some(RequestStatus::Failed) => summary.failed += 1,
                Some(RequestStatus::Cancelled) => summary.cancelled += 1,
                _ => {}
            }
        }
        let batches = || self.batches.values().filter(|facts| facts.id.is_some());
        summary.batches += batches().count() as u64;
        for file in batches().filter_map(|facts| facts.file.as_ref()) {
            summary.file_batches += 1;
            summary.file_batches_failed += u64::from(file.is_bad);
            summary.half_filled_cancelled += u64::from(file.is_cut);
        }
    }
}

fn bits(id: RequestId) -> u128 {
    u128::from_be_bytes(id.to_bytes())
}
