//! Behaviours of real engines and gateways, one row each, with a public source that shows the behaviour. A prompt asks for one by its name:
//! `[[sim:behaviour=vllm-abort]]`.
//!
//! To add a behaviour, add a row to the file of its engine. The tests of the service send each row over HTTP and check its [`Outcome`];
//! `UPDATE=1 cargo test -p overnight-testkit behaviours` writes the row into `docs/engine-behaviours.md`.

mod azure;
mod bodies;
mod gateways;
mod groq;
mod hosted;
mod litellm;
mod llama_cpp;
mod lm_studio;
mod ollama;
mod openai;
mod openrouter;
mod servers;
mod sglang;
mod tgi;
mod vllm;

use super::faults::{Canned, Fault};

/// The rows of each file.
const FILES: [&[Behaviour]; 14] = [
    vllm::ROWS,
    sglang::ROWS,
    llama_cpp::ROWS,
    tgi::ROWS,
    ollama::ROWS,
    lm_studio::ROWS,
    servers::ROWS,
    openai::ROWS,
    azure::ROWS,
    groq::ROWS,
    openrouter::ROWS,
    hosted::ROWS,
    litellm::ROWS,
    gateways::ROWS,
];

/// The headers of an answer, unless a row has its own.
const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

/// A behaviour of an engine, and the outcome that the service must give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// The engine or gateway.
    pub engine: &'static str,
    pub name: &'static str,
    /// A URL that shows the behaviour.
    pub source: &'static str,
    /// The bytes that the engine sends, or its action.
    pub fault: Fault,
    pub outcome: Outcome,
    /// A text that the client must be able to read: in the message of the attempt, in the result or in a warning.
    pub says: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Completed,
    /// The request completes with a warning about this part of the result.
    CompletedWithWarning(&'static str),
    /// The request completes after it was sent again with the other name of the output limit.
    CompletedByOtherName,
    /// With a price, the engine is asked once more; without one, the request completes with a warning about its usage.
    NoUsage,
    /// The attempt failed, and counts.
    Retried,
    /// The same; the answer cannot be read, so attempts are limited.
    Unreadable,
    /// No answer came in time.
    TimedOut,
    /// The attempt failed by the engine's fault, and does not count.
    RetriedUncounted,
    /// The engine has no room, and named this time in milliseconds if any.
    Waits(Option<i64>),
    /// The request fails, because the engine works.
    FailsAtOnce,
    /// The engine refused in words that depend on chance. The attempt counts; attempts are limited.
    Unlucky,
    /// The probe is refused with the same message, so the engine is paused and no request fails.
    PausesIfEveryRequest,
}

impl Behaviour {
    /// Every row, in the order of the document.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        FILES.into_iter().flatten()
    }

    /// The row of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().find(|it| it.name == name)
    }

    const fn of(engine: &'static str, name: &'static str, source: &'static str) -> Self {
        let fault = Fault::Canned(Canned { status: 200, headers: JSON, body: &[] });
        Self { engine, name, source, fault, outcome: Outcome::Completed, says: None }
    }

    const fn answers(self, status: u16, body: &'static str) -> Self {
        self.answers_bytes(status, body.as_bytes())
    }

    const fn answers_bytes(self, status: u16, body: &'static [u8]) -> Self {
        self.acts(Fault::Canned(Canned { status, headers: JSON, body }))
    }

    /// Replaces the headers of the answer.
    const fn with(self, headers: &'static [(&'static str, &'static str)]) -> Self {
        match self.fault {
            Fault::Canned(canned) => self.acts(Fault::Canned(Canned { headers, ..canned })),
            _ => self,
        }
    }

    /// Compresses the body of the answer.
    const fn gzipped(self) -> Self {
        match self.fault {
            Fault::Canned(canned) => self.acts(Fault::Gzipped(canned)),
            _ => self,
        }
    }

    /// Gives the answer only to a request that has this field.
    const fn refuses(self, field: &'static str) -> Self {
        match self.fault {
            Fault::Canned(canned) => self.acts(Fault::Refusal(field, canned)),
            _ => self,
        }
    }

    const fn acts(mut self, fault: Fault) -> Self {
        self.fault = fault;
        self
    }

    const fn becomes(mut self, outcome: Outcome) -> Self {
        self.outcome = outcome;
        self
    }

    const fn says(mut self, text: &'static str) -> Self {
        self.says = Some(text);
        self
    }
}
