//! The trial of a form: a separate process compiles it, and the system ends that process at its limits. The library's limits do not bound
//! every schema, and a thread can neither be ended nor return its memory.
//!
//! The process is this program again, with a vocabulary of the 256 bytes. The cost of a form depends little on the vocabulary, so a form that
//! passes costs the engine about the same.

use std::{
    io::{self, Read, Write},
    os::unix::process::ExitStatusExt,
    process::ExitStatus,
    time::Duration,
};

use llguidance::toktrie::ApproximateTokEnv;
use rustix::process::{Signal, nice};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
    runtime::Handle,
    time::timeout,
};

use super::{
    Reviewed, Shape, Unkept,
    grammar::unkept,
    grammars::{compile, factory},
    limits::{COMPILING_BYTES, COMPILING_SECONDS, NICENESS, STACK_BYTES},
};
use crate::{limited, memory};

/// The first argument of this program as the process of a trial.
pub const CHECK_FORM: &str = "check-form";

/// How long a trial may take with the processor time that it gets. The limit of processor time decides, unless the machine is overloaded.
const WAIT: Duration = Duration::from_secs(20);

/// Why a trial has no verdict.
#[derive(Debug, thiserror::Error)]
pub enum Undecided {
    #[error(transparent)]
    Refused(#[from] Unkept),
    #[error("the check of the form did not start: {0}")]
    NotStarted(#[from] io::Error),
    #[error("the check of the form ended without a verdict")]
    Broken,
    #[error("the machine is too busy to check the form")]
    Busy,
}

/// Compiles a form on trial, and returns about how many bytes its grammar takes. Ends with the future, when the client leaves.
pub async fn try_out(form: &Reviewed) -> Result<usize, Undecided> {
    let mut process = Process::start()?;
    let finished = timeout(WAIT, process.finish(&form.text)).await;
    let (status, verdict) = finished.map_err(|_| Undecided::Busy)??;
    if status.signal() == Some(Signal::KILL.as_raw()) {
        // Not by its own limits: perhaps the memory of the machine is full.
        return Err(Undecided::Busy);
    }
    if status.code().is_none() {
        let limit = format!(
            "compiling it takes more than {COMPILING_SECONDS} s of processor time or {} MiB",
            COMPILING_BYTES >> 20
        );
        return Err(Unkept::too_complex(form.form.field, &limit).into());
    }
    let verdict: Result<usize, String> = serde_json::from_slice(&verdict).map_err(|_| Undecided::Broken)?;
    verdict.map_err(|fault| unkept(form.form.field, &fault).into())
}

/// Ends when this is dropped.
struct Process(Option<Child>);

impl Process {
    fn start() -> io::Result<Self> {
        let child = Command::from(limited::command(CHECK_FORM)?).kill_on_drop(true).spawn()?;
        Ok(Self(Some(child)))
    }

    async fn finish(&mut self, text: &str) -> io::Result<(ExitStatus, Vec<u8>)> {
        let child = self.0.as_mut().ok_or(io::ErrorKind::NotFound)?;
        if let Some(mut input) = child.stdin.take() {
            // Fails if the process has ended, which its status tells.
            let _ = input.write_all(text.as_bytes()).await;
        }
        let mut verdict = Vec::new();
        if let Some(mut output) = child.stdout.take() {
            output.read_to_end(&mut verdict).await?;
        }
        Ok((child.wait().await?, verdict))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let (Some(mut child), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            // Dropped alone, an ended process would stay in the system's table until the next one ends.
            runtime.spawn(async move { child.kill().await });
        }
    }
}

/// The process of a trial: reads a form from standard input and writes the verdict to standard output.
pub fn check_form() -> io::Result<()> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    // The unit of systemd forbids it.
    let _ = nice(NICENESS);
    limited::limit_process(COMPILING_SECONDS, STACK_BYTES as u64 + COMPILING_BYTES)?;
    let verdict = serde_json::to_vec(&check(&text))?;
    io::stdout().write_all(&verdict)
}

/// The bytes that the grammar of a form takes, or why it cannot be compiled.
pub(super) fn check(text: &str) -> Result<usize, String> {
    let resident = || memory::own("VmRSS:").unwrap_or(0);
    let shape: Shape = text.parse()?;
    let factory = factory(&ApproximateTokEnv::single_byte_env())?;
    let before = resident();
    let parser = compile(&factory, &shape)?;
    let used = parser.deep_clone();
    let bytes = resident().saturating_sub(before);
    drop((parser, used));
    usize::try_from(bytes).map_err(|fault| fault.to_string())
}
