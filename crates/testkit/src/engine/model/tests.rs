use super::super::completion::mix;
use super::*;

fn cost() -> CostModel {
    CostModel {
        prompt_tokens_per_second: 1_000.0,
        output_tokens_per_second: 10.0,
        batch_growth: 0.5,
        context_tokens_per_second: f64::INFINITY,
        step_tokens_max: 64,
        kv_cache_tokens: 1_024,
        prefix_caching: true,
    }
}

/// A job whose first `shared` blocks are the same in every job of the family.
fn job(family: u64, shared: u64, own: u64, blocks: u64, output_tokens: usize) -> Job {
    let block_hashes: Vec<u64> =
        (0..blocks).map(|at| if at < shared { family * 1_000 + at } else { own * 1_000 + at }).collect();
    Job { prompt_tokens: block_hashes.len() * BLOCK_TOKENS + 1, block_hashes, output_tokens, choices: 1 }
}

/// Runs until idle. Returns total milliseconds, and the jobs in the order in which they ended.
fn drain(model: &mut EngineModel, running_max: usize) -> (u128, Vec<Finished>) {
    let (mut total, mut finished) = (Duration::ZERO, Vec::new());
    while !model.is_idle() {
        let step = model.step(running_max);
        total += step.duration;
        finished.extend(step.finished);
    }
    (total.as_millis(), finished)
}

#[test]
fn a_lone_request_pays_its_prompt_and_then_each_token() {
    let mut model = EngineModel::new(cost());
    let id = model.submit(job(1, 0, 1, 10, 5)).unwrap();
    // 161 prompt tokens at 1 ms, which yield the first token, then four steps of 100 ms.
    assert_eq!(drain(&mut model, 8), (561, vec![Finished { id, cached_tokens: 0 }]));
    let stats = model.stats();
    assert_eq!((stats.prompt_tokens_total, stats.generation_tokens_total), (161, 5));
    assert!(stats.kv_cache_usage_perc.abs() < f64::EPSILON);
}

#[test]
fn a_faster_engine_takes_that_much_less() {
    let reading = CostModel { context_tokens_per_second: 2_000.0, ..cost() };
    let [slow, fast] = [reading.clone(), reading.faster(10.0)].map(|cost| {
        let mut model = EngineModel::new(cost);
        (0..4).for_each(|own| assert!(model.submit(job(1, 9, own, 10, 5)).is_some()));
        drain(&mut model, 8)
    });
    assert!(slow.0.abs_diff(fast.0 * 10) <= 10, "{} ms and {} ms", slow.0, fast.0);
    assert_eq!(slow.1, fast.1);
}

#[test]
fn a_shared_prefix_is_paid_for_once() {
    let mut model = EngineModel::new(cost());
    model.submit(job(1, 9, 1, 10, 1)).unwrap();
    drain(&mut model, 8);
    let id = model.submit(job(1, 9, 2, 10, 1)).unwrap();
    assert_eq!(drain(&mut model, 8), (17, vec![Finished { id, cached_tokens: 144 }]));
    let stats = model.stats();
    assert_eq!((stats.prefix_cache_queries_total, stats.prefix_cache_hits_total), (322, 144));
}

#[test]
fn without_prefix_caching_nothing_is_found() {
    let mut model = EngineModel::new(CostModel { prefix_caching: false, ..cost() });
    for _ in 0..2 {
        model.submit(job(1, 10, 1, 10, 1)).unwrap();
        assert_eq!(drain(&mut model, 8).0, 161);
    }
}

#[test]
fn the_last_token_of_a_known_prompt_is_computed_again() {
    let mut model = EngineModel::new(cost());
    let mut aligned = job(1, 4, 1, 4, 1);
    aligned.prompt_tokens = 64;
    model.submit(aligned.clone()).unwrap();
    drain(&mut model, 8);
    model.submit(aligned).unwrap();
    assert_eq!(drain(&mut model, 8).1[0].cached_tokens, 48);
}

#[test]
fn a_larger_batch_makes_longer_steps_and_more_tokens_per_second() {
    let mut model = EngineModel::new(CostModel { prompt_tokens_per_second: 1e9, ..cost() });
    for own in 0..4 {
        model.submit(job(1, 0, own, 0, 11)).unwrap();
    }
    // Ten decode steps of four sequences: 100 ms × (1 + 0.5 × 3).
    assert_eq!(drain(&mut model, 8).0, 2_500);
}

#[test]
fn requests_past_the_running_limit_wait_in_order() {
    let mut model = EngineModel::new(cost());
    let ids: Vec<_> = (0..3).map(|own| model.submit(job(1, 0, own, 1, 3)).unwrap()).collect();
    model.step(1);
    assert_eq!((model.stats().num_requests_running, model.stats().num_requests_waiting), (1, 2));
    let ended: Vec<_> = drain(&mut model, 1).1.iter().map(|finished| finished.id).collect();
    assert_eq!(ended, ids);
}

#[test]
fn when_blocks_run_out_the_last_started_is_preempted_and_still_ends() {
    let mut model = EngineModel::new(CostModel { kv_cache_tokens: 10 * BLOCK_TOKENS, ..cost() });
    let first = model.submit(job(1, 0, 1, 3, 60)).unwrap();
    let second = model.submit(job(1, 0, 2, 3, 60)).unwrap();
    let ended: Vec<_> = drain(&mut model, 8).1.iter().map(|finished| finished.id).collect();
    assert_eq!(ended, [first, second]);
    let stats = model.stats();
    assert!(stats.num_preemptions_total >= 1);
    assert_eq!((stats.generation_tokens_total, stats.prompt_tokens_total), (120, 98));
}

#[test]
fn what_the_cache_could_never_hold_is_refused() {
    let mut model = EngineModel::new(CostModel { kv_cache_tokens: 64, ..cost() });
    assert!(model.submit(job(1, 0, 1, 4, 1)).is_none());
    assert!(model.submit(job(1, 0, 1, 2, 16)).is_some());
}

#[test]
fn a_cancelled_job_gives_its_place_and_its_blocks_back() {
    let mut model = EngineModel::new(cost());
    let first = model.submit(job(1, 0, 1, 3, 60)).unwrap();
    let second = model.submit(job(1, 0, 2, 3, 2)).unwrap();
    model.step(1);
    model.cancel(first);
    assert!(model.stats().kv_cache_usage_perc.abs() < f64::EPSILON);
    assert_eq!(drain(&mut model, 1).1.iter().map(|finished| finished.id).collect::<Vec<_>>(), [second]);
    model.cancel(second);
    assert!(model.is_idle());
}

#[test]
fn neighbours_in_prefix_order_beat_a_random_order_when_the_cache_is_small() {
    let run = |order: &[(u64, u64)]| {
        let mut model = EngineModel::new(CostModel { kv_cache_tokens: 40 * BLOCK_TOKENS, ..cost() });
        for (family, own) in order {
            model.submit(job(*family, 18, *own, 20, 1)).unwrap();
        }
        drain(&mut model, 1).0
    };
    let swept: Vec<_> = (0..40).map(|own| (own / 8, 100 + own)).collect();
    let scattered: Vec<_> = (0..40).map(|own| (own % 5, 100 + own)).collect();
    assert!(run(&scattered) > 3 * run(&swept));
}

#[test]
fn whatever_comes_and_goes_every_job_ends_and_every_block_comes_back() {
    for seed in 0..50 {
        let mut random = seed;
        let mut draw = |below: u64| {
            random = mix(random);
            random % below
        };
        let mut model = EngineModel::new(CostModel { kv_cache_tokens: 24 * BLOCK_TOKENS, ..cost() });
        let mut expected = Vec::new();
        let mut ended = Vec::new();
        for own in 0..60 {
            let mut job = job(draw(3), draw(6), 100 + own, draw(8), 1);
            job.output_tokens = usize::try_from(1 + draw(40)).unwrap();
            job.choices = usize::try_from(1 + draw(3)).unwrap();
            expected.extend(model.submit(job));
            for _ in 0..draw(12) {
                ended.extend(model.step(4).finished.iter().map(|finished| finished.id));
            }
            if draw(5) == 0 && !expected.is_empty() {
                let at = usize::try_from(draw(expected.len() as u64)).unwrap();
                model.cancel(expected[at]);
                if !ended.contains(&expected[at]) {
                    expected.remove(at);
                }
            }
        }
        ended.extend(drain(&mut model, 4).1.iter().map(|finished| finished.id));
        ended.sort_unstable();
        assert_eq!(ended, expected, "seed {seed}");
        assert!(model.stats().kv_cache_usage_perc.abs() < f64::EPSILON, "seed {seed}");
    }
}
