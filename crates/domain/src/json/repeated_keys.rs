//! Keys that an object has more than once.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::Json;
use super::strings::skip_string;

/// Up to so many keys are compared pair by pair; more are sorted first.
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
        let is_later = (0..index).any(|earlier| key(earlier) == key(index));
        if is_later || !(index + 1..count).any(|later| key(later) == key(index)) {
            continue;
        }
        groups.push((index..count).filter(|other| key(*other) == key(index)).collect());
    }
    groups
}

/// A number that tells most keys apart without following them into memory; equal numbers are looked into.
fn hash(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// A member that was read: its key, and its range with the comma after it.
type Passed<'a> = (Cow<'a, str>, Range<usize>);

/// Compact JSON without the members whose key is repeated later in the same object; `None` without such members. One pass, no
/// recursion.
pub(super) fn drop_repeated_keys(compact: &str) -> Option<String> {
    let dropped = find_repeated(compact);
    if dropped.is_empty() {
        return None;
    }
    let mut text = String::with_capacity(compact.len());
    let mut kept_from = 0;
    for range in dropped {
        // The range of a dropped member may lie within another one.
        if range.start >= kept_from {
            text.push_str(&compact[kept_from..range.start]);
        }
        kept_from = kept_from.max(range.end);
    }
    text.push_str(&compact[kept_from..]);
    Some(text)
}

/// The ranges of the members to be dropped, in order.
fn find_repeated(compact: &str) -> Vec<Range<usize>> {
    let bytes = compact.as_bytes();
    let mut passed: Vec<Passed<'_>> = Vec::with_capacity(PAIRWISE_MAX);
    // For each open object, how many members were passed before it; `None` for an array.
    let mut open: Vec<Option<usize>> = Vec::with_capacity(PAIRWISE_MAX);
    let (mut dropped, mut at) = (Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        let is_object = matches!(open.last(), Some(Some(_)));
        match byte {
            b'"' => {
                at = skip_string(bytes, at);
                continue;
            }
            b'[' => open.push(None),
            b'{' => {
                open.push(Some(passed.len()));
                at = pass_key(compact, at + 1, &mut passed);
                continue;
            }
            b',' if is_object => {
                end_member(&mut passed, at + 1);
                at = pass_key(compact, at + 1, &mut passed);
                continue;
            }
            b']' | b'}' => {
                if let Some(Some(first)) = open.pop() {
                    end_member(&mut passed, at);
                    drop_earlier(&passed[first..], &mut dropped);
                    passed.truncate(first);
                }
            }
            _ => {}
        }
        at += 1;
    }
    dropped.sort_unstable_by_key(|range| range.start);
    dropped
}

/// Reads the key that begins at `at`, if there is one, and returns the offset after it.
fn pass_key<'a>(compact: &'a str, at: usize, passed: &mut Vec<Passed<'a>>) -> usize {
    let bytes = compact.as_bytes();
    if bytes.get(at) != Some(&b'"') {
        return at;
    }
    let end = skip_string(bytes, at);
    let key = Json::from_part(compact.get(at..end).unwrap_or_default()).decode_string();
    passed.push((key.unwrap_or_default(), at..at));
    end
}

fn end_member(passed: &mut [Passed<'_>], at: usize) {
    if let Some((_, range)) = passed.last_mut() {
        range.end = at;
    }
}

fn drop_earlier(members: &[Passed<'_>], dropped: &mut Vec<Range<usize>>) {
    for group in group_repeated(members.len(), |index| members[index].0.as_ref()) {
        let (_, earlier) = group.split_last().unwrap_or((&0, &[]));
        dropped.extend(earlier.iter().map(|index| members[*index].1.clone()));
    }
}
