//! Chat templates are rendered in processes with limits. The library bounds the instructions of a template, but not their memory, nor the
//! depth of its source: a model file could end the engine with both.
//!
//! A process reads lines of JSON: first the template, then conversations. It answers each with a line, and the bytes of the prompt after it.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::process::ExitStatusExt,
    process::{Child, ChildStdin, ChildStdout},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use minijinja::{Error, ErrorKind, Value};
use rustix::process::Signal;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::ChatTemplate;
use crate::{clock::Stopwatch, limited};

/// The first argument of this program as a process that renders.
pub const RENDER: &str = "render-chats";

/// Processor time of a process. Its template and each conversation have at least 2 s.
const SECONDS: u64 = 3;
/// A process that was busy for so long is replaced by a new one.
const BUSY_MAX: Duration = Duration::from_secs(1);
/// Memory of a process. A long conversation takes 5 MiB.
const BYTES: u64 = 256 * 1024 * 1024;
/// A body has 8 MiB, and a template writes some of its texts twice.
const PROMPT_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Characters of an error that a template raises.
const WORDS_MAX: usize = 1_000;
/// Bytes of the line before a prompt: such an error, with escapes.
const LINE_BYTES_MAX: u64 = 16 * 1024;
/// The exit code of a process that could not work.
const BROKEN: Option<i32> = Some(1);

/// A model's template, and its variables that are the same for every conversation.
#[derive(Debug, Serialize, Deserialize)]
pub struct Source {
    /// `None`: ChatML's.
    pub template: Option<String>,
    pub bos_token: String,
    pub eos_token: String,
    /// The texts of control tokens, which stay text in the words of clients.
    pub controls: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Conversation<'a> {
    messages: Cow<'a, [Value]>,
    tools: Cow<'a, Value>,
    arguments: Cow<'a, BTreeMap<String, Value>>,
}

/// The reasons for which a conversation has no prompt.
#[derive(Debug, Serialize, Deserialize, thiserror::Error)]
pub enum Unrendered {
    /// In the words of the template, or of the library.
    #[error("{0}")]
    Refused(String),
    #[error("it nests too deeply, or takes more than {SECONDS} s of processor time or {} MiB", BYTES >> 20)]
    TooComplex,
    #[serde(skip)]
    #[error("the machine is too busy to render it")]
    Busy,
    #[serde(skip)]
    #[error("the process that renders it broke: {0}")]
    Broken(#[from] io::Error),
}

impl From<Error> for Unrendered {
    fn from(objection: Error) -> Self {
        if objection.kind() == ErrorKind::OutOfFuel {
            return Self::TooComplex;
        }
        Self::Refused(short(objection.detail().map_or(objection.kind().to_string().as_str(), |words| words)))
    }
}

fn short(words: &str) -> String {
    words.chars().take(WORDS_MAX).collect()
}

/// The processes of one template.
#[derive(Debug)]
pub struct Renderer {
    source: Vec<u8>,
    idle: Mutex<Vec<Process>>,
}

impl Renderer {
    /// Fails if the template cannot be read.
    pub fn start(source: &Source) -> Result<Self, Unrendered> {
        let renderer = Self { source: line(source)?, idle: Mutex::default() };
        let process = renderer.open()?;
        renderer.idle().push(process);
        Ok(renderer)
    }

    /// See [`ChatTemplate::render`]. It blocks.
    pub fn render(
        &self,
        messages: &[Value],
        tools: &Value,
        arguments: &BTreeMap<String, Value>,
    ) -> Result<String, Unrendered> {
        let conversation = Conversation {
            messages: messages.into(),
            tools: Cow::Borrowed(tools),
            arguments: Cow::Borrowed(arguments),
        };
        let conversation = line(&conversation)?;
        let idle = self.idle().pop();
        let mut process = idle.map_or_else(|| self.open(), Ok)?;
        let prompt = process.ask(&conversation);
        if process.busy < BUSY_MAX {
            self.idle().push(process);
        }
        prompt
    }

    fn open(&self) -> Result<Process, Unrendered> {
        let mut process = Process::start()?;
        process.ask(&self.source)?;
        Ok(process)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Process>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Ends when this is dropped.
#[derive(Debug)]
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    busy: Duration,
}

impl Process {
    fn start() -> io::Result<Self> {
        let mut child = limited::command(RENDER)?.spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        Ok(Self { child, input, output: BufReader::new(output), busy: Duration::ZERO })
    }

    fn ask(&mut self, line: &[u8]) -> Result<String, Unrendered> {
        let since = Stopwatch::start();
        let answer = self.exchange(line);
        self.busy += since.elapsed();
        answer.unwrap_or_else(|fault| {
            self.busy = BUSY_MAX;
            Err(self.ended(fault))
        })
    }

    fn exchange(&mut self, line: &[u8]) -> io::Result<Result<String, Unrendered>> {
        self.input.write_all(line)?;
        let mut head = Vec::new();
        self.output.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut head)?;
        let length: Result<usize, Unrendered> = serde_json::from_slice(&head)?;
        let length = match length {
            Ok(length) if length <= PROMPT_BYTES_MAX => length,
            Ok(_) => return Err(io::ErrorKind::InvalidData.into()),
            Err(objection) => return Ok(Err(objection)),
        };
        let mut prompt = vec![0; length];
        self.output.read_exact(&mut prompt)?;
        Ok(Ok(String::from_utf8(prompt).map_err(io::Error::other)?))
    }

    /// Why the process ended without an answer.
    fn ended(&mut self, fault: io::Error) -> Unrendered {
        // Has no effect on one that has ended by itself.
        let _ = self.child.kill();
        match self.child.wait() {
            // Not by its own limits: perhaps the memory of the machine is full.
            Ok(status) if status.signal() == Some(Signal::KILL.as_raw()) => Unrendered::Busy,
            Ok(status) if status.code() != BROKEN => Unrendered::TooComplex,
            _ => Unrendered::Broken(fault),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The process: renders until its input ends.
pub fn render_chats() -> io::Result<()> {
    limited::limit_process(SECONDS, BYTES)?;
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let Some(source) = next::<Source>(&mut input)? else { return Ok(()) };
    let template = match ChatTemplate::compile(source.template.as_deref(), source.bos_token, source.eos_token)
    {
        Ok(template) => template.guarding(source.controls),
        Err(fault) => return answer(&mut output, Err(Unrendered::Refused(short(&fault.to_string())))),
    };
    answer(&mut output, Ok(String::new()))?;
    while let Some(Conversation { messages, tools, arguments }) = next(&mut input)? {
        answer(&mut output, template.render(&messages, &tools, &arguments).map_err(Into::into))?;
    }
    Ok(())
}

fn next<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line)?;
    if line.is_empty() { Ok(None) } else { Ok(Some(serde_json::from_slice(&line)?)) }
}

fn answer(output: &mut impl Write, prompt: Result<String, Unrendered>) -> io::Result<()> {
    let prompt = prompt.and_then(|prompt| match prompt.len() {
        ..=PROMPT_BYTES_MAX => Ok(prompt),
        _ => Err(Unrendered::TooComplex),
    });
    output.write_all(&line(&prompt.as_ref().map(String::len))?)?;
    output.write_all(prompt.as_deref().unwrap_or_default().as_bytes())?;
    output.flush()
}
