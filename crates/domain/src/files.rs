//! Files of batch lines, and the batches that take their requests from one.

use bytes::Bytes;

use crate::endpoints::Endpoint;
use crate::ids::FileId;

/// What the lines of a file ask for, as clients name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BatchEndpoint {
    /// A chat completion.
    ChatCompletions,
    /// A response, which becomes a chat completion.
    Responses,
    /// A completion of a prompt without a conversation.
    Completions,
    /// Vectors of texts.
    Embeddings,
    /// A message, in Anthropic's terms. Files with such lines are made by the service and by no client; what is wrong with a line is
    /// told as the result of its request.
    Messages,
}

impl BatchEndpoint {
    /// The endpoints that the lines of clients' files may name.
    pub const ALL: [Self; 4] = [Self::ChatCompletions, Self::Responses, Self::Completions, Self::Embeddings];

    /// The `url` of a line, and the `endpoint` of a batch.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
            Self::ChatCompletions | Self::Completions | Self::Embeddings => self.of_request().as_str(),
        }
    }

    /// What the requests of such lines ask engines for.
    pub const fn of_request(self) -> Endpoint {
        match self {
            Self::ChatCompletions | Self::Responses | Self::Messages => Endpoint::ChatCompletions,
            Self::Completions => Endpoint::Completions,
            Self::Embeddings => Endpoint::Embeddings,
        }
    }

    /// Reads the name on the wire.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|endpoint| endpoint.as_str() == name)
    }

    /// Reads the name as it is stored.
    pub fn parse_stored(name: &str) -> Option<Self> {
        Self::parse(name).or_else(|| Some(Self::Messages).filter(|endpoint| endpoint.as_str() == name))
    }
}

/// A file that a client uploaded. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRecord {
    /// Its identifier.
    pub id: FileId,
    /// When its upload began.
    pub created_at: i64,
    /// When it is deleted; `None` where nobody said.
    pub expires_at: Option<i64>,
    /// Its length.
    pub bytes: i64,
    /// Its name, as the client sent it.
    pub name: String,
    /// What its lines ask for; `None` where it holds none.
    pub endpoint: Option<BatchEndpoint>,
    /// How many lines make a request.
    pub lines: i64,
    /// How many lines make none.
    pub fault_count: i64,
    /// Why not: a JSON array, of the first of them; `None` where all do.
    pub faults: Option<Bytes>,
}

/// Where the requests of a batch come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchInput {
    /// The file, as it was named. It may have been deleted since.
    pub file: FileId,
    /// What its lines ask for.
    pub endpoint: BatchEndpoint,
    /// How many lines are to become requests.
    pub lines: i64,
    /// How many are requests.
    pub filled: i64,
    /// Whether lines are still to become requests.
    pub is_filling: bool,
    /// How many lines were refused: where there are any, none became a request.
    pub fault_count: i64,
    /// Why: as [`FileRecord::faults`].
    pub faults: Option<Bytes>,
    /// Whether the file of the answers was deleted.
    pub is_output_deleted: bool,
    /// Whether the file of the errors was deleted.
    pub is_error_deleted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_of_lines_reads_back_and_clients_cannot_name_that_of_messages() {
        let names = ["/v1/chat/completions", "/v1/responses", "/v1/completions", "/v1/embeddings"];
        assert_eq!(BatchEndpoint::ALL.map(BatchEndpoint::as_str), names);
        assert_eq!(names.map(BatchEndpoint::parse), BatchEndpoint::ALL.map(Some));
        assert_eq!(names.map(BatchEndpoint::parse_stored), BatchEndpoint::ALL.map(Some));
        let messages = BatchEndpoint::Messages.as_str();
        assert_eq!(messages, "/v1/messages");
        assert_eq!(BatchEndpoint::parse(messages), None);
        assert_eq!(BatchEndpoint::parse_stored(messages), Some(BatchEndpoint::Messages));
        assert_eq!(BatchEndpoint::parse_stored("/v1/images"), None);
    }
}
