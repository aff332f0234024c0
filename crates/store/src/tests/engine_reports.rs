//! What processes say of their engines.

use crate::nodes::engine_reports::{
    EnginePause, EngineProcess, EngineProcessStatus, EngineRates, EngineReport, EngineState, ModelOut, Out,
    PrefixCacheState, Why,
};
use crate::tests::prelude::*;

pub(super) fn engine(name: &str) -> EngineState {
    EngineState {
        name: name.to_owned(),
        models: vec!["large".to_owned(), "tiny".to_owned()],
        is_driven: true,
        in_flight: 3,
        max_concurrency: 16,
        pause: None,
        closed_until: None,
        models_out: Vec::new(),
        rates: EngineRates { tokens_per_second: Some(12_000), cache_hit_percent: Some(87) },
        process: None,
        prefix_cache: PrefixCacheState {
            body_bytes: Some(600_000),
            answer_bytes: 830,
            fifo_hit_percent: Some(24),
            saved_tokens: Some(-7),
        },
    }
}

async fn report(store: &Store, engines: &[EngineState], now: i64) {
    engine_reports::report(store, engines.to_vec(), now).await.expect("a report");
}

async fn list(store: &Store) -> Vec<(i64, EngineState)> {
    let reports = engine_reports::list(store).await.expect("reports");
    reports.into_iter().map(|EngineReport { reported_at, engine, .. }| (reported_at, engine)).collect()
}

on_both!(the_last_report_of_each_engine_is_kept);
async fn the_last_report_of_each_engine_is_kept(fixture: &mut Fixture) {
    let (first, second) = (engine("gpu-0"), engine("gpu-1"));
    report(&fixture.store, &[], START).await;
    assert_eq!(list(&fixture.store).await, []);
    report(&fixture.store, &[second.clone(), first.clone()], START).await;
    assert_eq!(list(&fixture.store).await, [(START, first.clone()), (START, second.clone())]);
    let pause = |until| Some(EnginePause { until, reason: "it is \"away\"\nfor good".to_owned() });
    let paused = EngineState {
        pause: pause(Some(START + 9)),
        in_flight: 0,
        rates: EngineRates::default(),
        ..first.clone()
    };
    let closed = EngineState { closed_until: Some(START + 9), ..second.clone() };
    let out = |until, reason: Option<&str>| {
        let (model, reason) = ("large".to_owned(), reason.map(str::to_owned));
        let is_over_budget = reason.is_none();
        EngineState {
            models_out: vec![ModelOut { model, until, reason, is_over_budget, is_busy: false }],
            ..second.clone()
        }
    };
    for out in [out(Some(START + 7), Some("it is\n\"away\"")), out(Some(i64::MAX), None)] {
        report(&fixture.store, std::slice::from_ref(&out), START).await;
        assert_eq!(list(&fixture.store).await, [(START, first.clone()), (START, out)]);
    }
    report(&fixture.store, std::slice::from_ref(&closed), START).await;
    assert_eq!(list(&fixture.store).await, [(START, first.clone()), (START, closed)]);
    let tried = EngineState { pause: pause(None), is_driven: false, models: Vec::new(), ..second };
    report(&fixture.store, &[paused.clone(), tried.clone()], START + 1).await;
    assert_eq!(list(&fixture.store).await, [(START + 1, paused), (START + 1, tried)]);
    // Who said so is gone.
    fixture.restart().await;
    assert_eq!(list(&fixture.store).await, []);
    report(&fixture.store, &[engine("gpu-2")], START + 2).await;
    assert_eq!(list(&fixture.store).await, [(START + 2, engine("gpu-2"))]);
    assert_eq!(count(fixture).await, 1, "what the dead said is forgotten");
}

#[tokio::test]
async fn of_each_living_node_the_report_is_told_under_its_name() {
    let (fixture, other, _folder) = Fixture::with_node().await;
    let idle = EngineState { is_driven: false, in_flight: 0, ..engine("gpu-0") };
    report(&fixture.store, &[engine("gpu-0")], START).await;
    report(&other, std::slice::from_ref(&idle), START).await;
    let told = list(&fixture.store).await;
    assert!(told.len() == 2 && told.contains(&(START, idle.clone())), "{told:?}");
    nodes::reclaim_stale(&other, START, 0).await.expect("a look for the dead");
    assert_eq!(list(&other).await, [(START, idle.clone())]);
    // Who was taken for dead is heard again when it is alive.
    nodes::heartbeat(&fixture.store, START).await.expect("a heartbeat");
    report(&fixture.store, &[engine("gpu-0")], START + 1).await;
    assert_eq!(list(&other).await.len(), 2);
    nodes::leave(&other).await.expect("a farewell");
    report(&fixture.store, &[engine("gpu-0")], START + 2).await;
    assert_eq!(list(&fixture.store).await, [(START + 2, engine("gpu-0"))]);
    assert_eq!(count(&fixture).await, 1);
}

#[test]
fn an_engine_is_out_while_it_is_closed_paused_or_does_not_run() {
    let process = |status, ready_at| EngineState {
        process: Some(EngineProcess { status, ready_at, is_model: false }),
        ..engine("gpu-0")
    };
    let model_out = |until, reason: Option<&str>, is_over_budget| {
        let (model, reason) = ("large".to_owned(), reason.map(str::to_owned));
        vec![ModelOut { model, until, reason, is_over_budget, is_busy: false }]
    };
    let (running, stopped) =
        (process(EngineProcessStatus::Running, None), process(EngineProcessStatus::Stopped, None));
    let paused = EngineState {
        pause: Some(EnginePause { until: Some(7), reason: "hot".to_owned() }),
        ..stopped.clone()
    };
    let closed = EngineState { closed_until: Some(9), ..paused.clone() };
    let out = |until, why| Some(Out { until, why });
    for (state, large, tiny) in [
        (engine("gpu-0"), None, None),
        (running.clone(), None, None),
        (stopped, out(None, Why::Stopped), out(None, Why::Stopped)),
        (
            process(EngineProcessStatus::Starting, Some(5)),
            out(Some(5), Why::Stopped),
            out(Some(5), Why::Stopped),
        ),
        (process(EngineProcessStatus::Stopping, None), out(None, Why::Stopped), out(None, Why::Stopped)),
        (paused, out(Some(7), Why::Paused("hot")), out(Some(7), Why::Paused("hot"))),
        (closed, out(Some(9), Why::Closed), out(Some(9), Why::Closed)),
        (
            EngineState { models_out: model_out(Some(3), Some("slow"), false), ..running.clone() },
            out(Some(3), Why::Paused("slow")),
            None,
        ),
        (
            EngineState { models_out: model_out(None, None, false), ..running.clone() },
            out(None, Why::Closed),
            None,
        ),
        (
            EngineState { models_out: model_out(Some(4), None, true), ..running },
            out(Some(4), Why::OverBudget),
            None,
        ),
    ] {
        assert_eq!((state.out_for("large"), state.out_for("tiny")), (large, tiny), "{state:?}");
        assert!(state.serves("large") && !state.serves("other"));
    }
}

async fn count(fixture: &Fixture) -> i64 {
    let count = sql("SELECT count(*) AS count FROM engine_reports");
    fixture.store.readers().fetch_one(count).await.expect("a count").get("count").expect("a number")
}
