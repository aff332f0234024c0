//! The program overnight-bench: the benchmarks, which `overnight bench` starts.
//!
//! It is a program of its own so that the first build of the service compiles neither the benchmarks nor what they measure
//! against. It stands beside `overnight`, which it starts as the service under measurement.

mod program;

use std::process::ExitCode;

use clap::Parser;

use crate::program::{Arguments, Failure};

// The references use the allocator of the service.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Folders of data are for their owner only, as those of the service are.
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
