//! Each call of a member or a program reads a bounded number of rows, and holds a bounded part of what it is about in memory.
//!
//! A new operation needs a case in `cases`, and is called here about a batch and a file that exceed the budgets.

use std::fs;
use std::process::Stdio;

use tokio::process::Command;

use super::attack::{Attack, Target};
use super::callers::Caller;
use super::cases::{self, Case, For, Noun, Stage};
use super::sent::Call;
use super::statements::{keep_statements, ran};
use super::world::{Made, Party, World};
use crate::support::Client;

/// The file for the figures of the process below.
const FIGURE_VARIABLE: &str = "OVERNIGHT_BUDGETS_FIGURE";

/// The requests of a batch and the lines of a file, with prompts of this length: 52 MB.
const SCALE: (usize, usize) = (800, 64 << 10);

/// Two pages of 16 MiB each, and what a call needs besides.
const MEMORY_MAX: u64 = 40 << 20;

/// Rows of a call whose answer is short. A longer answer may need one more for each of these bytes.
const ROWS_MAX: u64 = 1_100;
const BYTES_PER_ROW: usize = 128;

/// Rows for each request of a batch whose whole content is read, or that is changed or deleted with its requests.
const ROWS_PER_REQUEST: usize = 10;

/// Things that are large in this test.
const LARGE: [Noun; 7] = [
    Noun::Batch,
    Noun::RequestOfBatch,
    Noun::MessageBatch,
    Noun::BatchInput,
    Noun::BatchOutput,
    Noun::BatchErrors,
    Noun::File,
];

#[tokio::test]
#[cfg_attr(not(target_os = "linux"), ignore = "only Linux tells the peak of memory since a call began")]
async fn each_call_has_a_budget_of_rows_and_memory() {
    let folder = tempfile::tempdir().unwrap();
    let figure = folder.path().join("figure");
    // A process of its own, which gives freed memory back, so that each peak is that of one call.
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tenants::budgets::process", "--nocapture"]).env(FIGURE_VARIABLE, &figure);
    command.envs([
        ("MALLOC_MMAP_THRESHOLD_", "16384"),
        ("MALLOC_TRIM_THRESHOLD_", "0"),
        ("MALLOC_ARENA_MAX", "1"),
    ]);
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await.unwrap();
    let told = || String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}", told());
    println!("{}", fs::read_to_string(&figure).unwrap());
}

/// Forgets the peak of memory, and returns the memory in use.
fn begin_peak() -> u64 {
    fs::write("/proc/self/clear_refs", "5").expect("a new peak");
    memory("VmRSS:")
}

fn memory(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the status");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

/// The process of the test above; otherwise it does nothing.
#[tokio::test]
async fn process() {
    let Some(figure) = std::env::var_os(FIGURE_VARIABLE) else { return };
    keep_statements();
    let mut world = World::open().await;
    world.scale = SCALE;
    let mut large = Vec::new();
    // Those that are live come last: the others end all requests.
    for stage in [Stage::Completed, Stage::Failed, Stage::Live] {
        large.push((stage, world.make(Party::Owner, Noun::RequestOfBatch, stage).await));
    }
    let file = world.make(Party::Owner, Noun::File, Stage::Live).await;
    let (mut table, mut breaches) = (Vec::new(), Vec::new());
    let is_own = |case: &&Case| matches!(case.whose, For::Program | For::Member);
    let with_targets = |case: &'static Case| case.targets().into_iter().map(move |target| (case, target));
    let mut tried: Vec<_> = cases::all().filter(is_own).flat_map(with_targets).collect();
    tried.retain(|(case, target)| is_read(case) || large_in(*target).is_some());
    tried.sort_by_key(|(case, _)| !is_read(case));
    for (case, target) in tried {
        let (is_change, noun) = (!is_read(case), large_in(target));
        // A call that changes a large thing may use it up, so it gets one of its own.
        world.scale = if is_change { SCALE } else { (1, 0) };
        let mut attack = Attack::prepare(&mut world, case, target).await;
        if let Some(noun) = noun.filter(|_| !is_change) {
            attack.own = named(noun, case.stage, &large, &file);
        }
        let call = attack.own_call();
        let mut owner = world.caller(case.whose, Party::Owner).await;
        let (mut rows, mut bytes, mut memory_max) = (0, 0, 0);
        // The first read may measure what later ones know.
        for _ in 0..if is_change { 1 } else { 2 } {
            let taken = take(&mut owner, &call).await;
            let is_served = taken.status < 400 || case.refused == Some(taken.status);
            assert!(is_served, "{}: {}", case.operation, taken.status);
            (rows, bytes) = (taken.rows, taken.bytes);
            // A browser of these tests keeps the answer twice, in this process.
            let kept = if matches!(owner, Caller::Browser(_)) { 2 * bytes as u64 } else { 0 };
            if taken.memory > MEMORY_MAX + kept {
                breaches.push(format!("{} {target:?}: {} MiB of memory", case.operation, taken.memory >> 20));
            }
            memory_max = memory_max.max(taken.memory);
        }
        let is_of_all = is_change || ["/content", "/results"].iter().any(|end| case.path().ends_with(end));
        let of_all = if is_of_all { ROWS_PER_REQUEST * SCALE.0 } else { 0 };
        if rows > ROWS_MAX + (bytes / BYTES_PER_ROW + of_all) as u64 {
            breaches.push(format!("{} {target:?}: {rows} rows for {bytes} bytes", case.operation));
        }
        let mib = memory_max >> 20;
        table.push((rows, format!("| `{}` | {target:?} | {rows} | {bytes} | {mib} |\n", case.operation)));
    }
    assert!(table.len() > 50, "only {} calls were made", table.len());
    assert!(breaches.is_empty(), "calls beyond their budgets: {breaches:#?}");
    table.sort_by_key(|(rows, _)| std::cmp::Reverse(*rows));
    let head = "| call | about | rows | bytes of the answer | MiB |\n|---|---|---|---|---|\n";
    fs::write(figure, head.to_owned() + &table.into_iter().map(|(_, line)| line).collect::<String>())
        .unwrap();
    world.app.stop().await;
}

/// What a call took.
struct Taken {
    status: u16,
    rows: u64,
    memory: u64,
    /// Of the answer.
    bytes: usize,
}

async fn take(owner: &mut Caller, call: &Call) -> Taken {
    ran();
    let before = begin_peak();
    let (status, bytes) = match owner {
        // Not kept: it may be long.
        Caller::Program(client) if call.method == "GET" => {
            let with = |client: Client, (name, value): &(String, String)| client.with(name, value);
            call.headers.iter().fold(client.clone(), with).drain(&call.path).await
        }
        caller => {
            let answered = caller.send(call).await;
            (answered.status, answered.body.len())
        }
    };
    let memory = memory("VmHWM:").saturating_sub(before);
    Taken { status, rows: ran().0.iter().map(|(_, rows)| rows).sum(), memory, bytes }
}

fn is_read(case: &Case) -> bool {
    case.method() == "GET"
}

fn large_in(target: Target) -> Option<Noun> {
    match target {
        Target::Thing(noun) if LARGE.contains(&noun) => Some(noun),
        _ => None,
    }
}

/// The large thing of this kind, whose requests are at this stage.
fn named(noun: Noun, stage: Stage, large: &[(Stage, Made)], file: &Made) -> Made {
    let (_, batch) = large.iter().find(|(of, _)| *of == stage).expect("a batch of each stage");
    let renamed = |prefix: &str| Made { id: batch.within.replace("batch_", prefix), within: String::new() };
    match noun {
        Noun::File => file.clone(),
        Noun::MessageBatch => renamed("msgbatch_"),
        Noun::BatchInput => renamed("file_input_"),
        Noun::BatchOutput => renamed("file_output_"),
        Noun::BatchErrors => renamed("file_errors_"),
        Noun::RequestOfBatch => batch.clone(),
        _ => renamed("batch_"),
    }
}
