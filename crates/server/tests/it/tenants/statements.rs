//! A foreign identifier costs the same statements and rows as an unknown one.

use std::fs;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use overnight_testkit::proof;
use serde_json::Value;
use tokio::process::Command;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::attack::{Attack, Pair, Target};
use super::cases::{self, For};
use super::world::World;

/// The file for the figure of the process below.
const FIGURE_VARIABLE: &str = "OVERNIGHT_STATEMENTS_FIGURE";

/// Steps of SQLite's virtual machine that a foreign identifier may take more than an unknown one: the index leads to one row, whose account
/// is checked.
const STEPS_MORE_MAX: i64 = 32;

/// The number of measurements of each call.
const TIMES: usize = 5;

static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Keeper;

impl std::io::Write for Keeper {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Logs each statement of this process, for [`ran`].
pub(super) fn keep_statements() {
    let log = tracing_subscriber::fmt().json().with_max_level(LevelFilter::TRACE);
    let filter = Targets::new().with_target("overnight_store::database::statement", LevelFilter::TRACE);
    log.with_writer(|| Keeper).finish().with(filter).init();
}

/// The statements since the last call, each with its rows, and the steps that SQLite took for all of them.
pub(super) fn ran() -> (Vec<(String, u64)>, i64) {
    let log = std::mem::take(&mut *LOG.lock().unwrap_or_else(PoisonError::into_inner));
    let lines = log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let fields: Vec<Value> = lines
        .map(|line| serde_json::from_slice::<Value>(line).expect("a line of the log")["fields"].take())
        .collect();
    let statement = |fields: &Value| {
        (fields["statement"].as_str().expect("a name").to_owned(), fields["rows"].as_u64().expect("a number"))
    };
    let steps = fields.iter().map(|fields| fields["steps"].as_i64().unwrap_or(0)).sum();
    (fields.iter().map(statement).collect(), steps)
}

#[tokio::test]
async fn a_foreign_id_runs_the_statements_of_an_unknown_one_over_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let figure = folder.path().join("figure");
    // A separate process, so that only its own service logs.
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tenants::statements::process", "--nocapture"]).env(FIGURE_VARIABLE, &figure);
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    proof::record("tenants-statements", &fs::read_to_string(&figure).unwrap());
}

#[expect(clippy::disallowed_methods, reason = "it is a figure for people, and decides nothing")]
async fn micros_of(calls: &mut Pair, is_unknown: bool) -> u128 {
    let begun = Instant::now();
    calls.send(is_unknown).await;
    begun.elapsed().as_micros()
}

/// The process of the test above; otherwise it does nothing.
#[tokio::test]
async fn process() {
    let Some(figure) = std::env::var_os(FIGURE_VARIABLE) else { return };
    keep_statements();
    let mut world = World::open().await;
    let (mut attacks_made, mut statements, mut steps_more, mut breaches) = (0, 0, 0, Vec::new());
    let mut micros = [Vec::new(), Vec::new()];
    let attacks = cases::all().flat_map(|case| case.targets().into_iter().map(move |target| (case, target)));
    let with_id = |(case, target): &(&cases::Case, Target)| {
        matches!(case.whose, For::Program | For::Member) && *target != Target::Nothing
    };
    for (case, target) in attacks.filter(with_id) {
        let mut attack = Attack::prepare(&mut world, case, target).await;
        let mut calls = attack.pair().await;
        // Fills the caches.
        calls.send_both().await;
        ran();
        let mut work = Vec::new();
        for is_unknown in [false, true] {
            calls.send(is_unknown).await;
            work.push(ran());
        }
        let [(foreign, more), (unknown, steps)] = &work[..] else { unreachable!("two calls") };
        let more = more - steps;
        if foreign != unknown || more.abs() > STEPS_MORE_MAX {
            breaches.push(format!(
                "{} {target:?}: {foreign:?}, not {unknown:?}, {more} steps more",
                case.operation
            ));
        }
        (attacks_made, statements, steps_more) =
            (attacks_made + 1, statements + foreign.len(), steps_more.max(more));
        for _ in 0..TIMES {
            for (is_unknown, micros) in [false, true].into_iter().zip(&mut micros) {
                micros.push(micros_of(&mut calls, is_unknown).await);
            }
        }
    }
    assert!(statements > attacks_made, "too few statements were seen: {statements}");
    assert!(breaches.is_empty(), "what is foreign, and what nobody has: {breaches:#?}");
    let [foreign, unknown] = micros.map(|mut micros| {
        micros.sort_unstable();
        micros[micros.len() / 2]
    });
    let text = format!(
        "{attacks_made} attacks: foreign and unknown ids run the same {statements} statements over the same rows, at most {steps_more} steps of \
         SQLite apart; medians {foreign} µs and {unknown} µs"
    );
    fs::write(figure, text).unwrap();
    world.app.stop().await;
}
