use super::{BLOCKS_MAX, FifoBaseline, Prompt};
use crate::json::minimize;
use crate::sort_key::{PromptBlocks, SortKey};

/// The blocks of a prompt that begins with `head` and ends with `tail`.
fn blocks(head: &str, tail: &str) -> PromptBlocks {
    let body = format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"{}{}"}}]}}"#,
        head.repeat(1_000),
        tail.repeat(1_000)
    );
    SortKey::compute_with_blocks(&[7; 32], minimize(body.as_bytes(), 0).expect("well-formed").as_json()).1
}

/// Each with a body of two thousand bytes.
fn arrive_as(baseline: &mut FifoBaseline, owner: u64, blocks: &PromptBlocks) -> u16 {
    let prompt = Prompt { blocks, body_bytes: 2_000, answer_weight: 100, owner };
    let hit = baseline.hit(&prompt).expect("a replica");
    baseline.arrive(&prompt);
    hit
}

fn arrive(baseline: &mut FifoBaseline, blocks: &PromptBlocks) -> u16 {
    arrive_as(baseline, 1, blocks)
}

fn of_sizes(sizes: Vec<u64>) -> FifoBaseline {
    let mut baseline = FifoBaseline::default();
    baseline.set_sizes(sizes);
    baseline
}

#[test]
fn nothing_is_known_without_replicas() {
    let prompt = blocks("a", "b");
    let baseline = FifoBaseline::default();
    assert_eq!(
        baseline.hit(&Prompt { blocks: &prompt, body_bytes: 2_000, answer_weight: 0, owner: 1 }),
        None
    );
}

#[test]
fn what_was_there_before_is_a_hit_as_long_as_it_fits() {
    let (first, second, other) = (blocks("a", "b"), blocks("a", "c"), blocks("d", "e"));
    let mut baseline = of_sizes(vec![10_000]);
    assert_eq!(arrive(&mut baseline, &first), 0);
    assert_eq!(arrive(&mut baseline, &first), 1_000, "the whole prompt");
    let hit = arrive(&mut baseline, &second);
    assert!((460..540).contains(&hit), "the half that they share: {hit}");
    assert_eq!(arrive(&mut baseline, &other), 0, "they share no whole block");
    assert_eq!(arrive(&mut baseline, &first), 1_000, "all four halves fit, with their answers");
}

#[test]
fn the_least_recently_used_goes_first_and_a_prompts_end_before_its_start() {
    let (first, other) = (blocks("a", "b"), blocks("d", "e"));
    let mut baseline = of_sizes(vec![4_100]);
    arrive(&mut baseline, &first);
    arrive(&mut baseline, &other);
    assert_eq!(arrive(&mut baseline, &first), 1_000, "the older answer alone had to go");
    let mut baseline = of_sizes(vec![3_300]);
    arrive(&mut baseline, &first);
    arrive(&mut baseline, &other);
    let hit = arrive(&mut baseline, &first);
    assert!((500..750).contains(&hit), "its end had to go: {hit}");
    let mut baseline = of_sizes(vec![2_000]);
    arrive(&mut baseline, &first);
    arrive(&mut baseline, &other);
    assert_eq!(arrive(&mut baseline, &first), 0);
}

#[test]
fn answers_take_their_place_too() {
    let (first, other) = (blocks("a", "b"), blocks("d", "e"));
    let hits = [0, 1_500].map(|answer_weight| {
        let mut baseline = of_sizes(vec![10_000]);
        for blocks in [&first, &other, &other, &other, &other, &other] {
            baseline.arrive(&Prompt { blocks, body_bytes: 2_000, answer_weight, owner: 1 });
        }
        arrive(&mut baseline, &first)
    });
    assert!(hits[0] == 1_000 && hits[1] < 500, "{hits:?}");
}

#[test]
fn a_cache_that_is_just_large_enough_holds_a_prompt() {
    let prompt = blocks("a", "b");
    let (body_bytes, size) = (prompt.bytes(), prompt.bytes() as u64);
    let hits = [size, size - 1].map(|size| {
        let mut baseline = of_sizes(vec![size]);
        let prompt = Prompt { blocks: &prompt, body_bytes, answer_weight: 0, owner: 1 };
        baseline.arrive(&prompt);
        baseline.hit(&prompt)
    });
    assert_eq!(hits, [Some(1_000), Some(0)], "what no cache holds is not taken in");
}

#[test]
fn owners_share_nothing() {
    let prompt = blocks("a", "b");
    let mut baseline = of_sizes(vec![10_000]);
    assert_eq!([1, 2, 1, 2].map(|owner| arrive_as(&mut baseline, owner, &prompt)), [0, 0, 1_000, 1_000]);
}

#[test]
fn requests_are_dealt_to_the_replicas_in_turn_and_each_has_a_cache_of_its_own() {
    let prompt = blocks("a", "b");
    let mut baseline = of_sizes(vec![10_000; 3]);
    assert_eq!([(); 6].map(|()| arrive(&mut baseline, &prompt)), [0, 0, 0, 1_000, 1_000, 1_000]);
}

#[test]
fn a_replica_keeps_what_it_has_when_another_comes_or_goes() {
    let (prompt, other) = (blocks("a", "b"), blocks("d", "e"));
    let mut baseline = of_sizes(vec![10_000]);
    arrive(&mut baseline, &prompt);
    baseline.set_sizes(vec![10_000, 10_000]);
    assert_eq!([(); 3].map(|()| arrive(&mut baseline, &prompt)), [0, 1_000, 1_000]);
    baseline.set_sizes(vec![2_000]);
    arrive(&mut baseline, &other);
    assert_eq!(arrive(&mut baseline, &prompt), 0, "and has the size that it was told last");
}

#[test]
fn of_large_caches_a_few_stand_for_all_and_memory_is_bounded() {
    let mut baseline = of_sizes(vec![u64::MAX; 40]);
    let shared = blocks("a", "b");
    let hits: Vec<u16> = (0..80).map(|_| arrive(&mut baseline, &shared)).collect();
    assert_eq!(hits.iter().filter(|hit| **hit == 0).count(), 1, "one cache stands for forty");
    let mut baseline = of_sizes(vec![u64::MAX; 40]);
    let [first, other] =
        [1, 2].map(|owner| move |it: &mut FifoBaseline, blocks: &PromptBlocks| arrive_as(it, owner, blocks));
    assert_eq!(
        [first(&mut baseline, &shared), other(&mut baseline, &shared), other(&mut baseline, &shared)],
        [0, 0, 0]
    );
    assert_eq!(first(&mut baseline, &shared), 1_000, "what came to others left it as it was");
    let mut baseline = of_sizes(vec![u64::MAX]);
    for owner in 0..12_000 {
        arrive_as(&mut baseline, owner, &shared);
    }
    assert_eq!(baseline.caches[0].blocks(), BLOCKS_MAX);
    assert_eq!([0, 11_999].map(|owner| arrive_as(&mut baseline, owner, &shared)), [0, 1_000]);
}
