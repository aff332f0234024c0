//! Files of batch lines, and the batches that take their requests from one.

use bytes::Bytes;

use crate::ids::FileId;

/// What the lines of a file ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// A chat completion.
    ChatCompletions,
    /// A response, which becomes a chat completion.
    Responses,
    /// A message, in Anthropic's terms. Files with such lines are made by the service and by no client; what is wrong with a line is
    /// told as the result of its request.
    Messages,
}

impl Endpoint {
    /// The endpoints that the lines of clients' files may name.
    pub const ALL: [Self; 2] = [Self::ChatCompletions, Self::Responses];

    /// The `url` of a line, and the `endpoint` of a batch.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
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
    pub endpoint: Option<Endpoint>,
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
    pub endpoint: Endpoint,
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
