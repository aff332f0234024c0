//! The program overnight-bench: the benchmarks, which `overnight bench` starts.
//!
//! It is a separate program so that the first build of the service compiles neither the benchmarks nor their references. It must be in the
//! same folder as `overnight`, which it starts as the service under measurement.

mod program;

use std::process::ExitCode;

use clap::Parser;

use crate::program::{Arguments, Failure};

// The references use the service's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Data folders are private to their owner, like the service's.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(program::run(arguments)),
        Err(error) => Err(Failure::unusable(format!("no threads can be started: {error}"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            program::say(&format!("error: {failure}"));
            failure.into()
        }
    }
}
