use super::{Sampler, Sampling, TokenSet, logprobs};

fn draws(sampling: Sampling, logits: &[f32], count: usize) -> Vec<u32> {
    let mut sampler = Sampler::new(sampling, &[]);
    (0..count).map(|_| sampler.sample(logits, None)).collect()
}

fn seen(sampling: Sampling, logits: &[f32]) -> Vec<u32> {
    let mut seen = draws(sampling, logits, 2_000);
    seen.sort_unstable();
    seen.dedup();
    seen
}

#[test]
fn temperature_zero_takes_the_first_of_the_greatest() {
    let greedy = Sampling { temperature: 0.0, ..Sampling::default() };
    assert_eq!(draws(greedy, &[1.0, 3.0, f32::NAN, 3.0], 3), [1, 1, 1]);
}

#[test]
fn a_seed_repeats_its_draws_and_another_differs() {
    let logits = [0.0; 50];
    let seeded = |seed| draws(Sampling { seed, ..Sampling::default() }, &logits, 40);
    assert_eq!(seeded(3), seeded(3));
    assert_ne!(seeded(3), seeded(4));
}

#[test]
fn draws_follow_the_probabilities() {
    let logits = [0.0, 2.0_f32.ln(), f32::NEG_INFINITY];
    let drawn = draws(Sampling::default(), &logits, 30_000);
    let ones = drawn.iter().filter(|&&token| token == 1).count();
    assert!((19_500..20_500).contains(&ones), "{ones} of 30000");
    assert!(!drawn.contains(&2));
}

#[test]
fn temperature_flattens_and_sharpens() {
    let ones = |temperature| {
        let drawn = draws(Sampling { temperature, ..Sampling::default() }, &[0.0, 1.0], 10_000);
        drawn.into_iter().filter(|&token| token == 1).count()
    };
    assert!(ones(0.25) > ones(1.0) && ones(1.0) > ones(2.0));
}

#[test]
fn top_k_keeps_the_greatest() {
    let sampling = Sampling { top_k: 2, ..Sampling::default() };
    assert_eq!(seen(sampling, &[0.0, 1.0, 0.5, 0.2]), [1, 2]);
}

#[test]
fn top_p_keeps_the_fewest_that_reach_it() {
    let logits = [0.5_f32.ln(), 0.3_f32.ln(), 0.15_f32.ln(), 0.05_f32.ln()];
    let kept = |top_p| seen(Sampling { top_p, ..Sampling::default() }, &logits);
    assert_eq!(kept(0.4), [0]);
    assert_eq!(kept(0.7), [0, 1]);
    assert_eq!(kept(0.9), [0, 1, 2]);
    assert_eq!(kept(0.0), [0]);
}

#[test]
fn a_wide_nucleus_in_a_long_vocabulary_is_cut_exactly() {
    let logits = vec![0.0; 1_000];
    let sampling = Sampling { top_p: 0.3, ..Sampling::default() };
    let kept = seen(sampling, &logits);
    assert!(kept.len() > 200 && kept.iter().all(|&token| token <= 300), "{}", kept.len());
}

#[test]
fn min_p_keeps_what_is_near_the_greatest() {
    let logits = [0.0, 0.6_f32.ln(), 0.4_f32.ln()];
    assert_eq!(seen(Sampling { min_p: 0.5, ..Sampling::default() }, &logits), [0, 1]);
}

#[test]
fn bias_forbids_and_forces() {
    let biased = |bias| seen(Sampling { bias, ..Sampling::default() }, &[0.0, 0.0, 0.0]);
    assert_eq!(biased(vec![(1, -100.0)]), [0, 2]);
    assert_eq!(biased(vec![(2, 100.0)]), [2]);
    assert_eq!(biased(vec![(9, 100.0)]), [0, 1, 2]);
}

#[test]
fn frequency_penalty_grows_with_each_use_and_presence_does_not() {
    let logits = [1.0, 0.3];
    let greedy = |frequency_penalty, presence_penalty| {
        let sampling =
            Sampling { temperature: 0.0, frequency_penalty, presence_penalty, ..Sampling::default() };
        draws(sampling, &logits, 5)
    };
    assert_eq!(greedy(0.5, 0.0), [0, 0, 1, 0, 1]);
    assert_eq!(greedy(0.0, 1.0), [0, 1, 0, 0, 0]);
}

#[test]
fn repetition_penalty_counts_the_prompt() {
    let sampling = Sampling { temperature: 0.0, repetition_penalty: 2.0, ..Sampling::default() };
    assert_eq!(Sampler::new(sampling.clone(), &[0]).sample(&[1.0, 0.8], None), 1);
    assert_eq!(Sampler::new(sampling, &[]).sample(&[1.0, 0.8], None), 0);
}

#[test]
fn logprobs_are_of_the_whole_distribution() {
    let logits = [0.5_f32.ln(), 0.3_f32.ln(), 0.2_f32.ln()];
    let found = logprobs(&logits, 2, 2);
    assert!((found.logprob - 0.2_f32.ln()).abs() < 1e-5);
    assert_eq!(found.top.iter().map(|(token, _)| *token).collect::<Vec<_>>(), [0, 1]);
    assert!(logprobs(&[0.0, f32::NEG_INFINITY], 1, 0).logprob.is_finite());
}

#[test]
fn only_allowed_tokens_are_drawn_however_improbable() {
    let logits = [9.0, f32::NEG_INFINITY, 0.0, f32::NAN];
    for temperature in [0.0, 1.0] {
        let sample = |allowed: &[u32]| {
            let mut sampler = Sampler::new(Sampling { temperature, ..Sampling::default() }, &[]);
            sampler.sample(&logits, Some(&TokenSet::of(allowed, 4)))
        };
        assert_eq!(sample(&[1, 2]), 2);
        assert_eq!(sample(&[3]), 3);
        assert_eq!(sample(&[1]), 1);
    }
}
