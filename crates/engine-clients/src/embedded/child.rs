//! One life of the child, until it answers.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

use super::Program;
use crate::engine_environment;
use crate::log_lines::{self, LastWords};

/// The line in which the child announces its address.
const ANNOUNCEMENT_BYTES_MAX: usize = 4 << 10;

const PROGRAM_NAME: &str = "overnight-engine";

/// A process with its pipes. If dropped, it is killed.
pub(super) struct Life {
    pub(super) process: Child,
    // The child ends when this is closed, so no orphan outlives the service.
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The readers of its output; they end when the child has closed it.
    pub(super) readers: JoinSet<()>,
    pub(super) last_words: LastWords,
    engine: String,
}

#[derive(Deserialize)]
struct Announcement {
    listening: SocketAddr,
}

impl Life {
    /// Starts the process, without sending its key.
    pub(super) fn begin(program: &Program, model: &Path) -> Result<Self, String> {
        let path = find(program)?;
        let start = || -> io::Result<Self> {
            let mut process = command(&path, program, model).spawn()?;
            let missing = || io::Error::other("a pipe to it is missing");
            let input = process.stdin.take().ok_or_else(missing)?;
            let output = BufReader::new(process.stdout.take().ok_or_else(missing)?);
            let errors = BufReader::new(process.stderr.take().ok_or_else(missing)?);
            let mut life = Self {
                process,
                input,
                output,
                readers: JoinSet::new(),
                last_words: LastWords::default(),
                engine: program.engine.clone(),
            };
            let (engine, last_words) = (life.engine.clone(), life.last_words.clone());
            life.readers.spawn(async move { log_lines::log(errors, &engine, &last_words).await });
            Ok(life)
        };
        start().map_err(|error| format!("{} cannot be started: {error}", path.display()))
    }

    /// Sends its key, as 64 hexadecimal digits.
    pub(super) async fn tell_key(&mut self, key: &str) -> io::Result<()> {
        self.input.write_all(format!("{{\"key\": \"{key}\"}}\n").as_bytes()).await?;
        self.input.flush().await
    }

    pub(super) async fn hear_address(&mut self) -> Result<SocketAddr, String> {
        let line = log_lines::next_line(&mut self.output, ANNOUNCEMENT_BYTES_MAX).await;
        let line = line.ok_or("it closed its output before saying where it listens")?;
        let Announcement { listening } = serde_json::from_str(&line)
            .map_err(|_| format!("its first line does not say where it listens: {line:?}"))?;
        Ok(listening)
    }

    /// Waits for the process to end, and logs the rest of its standard output.
    pub(super) async fn ended(&mut self) -> String {
        let waited = tokio::select! {
            biased;
            status = self.process.wait() => status,
            () = log_lines::log(&mut self.output, &self.engine, &self.last_words) => self.process.wait().await,
        };
        match waited {
            Ok(status) => format!("it ended with {status}"),
            Err(error) => format!("it cannot be waited for: {error}"),
        }
    }
}

/// The configured program, by default the one beside this program.
fn find(program: &Program) -> Result<PathBuf, String> {
    if let Some(path) = &program.config.engine_path {
        return Ok(path.clone());
    }
    let beside =
        std::env::current_exe().map_err(|error| format!("this program's own path is unknown: {error}"))?;
    let path = beside.with_file_name(format!("{PROGRAM_NAME}{}", std::env::consts::EXE_SUFFIX));
    if path.exists() {
        return Ok(path);
    }
    let wanted = "put it there, or say in `engine_path` where it is";
    Err(format!("the program {} is missing: {wanted}", path.display()))
}

fn command(path: &Path, program: &Program, model: &Path) -> Command {
    let mut arguments: Vec<OsString> = vec![
        "--model".into(),
        model.into(),
        "--name".into(),
        program.config.served_name.clone().into(),
        "--parallel".into(),
        program.config.parallel.to_string().into(),
    ];
    let config = &program.config;
    let numbers =
        [("--threads", config.threads), ("--context", config.context), ("--gpu-layers", config.gpu_layers)];
    for (flag, number) in numbers {
        if let Some(number) = number {
            arguments.extend([flag.into(), number.to_string().into()]);
        }
    }
    let mut command = Command::new(path);
    command
        .args(arguments)
        .env_clear()
        .envs(engine_environment())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // Ctrl-C in a terminal is for the service, which ends the child when it no longer needs it.
    #[cfg(unix)]
    command.process_group(0);
    command
}
