use super::*;
use crate::engines::{EnginePause, EngineProcess, EngineRates, EngineState, ModelOut, PrefixCacheState};

const NOW: i64 = 1_000;

fn report(models: &[&str], is_driven: bool, pause: Option<(Option<i64>, &str)>) -> EngineReport {
    let pause = pause.map(|(until, reason)| EnginePause { until, reason: reason.to_owned() });
    let models = models.iter().map(|model| (*model).to_owned()).collect();
    let name = "gpu".to_owned();
    let (in_flight, max_concurrency, closed_until) = (0, 1, None);
    let rates = EngineRates::default();
    let engine = EngineState {
        models_out: Vec::new(),
        name,
        models,
        is_driven,
        in_flight,
        max_concurrency,
        pause,
        closed_until,
        rates,
        prefix_cache: PrefixCacheState::default(),
        process: None,
    };
    EngineReport { node: "a".to_owned(), reported_at: 0, engine }
}

#[test]
fn a_request_waits_for_engines_while_none_of_its_model_is_of_use() {
    let paused = |reason: Option<&str>, until| {
        Some(WaitingReason::EnginesPaused { reason: reason.map(str::to_owned), until })
    };
    let well = || report(&["tiny"], true, None);
    let shared = || report(&["tiny"], false, None);
    let out = |until| Some(WaitingReason::EnginesClosed { until });
    let closed = |until| {
        let mut report = well();
        report.engine.closed_until = Some(until);
        report
    };
    let out_for = |model: &str, until, reason: Option<&str>| {
        let mut report = report(&["tiny", "large"], true, None);
        let (model, reason) = (model.to_owned(), reason.map(str::to_owned));
        report.engine.models_out =
            vec![ModelOut { model, until, reason, is_over_budget: false, is_busy: false }];
        report
    };
    let spent = |until| {
        let mut report = out_for("tiny", Some(until), None);
        report.engine.models_out[0].is_over_budget = true;
        report
    };
    let over_budget = |until| Some(WaitingReason::EnginesOverBudget { until });
    let away = |until, reason| report(&["tiny", "large"], true, Some((until, reason)));
    for (reports, expected) in [
        (vec![], Some(WaitingReason::NoEngine)),
        (vec![report(&["tin", "large"], true, None)], Some(WaitingReason::NoEngine)),
        (vec![well()], None),
        (vec![shared()], paused(None, None)),
        (vec![shared(), well()], None),
        (vec![away(Some(1_500), "reset")], paused(Some("reset"), Some(1_500))),
        (vec![away(Some(900), "reset")], paused(Some("reset"), None)),
        (vec![away(Some(1_500), "reset"), away(Some(1_200), "401")], paused(Some("401"), Some(1_200))),
        (vec![away(Some(1_500), "reset"), shared()], paused(Some("reset"), Some(1_500))),
        (vec![away(Some(1_500), "reset"), well()], None),
        (vec![away(None, "reset")], None),
        (vec![closed(1_500), shared()], out(Some(1_500))),
        (vec![closed(900)], out(None)),
        (vec![closed(1_500), away(Some(1_600), "reset")], out(Some(1_500))),
        (vec![closed(1_500), away(Some(1_400), "reset")], paused(Some("reset"), Some(1_400))),
        (vec![closed(1_500), well()], None),
        (vec![out_for("tiny", Some(1_500), Some("500"))], paused(Some("500"), Some(1_500))),
        (vec![out_for("tiny", Some(1_500), None)], out(Some(1_500))),
        (vec![out_for("large", Some(1_500), Some("500"))], None),
        (vec![spent(1_500), shared()], over_budget(Some(1_500))),
        (vec![spent(900)], over_budget(None)),
        (vec![spent(1_500), away(Some(1_400), "reset")], paused(Some("reset"), Some(1_400))),
        (vec![spent(1_500), well()], None),
        (vec![out_for("tiny", Some(1_500), Some("500")), well()], None),
    ] {
        assert_eq!(trouble(&reports, "tiny", |_| None, NOW), expected, "{reports:?}");
    }
}

#[test]
fn a_model_that_has_the_device_of_a_stopped_engine_is_named() {
    use EngineProcessStatus::{Running, Starting, Stopped};
    let at = |node: &str, model: &str, status| {
        let mut report = report(&[model], true, None);
        report.engine.name = format!("swap/{model}");
        report.engine.process = Some(EngineProcess { status, ready_at: None, is_model: true });
        EngineReport { node: node.to_owned(), ..report }
    };
    let of_swap = |replica: &str| replica.starts_with("swap/").then_some("http://swap");
    let tiny = |status| at("a", "tiny", status);
    for (reports, device_of, running) in [
        (vec![tiny(Stopped), at("a", "large", Running)], true, Some("large")),
        (vec![tiny(Stopped), at("a", "small", Stopped), at("a", "large", Starting)], true, Some("large")),
        (vec![tiny(Stopped), at("a", "large", Stopped)], true, None),
        (vec![tiny(Stopped), at("b", "large", Running)], true, None),
        (vec![tiny(Stopped), at("a", "large", Running)], false, None),
        (vec![tiny(Starting)], true, None),
    ] {
        let expected = WaitingReason::EnginesStopped { until: None, running: running.map(str::to_owned) };
        let told = trouble(&reports, "tiny", |it| of_swap(it).filter(|_| device_of), NOW);
        assert_eq!(told, Some(expected), "{reports:?}");
    }
}

#[test]
fn reason_for_a_client_names_no_engine_and_gives_its_time_apart() {
    let reason = Some("the engine refused a request (500: secret)".to_owned());
    for (reason, until, text) in [
        (WaitingReason::Gathering { until: 5 }, Some(5), "is grouped with similar prompts"),
        (WaitingReason::DiskReserved, None, "waits for space on the disk of the service"),
        (WaitingReason::NoEngine, None, "waits for an engine: none serves its model"),
        (
            WaitingReason::EnginesPaused { reason, until: Some(7) },
            Some(7),
            "waits for the engines of its model, which are paused",
        ),
        (
            WaitingReason::EnginesClosed { until: Some(9) },
            Some(9),
            "waits for the engines of its model, which are outside their hours",
        ),
        (
            WaitingReason::EnginesOverBudget { until: Some(9) },
            Some(9),
            "waits for the engines of its model, whose daily budgets are used up",
        ),
        (
            WaitingReason::EnginesStopped { until: None, running: Some("large".to_owned()) },
            None,
            "waits for an engine of its model to be started or to load it: `large` has its device now",
        ),
        (
            WaitingReason::Retry { until: 9, reason: Some("secret".to_owned()) },
            Some(9),
            "waits to be sent again: an engine had no room for it, or an attempt failed",
        ),
        (WaitingReason::Queued { ahead: 0 }, None, "is the only one that waits for its model"),
        (WaitingReason::Queued { ahead: 1 }, None, "waits for its turn, with one other request"),
        (WaitingReason::Queued { ahead: 41 }, None, "waits for its turn, with 41 other requests"),
    ] {
        assert_eq!((reason.to_string().as_str(), reason.until()), (text, until));
    }
}
