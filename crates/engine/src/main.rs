//! The program overnight-engine: llama.cpp behind the OpenAI HTTP API, for one machine.

use std::{
    env,
    ffi::OsStr,
    io::{self, Write},
    process::ExitCode,
};
#[cfg(target_os = "linux")]
use std::{os::unix::process::CommandExt, process::Command};

use clap::{Parser, error::ErrorKind};
#[cfg(target_os = "linux")]
use overnight_engine::memory;
use overnight_engine::{
    args::Arguments, constraint, cpu, http::PREPARING_THREADS, llama::Devices, logging, serve::serve,
    template,
};
use tokio::runtime;

/// Stack of a thread that tokenizes, for the recursion that `llama/stretches.rs` bounds.
const STACK_BYTES: usize = 64 * 1024 * 1024;

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let first = env::args_os().nth(1);
    let limited = match first.as_deref().and_then(OsStr::to_str) {
        Some(constraint::CHECK_FORM) => Some(constraint::check_form()),
        Some(template::RENDER) => Some(template::render_chats()),
        _ => None,
    };
    if let Some(done) = limited {
        return done.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let arguments = match Arguments::try_parse() {
        Err(told) if told.kind() != ErrorKind::DisplayVersion => told.exit(),
        arguments => arguments,
    };
    #[cfg(target_os = "linux")]
    ask_for_large_pages();
    logging::init();
    let outcome = check_processor()
        .and_then(|()| arguments.map_or_else(|version| tell_version(&version.to_string()), run));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tracing::error!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Fails if this program cannot compute on this machine's processor.
fn check_processor() -> Outcome {
    let missing = cpu::missing_features();
    if !missing.is_empty() {
        let remedy = "built with GGML_NATIVE=OFF it runs on every processor with AVX2";
        let lacks = missing.join(", ");
        return Err(
            format!("this processor lacks {lacks}, which this program was built for; {remedy}").into()
        );
    }
    if cfg!(feature = "cpu-variants") && !Devices::find().has_processor() {
        let fault = "no libggml-cpu-*.so for this processor is beside this program: copy them there";
        return Err(fault.into());
    }
    Ok(())
}

/// Restarts this program in place with large pages. The C library reads that setting before anything else runs.
#[cfg(target_os = "linux")]
fn ask_for_large_pages() {
    let (name, value) = memory::LARGE_PAGES;
    if env::var_os(name).is_none()
        && let Ok(own) = env::current_exe()
    {
        // Returns only on failure; then the pages are small.
        let _ = Command::new(own).args(env::args_os().skip(1)).env(name, value).exec();
    }
}

/// Writes one line: the version, and the devices. `overnight doctor` shows it.
fn tell_version(version: &str) -> Outcome {
    Ok(writeln!(io::stdout(), "{} on {}", version.trim(), Devices::find())?)
}

fn run(arguments: Arguments) -> Outcome {
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(PREPARING_THREADS)
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(serve(arguments));
    runtime.shutdown_background();
    outcome
}
