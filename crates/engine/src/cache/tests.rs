use super::{Cache, Prefix, Salted, bound::USEFUL_TOKENS_MIN};
use crate::{
    fake::{FakeDecoder, next_letter},
    model::{BatchEntry, Capacity, Token},
};

fn plain(tokens: &[Token]) -> Salted<'_> {
    Salted { salt: None, tokens }
}

fn cache(cells: usize, sequences: usize) -> Cache<FakeDecoder> {
    cache_keeping(cells, sequences, cells)
}

fn cache_keeping(cells: usize, sequences: usize, kept_cells: usize) -> Cache<FakeDecoder> {
    let capacity = Capacity {
        context: cells,
        cells,
        parallel: 2,
        sequences,
        kept_cells,
        masked_cells: usize::MAX,
        tile_tokens: 4,
        shares_prefixes: true,
    };
    let mut cache = Cache::new(FakeDecoder::new(capacity, next_letter).0, capacity);
    // As if a dropped sequence had been missed once.
    cache.kept_bound.drop_sequence(None, vec![0; USEFUL_TOKENS_MIN], true);
    cache.kept_bound.begin_prompt(plain(&[0; USEFUL_TOKENS_MIN]), 0);
    cache
}

fn feed(cache: &mut Cache<FakeDecoder>, sequence: usize, tokens: &[Token]) {
    let start = cache.computed(sequence);
    let batch: Vec<BatchEntry> = (start..)
        .zip(tokens)
        .map(|(position, &token)| BatchEntry { token, position, sequence, wants_logits: false })
        .collect();
    cache.decode(&batch).expect("a step");
}

fn kept(cache: &mut Cache<FakeDecoder>, tokens: &[Token]) -> usize {
    let sequence = cache.start(None, None).expect("a free sequence");
    feed(cache, sequence, tokens);
    cache.finish(sequence);
    sequence
}

#[test]
fn the_longest_prefix_is_found_among_running_and_kept_sequences() {
    let mut cache = cache(64, 4);
    let first = kept(&mut cache, &[1, 2, 3]);
    let running = cache.start(None, None).expect("a free sequence");
    feed(&mut cache, running, &[1, 2, 3, 4, 5]);
    assert_eq!(cache.find_prefix(plain(&[1, 2, 3, 4, 9])), Some(Prefix { sequence: running, length: 4 }));
    assert_eq!(cache.find_prefix(plain(&[9])), None);
    cache.forget(running);
    assert_eq!(cache.find_prefix(plain(&[1, 2, 9])), Some(Prefix { sequence: first, length: 2 }));
}

#[test]
fn a_shared_prefix_takes_no_cells_and_outlives_its_source() {
    let mut cache = cache(6, 4);
    let source = kept(&mut cache, &[1, 2, 3, 4]);
    let started = cache.start(None, Some(Prefix { sequence: source, length: 4 })).expect("a free sequence");
    assert!(cache.make_room(2, None), "only two cells are needed");
    cache.forget(source);
    assert_eq!(cache.find_prefix(plain(&[1, 2, 3, 4, 5])), Some(Prefix { sequence: started, length: 4 }));
    feed(&mut cache, started, &[5, 6]);
    assert!(!cache.make_room(1, None));
}

#[test]
fn the_longest_unused_sequence_goes_first_and_the_spared_one_stays() {
    let mut cache = cache(9, 4);
    let oldest = kept(&mut cache, &[1, 1, 1]);
    let middle = kept(&mut cache, &[2, 2, 2]);
    let newest = kept(&mut cache, &[3, 3, 3]);
    assert!(cache.make_room(3, Some(oldest)));
    assert_eq!(cache.computed(middle), 0);
    assert_eq!((cache.computed(oldest), cache.computed(newest)), (3, 3));
    assert!(cache.make_room(9, None));
}

#[test]
fn use_makes_a_kept_sequence_younger() {
    let mut cache = cache(9, 4);
    let first = kept(&mut cache, &[1, 1, 1]);
    let second = kept(&mut cache, &[2, 2, 2]);
    cache.start(None, Some(Prefix { sequence: first, length: 3 })).expect("a free sequence");
    assert!(cache.make_room(4, None));
    assert_eq!((cache.computed(first), cache.computed(second)), (3, 0));
}

#[test]
fn a_sequence_is_freed_when_numbers_run_out() {
    let mut cache = cache(64, 2);
    kept(&mut cache, &[1]);
    kept(&mut cache, &[2]);
    assert_eq!(cache.start(None, None), None);
    assert!(cache.make_room(1, None));
    assert!(cache.start(None, None).is_some());
}

#[test]
fn sequences_inside_others_are_not_kept_twice() {
    let mut cache = cache(64, 4);
    let short = kept(&mut cache, &[1, 2]);
    let long = kept(&mut cache, &[1, 2, 3]);
    assert_eq!(cache.computed(short), 0);
    let inside = kept(&mut cache, &[1, 2]);
    assert_eq!((cache.computed(long), cache.computed(inside)), (3, 0));
}

#[test]
fn no_more_is_kept_than_allowed_but_the_newest_always_is() {
    let mut cache = cache_keeping(64, 8, 5);
    let oldest = kept(&mut cache, &[1, 1]);
    let middle = kept(&mut cache, &[2, 2]);
    let newest = kept(&mut cache, &[3, 3]);
    assert_eq!((cache.computed(oldest), cache.computed(middle), cache.computed(newest)), (0, 2, 2));
    let large = kept(&mut cache, &[4, 4, 4, 4, 4, 4]);
    assert_eq!((cache.computed(middle), cache.computed(newest), cache.computed(large)), (0, 0, 6));
}

#[test]
fn what_a_running_sequence_shares_is_not_counted_as_kept() {
    let mut cache = cache_keeping(64, 8, 3);
    let source = kept(&mut cache, &[1, 2, 3]);
    let running = cache.start(None, Some(Prefix { sequence: source, length: 3 })).expect("a free sequence");
    let other = kept(&mut cache, &[7, 8, 9]);
    assert_eq!((cache.computed(source), cache.computed(other)), (3, 3));
    cache.finish(running);
    assert_eq!((cache.computed(source), cache.computed(other)), (3, 0));
}

#[test]
fn only_running_sequences_make_the_cache_busy() {
    let mut cache = cache(8, 4);
    let source = kept(&mut cache, &[1, 2, 3, 4]);
    assert!(cache.busy_share() < f64::EPSILON);
    let started = cache.start(None, Some(Prefix { sequence: source, length: 2 })).expect("a free sequence");
    assert!((cache.busy_share() - 0.25).abs() < f64::EPSILON);
    cache.forget(started);
    assert!(cache.busy_share() < f64::EPSILON);
    assert!(cache.make_room(8, None));
}

/// A prompt of 40 tokens that has the first `shared` in common with all others.
fn prompt(number: Token, shared: usize) -> Vec<Token> {
    (0..40).map(|at| if at < shared { 0 } else { number }).collect()
}

/// Answers prompts one after another. Returns how many tokens of each were in the cache.
fn answer_one_by_one(cache: &mut Cache<FakeDecoder>, prompts: &[Vec<Token>]) -> Vec<usize> {
    let mut answer = |prompt: &Vec<Token>| {
        let prefix = cache.find_prefix(plain(&prompt[..prompt.len() - 1]));
        cache.note_prompt(plain(prompt), prefix);
        assert!(cache.make_room(prompt.len(), prefix.map(|prefix| prefix.sequence)));
        let sequence = cache.start(None, prefix).expect("a free sequence");
        let held = cache.computed(sequence);
        feed(cache, sequence, &prompt[held..]);
        cache.finish(sequence);
        held
    };
    prompts.iter().map(&mut answer).collect()
}

fn kept_count(cache: &Cache<FakeDecoder>) -> usize {
    (0..cache.sequences.len()).filter(|&sequence| cache.computed(sequence) > 0).count()
}

#[test]
fn of_prompts_that_share_nothing_only_the_newest_is_kept() {
    let mut cache = cache_keeping(1_000, 16, 400);
    let prompts: Vec<_> = (1..30).map(|number| prompt(number, 0)).collect();
    assert!(answer_one_by_one(&mut cache, &prompts).iter().all(|&held| held == 0));
    assert_eq!(kept_count(&cache), 1);
    // The common prefix is in the newest sequence: it is no reason to keep more.
    let prompts: Vec<_> = (1..30).map(|number| prompt(number, 20)).collect();
    assert!(answer_one_by_one(&mut cache, &prompts)[1..].iter().all(|&held| held == 20));
    assert_eq!(kept_count(&cache), 1);
}

#[test]
fn what_comes_again_is_computed_once_more_and_then_kept() {
    let capacity = cache_keeping(1_000, 16, 400);
    let mut cache = Cache { kept_bound: super::KeptBound::new(400), ..capacity };
    let turns: Vec<_> = (0..30).map(|turn| prompt(1 + turn % 3, 0)).collect();
    let held = answer_one_by_one(&mut cache, &turns);
    assert_eq!(held[..3], [0, 0, 0]);
    assert!(held[6..].iter().all(|&held| held == 39), "{held:?}");
}

#[test]
fn an_ended_sequence_replaces_a_shorter_one_of_its_salt_alone() {
    let mut cache = cache(64, 4);
    let mut keep = |salt: &str, tokens: &[Token]| {
        let sequence = cache.start(Some(salt.into()), None).expect("a free sequence");
        feed(&mut cache, sequence, tokens);
        cache.finish(sequence);
    };
    keep("one", &[1, 2, 3]);
    keep("other", &[1, 2, 3, 4]);
    keep("one", &[1, 2]);
    let found = |salt| cache.find_prefix(Salted { salt: Some(salt), tokens: &[1, 2, 3, 4, 5] });
    assert_eq!(found("one").map(|prefix| prefix.length), Some(3));
    assert_eq!(found("other").map(|prefix| prefix.length), Some(4));
    assert_eq!(cache.find_prefix(plain(&[1, 2, 3])), None);
}
