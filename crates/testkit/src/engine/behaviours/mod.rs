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

/// Headers of an answer, unless a row has its own.
const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

/// A behaviour of an engine, and the outcome that the service must give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    pub engine: &'static str,
    pub name: &'static str,
    pub source: &'static str,
    pub fault: Fault,
    pub outcome: Outcome,
    /// The message of the attempt, the result or a warning must contain this text.
    pub says: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Completed,
    /// The request completes with a warning about this part of the result.
    CompletedWithWarning(&'static str),
    /// The request completes after a second attempt with the other name of the output limit.
    CompletedByOtherName,
    /// With a price, the engine is asked again; without one, the request completes with a warning about its usage.
    NoUsage,
    /// The attempt failed, and counts.
    Retried,
    /// The attempt failed, and counts. The answer cannot be read, so attempts are limited.
    Unreadable,
    TimedOut,
    /// The attempt failed by the engine's fault, and does not count.
    RetriedUncounted,
    /// The engine has no room, and may have named this time in milliseconds.
    Waits(Option<i64>),
    /// The request fails without another attempt, because the engine works.
    FailsAtOnce,
    /// The refusal may depend on chance. The attempt counts; attempts are limited.
    Unlucky,
    /// The probe is refused with the same message, so the engine is paused and no request fails.
    PausesIfEveryRequest,
}

impl Behaviour {
    pub fn all() -> impl Iterator<Item = &'static Self> {
        FILES.into_iter().flatten()
    }

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

    const fn with(self, headers: &'static [(&'static str, &'static str)]) -> Self {
        match self.fault {
            Fault::Canned(canned) => self.acts(Fault::Canned(Canned { headers, ..canned })),
            _ => self,
        }
    }

    const fn gzipped(self) -> Self {
        match self.fault {
            Fault::Canned(canned) => self.acts(Fault::Gzipped(canned)),
            _ => self,
        }
    }

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

    /// Like [`Self::becomes`]; the client also receives this text.
    const fn becomes_saying(mut self, outcome: Outcome, words: &'static str) -> Self {
        self.says = Some(words);
        self.becomes(outcome)
    }
}
