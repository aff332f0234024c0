use std::cmp::Ordering;

use super::Candidate;

/// Keeps candidates at least `min_p` as probable as the greatest, whose logit is 0.
pub(super) fn keep_min_p(candidates: &mut Vec<Candidate>, min_p: f32) {
    if min_p > 0.0 {
        let least = min_p.ln();
        candidates.retain(|candidate| candidate.logit >= least);
    }
}

/// Keeps the `top_k` greatest; 0 keeps all.
pub(super) fn keep_top_k(candidates: &mut Vec<Candidate>, top_k: usize) {
    if top_k > 0 && top_k < candidates.len() {
        candidates.select_nth_unstable_by(top_k - 1, descending);
        candidates.truncate(top_k);
    }
}

/// Keeps the fewest greatest candidates whose probabilities reach `top_p` together.
///
/// Only kept candidates are sorted, in pieces that grow: a vocabulary is long and a nucleus usually short.
pub(super) fn keep_top_p(candidates: &mut Vec<Candidate>, top_p: f32) {
    if top_p >= 1.0 {
        return;
    }
    let wanted = top_p * candidates.iter().map(|candidate| candidate.logit.exp()).sum::<f32>();
    let (mut reached, mut sorted) = (0.0, 0);
    while sorted < candidates.len() {
        let end = (sorted * 8).max(64).min(candidates.len());
        if end < candidates.len() {
            candidates[sorted..].select_nth_unstable_by(end - sorted - 1, descending);
        }
        candidates[sorted..end].sort_unstable_by(descending);
        for index in sorted..end {
            reached += candidates[index].logit.exp();
            if reached >= wanted {
                return candidates.truncate(index + 1);
            }
        }
        sorted = end;
    }
}

/// Greater logits first, then smaller tokens.
pub(super) fn descending(left: &Candidate, right: &Candidate) -> Ordering {
    right.logit.total_cmp(&left.logit).then(left.token.cmp(&right.token))
}
