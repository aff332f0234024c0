//! Keys that an object has more than once.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Up to this many keys are compared pair by pair; more are sorted first.
const PAIRWISE_MAX: usize = 16;

/// The indexes of equal keys, in order: a group for each repeated key.
pub(super) fn group_repeated<'k>(count: usize, key: impl Fn(usize) -> &'k str) -> Vec<Vec<usize>> {
    if count <= PAIRWISE_MAX {
        return group_by_pairs(count, key);
    }
    let mut order: Vec<(u64, usize)> = (0..count).map(|index| (hash(key(index)), index)).collect();
    order.sort_unstable_by(|left, right| {
        left.0.cmp(&right.0).then_with(|| key(left.1).cmp(key(right.1))).then(left.1.cmp(&right.1))
    });
    let groups = order.chunk_by(|left, right| left.0 == right.0 && key(left.1) == key(right.1));
    let repeated = groups.filter(|group| group.len() > 1);
    let mut repeated: Vec<Vec<usize>> =
        repeated.map(|group| group.iter().map(|(_, index)| *index).collect()).collect();
    repeated.sort_unstable();
    repeated
}

fn group_by_pairs<'k>(count: usize, key: impl Fn(usize) -> &'k str) -> Vec<Vec<usize>> {
    let mut groups = Vec::new();
    for index in 0..count {
        let is_repeated = (index + 1..count).any(|later| key(later) == key(index));
        if !is_repeated || (0..index).any(|earlier| key(earlier) == key(index)) {
            continue;
        }
        groups.push((index..count).filter(|other| key(*other) == key(index)).collect());
    }
    groups
}

/// A short digest of the key. Keys are compared in full only if their digests are equal.
fn hash(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// The keys of the objects that are open in a text, the innermost last.
#[derive(Default)]
pub(super) struct OpenKeys<'a>(Vec<Key<'a>>);

struct Key<'a> {
    depth: u32,
    place: usize,
    decoded: Cow<'a, str>,
}

impl<'a> OpenKeys<'a> {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, depth: u32, place: usize, decoded: Cow<'a, str>) {
        self.0.push(Key { depth, place, decoded });
    }

    /// Closes the object or array at `depth`, which ends at the end of `compact`. Keeps the last member of each repeated key. Returns
    /// whether a key was repeated.
    pub(super) fn end(&mut self, depth: u32, compact: &mut String) -> bool {
        let outer = self.0.iter().rposition(|key| key.depth < depth);
        let first = outer.map_or(0, |outer| outer + 1);
        let keys = &self.0[first..];
        let repeated = group_repeated(keys.len(), |index| keys[index].decoded.as_ref());
        if !repeated.is_empty() {
            keep_last(keys, &repeated, compact);
        }
        self.0.truncate(first);
        !repeated.is_empty()
    }
}

fn keep_last(keys: &[Key<'_>], repeated: &[Vec<usize>], compact: &mut String) {
    let mut is_kept = vec![true; keys.len()];
    for index in repeated.iter().filter_map(|group| group.split_last()).flat_map(|(_, earlier)| earlier) {
        is_kept[*index] = false;
    }
    let start = keys[0].place;
    let members = compact.split_off(start);
    for (index, key) in keys.iter().enumerate().filter(|(index, _)| is_kept[*index]) {
        let end = keys.get(index + 1).map_or(members.len(), |next| next.place - start);
        compact.push_str(&members[key.place - start..end]);
    }
}
