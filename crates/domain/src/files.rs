//! Files of batch lines, and the batches made from them.

use bytes::Bytes;

use crate::endpoints::Endpoint;
use crate::ids::FileId;

/// A file that is read from a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchFile {
    /// Its requests, if they were not uploaded as a file.
    Input,
    /// Its answers.
    Output,
    /// The errors of its requests.
    Errors,
}

/// The endpoint of a file's lines, by the client's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BatchEndpoint {
    /// A chat completion.
    ChatCompletions,
    /// A response, which is converted to a chat completion.
    Responses,
    /// A completion of a prompt without a conversation.
    Completions,
    /// Embeddings.
    Embeddings,
    /// A message, in Anthropic's terms. The service creates files with such lines, and clients cannot; a faulty line becomes the result of
    /// its request.
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

    /// The engine's endpoint for such lines.
    pub const fn of_request(self) -> Endpoint {
        match self {
            Self::ChatCompletions | Self::Responses | Self::Messages => Endpoint::ChatCompletions,
            Self::Completions => Endpoint::Completions,
            Self::Embeddings => Endpoint::Embeddings,
        }
    }

    /// The endpoint with this name on the wire.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|endpoint| endpoint.as_str() == name)
    }

    /// The endpoint with this stored name.
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
    /// When it is deleted; `None` if it does not expire.
    pub expires_at: Option<i64>,
    /// Its length.
    pub bytes: i64,
    /// The client's name of it.
    pub name: String,
    /// The endpoint of its lines; `None` without lines.
    pub endpoint: Option<BatchEndpoint>,
    /// Number of valid lines.
    pub lines: i64,
    /// Number of faulty lines.
    pub fault_count: i64,
    /// The first faults, a JSON array; `None` if all lines are valid.
    pub faults: Option<Bytes>,
}

/// The source of a batch's requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchInput {
    /// The file, which may have been deleted since.
    pub file: FileId,
    /// The endpoint of its lines.
    pub endpoint: BatchEndpoint,
    /// Number of lines that are to become requests.
    pub lines: i64,
    /// Number of lines that have become requests.
    pub filled: i64,
    /// Whether lines are still to become requests.
    pub is_filling: bool,
    /// Number of refused lines: if there are any, no line became a request.
    pub fault_count: i64,
    /// As [`FileRecord::faults`].
    pub faults: Option<Bytes>,
    /// Whether the output file was deleted.
    pub is_output_deleted: bool,
    /// Whether the error file was deleted.
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
