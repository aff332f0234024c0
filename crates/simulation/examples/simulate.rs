//! Replays seeds of the simulation: `simulate FIRST_SEED [HOURS [COUNT]]`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

use std::process::ExitCode;

use overnight_simulation::simulate;

const HOURS: u32 = 48;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: u64| match arguments.get(place) {
        Some(text) => text.parse().ok(),
        None => Some(default),
    };
    let (Some(first), Some(hours), Some(count)) = (number(0, 1), number(1, HOURS.into()), number(2, 1))
    else {
        eprintln!("usage: simulate FIRST_SEED [HOURS [COUNT]]");
        return ExitCode::from(2);
    };
    let hours = u32::try_from(hours).unwrap_or(HOURS);
    let mut exit = ExitCode::SUCCESS;
    for seed in first..first.saturating_add(count) {
        match simulate(seed, hours) {
            Ok(run) => println!("seed {seed}, trace {:016x}: {}", run.trace_hash, run.summary),
            Err(failure) => {
                eprintln!("{failure}");
                exit = ExitCode::FAILURE;
            }
        }
    }
    exit
}
