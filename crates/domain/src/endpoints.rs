//! The endpoints of engines. Each has its own bodies and answers (`endpoint_rules`); all are queued, priced and settled alike.

/// The endpoint of an engine that a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Endpoint {
    /// A chat completion.
    ChatCompletions,
    /// A completion of a prompt without a conversation.
    Completions,
    /// Vectors of texts.
    Embeddings,
}

impl Endpoint {
    /// Every endpoint, in the order of their codes.
    pub const ALL: [Self; 3] = [Self::ChatCompletions, Self::Completions, Self::Embeddings];

    /// The `url` of a line, and the `endpoint` of a batch.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
            Self::Embeddings => "/v1/embeddings",
        }
    }

    /// The path under the base URL of an engine.
    pub fn path(self) -> &'static str {
        self.as_str().strip_prefix("/v1").unwrap_or_default()
    }

    /// The noun for it in sentences.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat completions",
            Self::Completions => "completions",
            Self::Embeddings => "embeddings",
        }
    }

    /// Whether its answers have output tokens, which have a limit.
    pub const fn has_output(self) -> bool {
        !matches!(self, Self::Embeddings)
    }

    /// The endpoint with this name on the wire.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|endpoint| endpoint.as_str() == name)
    }

    /// The number under which it is stored.
    pub const fn code(self) -> i64 {
        match self {
            Self::ChatCompletions => 0,
            Self::Completions => 1,
            Self::Embeddings => 2,
        }
    }

    /// The endpoint stored under this number.
    pub fn from_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|endpoint| endpoint.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_reads_back_from_its_name_and_its_code() {
        for endpoint in Endpoint::ALL {
            assert_eq!(Endpoint::parse(endpoint.as_str()), Some(endpoint));
            assert_eq!(Endpoint::from_code(endpoint.code()), Some(endpoint));
            assert_eq!(format!("/v1{}", endpoint.path()), endpoint.as_str());
        }
        assert_eq!((Endpoint::parse("/v1/responses"), Endpoint::from_code(3)), (None, None));
    }

    #[test]
    fn embeddings_alone_have_no_output_and_each_has_a_name_for_sentences() {
        assert_eq!(Endpoint::ALL.map(Endpoint::has_output), [true, true, false]);
        assert_eq!(Endpoint::ALL.map(Endpoint::noun), ["chat completions", "completions", "embeddings"]);
    }
}
