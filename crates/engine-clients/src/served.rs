//! The endpoints at which each model has answered, which distinguish an engine without an endpoint from one without the model.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use overnight_domain::endpoints::Endpoint;
use overnight_domain::scheduler::AttemptError;

/// For each model in the settings, by our name: bits of [`asked`] and [`answered`].
pub(super) struct ServedEndpoints(BTreeMap<String, AtomicU8>);

const fn asked(endpoint: Endpoint) -> u8 {
    1 << endpoint.code()
}

const fn answered(endpoint: Endpoint) -> u8 {
    1 << (endpoint.code() + 4)
}

impl ServedEndpoints {
    pub(super) fn new<'a>(models: impl Iterator<Item = &'a String>) -> Self {
        Self(models.map(|model| (model.clone(), AtomicU8::new(0))).collect())
    }

    pub(super) fn note_asked(&self, model: &str, endpoint: Endpoint) {
        self.note(model, asked(endpoint));
    }

    pub(super) fn note_answered(&self, model: &str, endpoint: Endpoint) {
        self.note(model, answered(endpoint));
    }

    fn note(&self, model: &str, bit: u8) {
        if let Some(known) = self.0.get(model) {
            known.fetch_or(bit, Relaxed);
        }
    }

    fn known(&self, model: &str) -> u8 {
        self.0.get(model).map_or(0, |known| known.load(Relaxed))
    }

    /// Whether the model has answered elsewhere, and never here.
    fn seems_to_lack(&self, model: &str, endpoint: Endpoint) -> bool {
        let known = self.known(model);
        let has_answered = |it: &Endpoint| known & answered(*it) > 0;
        !has_answered(&endpoint) && Endpoint::ALL.iter().any(has_answered)
    }

    /// The endpoints by which to probe the model, the likeliest first: those that answered, chat, and those it was asked at.
    pub(super) fn to_probe(&self, model: &str) -> Vec<Endpoint> {
        let known = self.known(model);
        let is_likely = |it: &Endpoint| known & answered(*it) > 0;
        let is_possible = |it: &Endpoint| *it == Endpoint::ChatCompletions || known & asked(*it) > 0;
        let likely = Endpoint::ALL.into_iter().filter(is_likely);
        likely.chain(Endpoint::ALL.into_iter().filter(|it| !is_likely(it) && is_possible(it))).collect()
    }

    /// The meaning of an error if the endpoint does not exist, but the model answers elsewhere: it is permanent. An answer that contains
    /// the engine's name of the model, `engine_model`, may be about the model.
    pub(super) fn judge(
        &self,
        model: &str,
        engine_model: &str,
        endpoint: Endpoint,
        error: AttemptError,
    ) -> AttemptError {
        match error {
            AttemptError::Status { code, message, .. }
                if says_nothing_is_there(code)
                    && self.seems_to_lack(model, endpoint)
                    && !names(&message, engine_model) =>
            {
                let message = format!("the engine does not serve {}: {message}", endpoint.noun());
                AttemptError::NotServed(Some(code), message)
            }
            error => error,
        }
    }
}

/// Whether a status may mean that an endpoint does not exist.
pub(super) const fn says_nothing_is_there(code: u16) -> bool {
    matches!(code, 404 | 405 | 501)
}

/// Whether a text contains this name as a word.
fn names(text: &str, name: &str) -> bool {
    let is_apart = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
    text.match_indices(name).any(|(start, _)| {
        let (before, after) = (text[..start].chars().next_back(), text[start + name.len()..].chars().next());
        is_apart(before) && is_apart(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: Endpoint = Endpoint::ChatCompletions;
    const EMBEDDINGS: Endpoint = Endpoint::Embeddings;

    fn judged(served: &ServedEndpoints, code: u16, message: &str) -> bool {
        let error = AttemptError::Status { code, message: message.to_owned(), retry_after_ms: None };
        matches!(served.judge("m", "org/m", EMBEDDINGS, error), AttemptError::NotServed(..))
    }

    #[test]
    fn an_engine_lacks_an_endpoint_where_it_answers_for_the_model_elsewhere_and_speaks_of_no_model() {
        let served = ServedEndpoints::new(["m".to_owned()].iter());
        assert!(!judged(&served, 404, "Not Found"), "it may lack the model");
        served.note_answered("m", CHAT);
        for (code, message, expected) in [
            (404, "Not Found", true),
            (405, "Method Not Allowed", true),
            (501, "This server does not support embeddings.", true),
            (404, "The model `org/m` does not exist.", false),
            (404, "no form/me here", true),
            (500, "Not Found", false),
        ] {
            assert_eq!(judged(&served, code, message), expected, "{code} {message}");
        }
        served.note_answered("m", EMBEDDINGS);
        assert!(!judged(&served, 404, "Not Found"), "it has served them");
    }

    #[test]
    fn a_probe_asks_where_the_model_answered_and_then_what_it_was_asked_for() {
        let served = ServedEndpoints::new(["m".to_owned()].iter());
        assert_eq!(served.to_probe("m"), [CHAT]);
        served.note_asked("m", EMBEDDINGS);
        assert_eq!(served.to_probe("m"), [CHAT, EMBEDDINGS]);
        served.note_answered("m", EMBEDDINGS);
        assert_eq!(served.to_probe("m"), [EMBEDDINGS, CHAT]);
        served.note_answered("m", CHAT);
        assert_eq!(served.to_probe("m"), [CHAT, EMBEDDINGS]);
        assert_eq!(served.to_probe("another"), [CHAT]);
    }
}
