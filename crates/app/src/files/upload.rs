//! Receiving a file: each piece of whole lines is checked and stored before the next is read, so a file of any length needs the memory of
//! one piece.

use bytes::{Bytes, BytesMut};
use overnight_domain::faults::codes;
use overnight_domain::files::{BatchEndpoint, FileRecord};
use overnight_domain::money::Credits;
use overnight_domain::pieces::{PIECE_BYTES, first_lines, whole_lines};
use overnight_domain::scheduler::AccountKey;
use overnight_store::files::{self, FinishedFile, NewFile};
use overnight_store::idempotency_keys::Guarded;
use sha2::{Digest, Sha256};

use super::check::Check;
use super::coming::{ComingFile, given_up};
use crate::Services;
use crate::errors::AppError;
use crate::idempotency::{self, Answered, Repeatable};
use crate::parsing::parse;

/// Properties of a file. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTerms {
    pub name: String,
    /// Time from creation to deletion; `None` keeps the file.
    pub lasts_ms: Option<i64>,
}

/// A file that is being received. Dropping it unfinished discards it.
pub struct Upload {
    services: Services,
    account: AccountKey,
    file: ComingFile,
    /// Received but not stored.
    rest: BytesMut,
    bytes: i64,
    check: Check,
    content: Sha256,
}

impl Upload {
    /// Begins a file. Fails with [`AppError::QuotaExceeded`] if the account has no room.
    pub async fn begin(services: &Services, account: AccountKey) -> Result<Self, AppError> {
        Self::begin_for(services, account, BatchEndpoint::parse).await
    }

    /// Begins a file whose lines the service makes from messages.
    pub(crate) async fn begin_for_messages(
        services: &Services,
        account: AccountKey,
    ) -> Result<Self, AppError> {
        Self::begin_for(services, account, BatchEndpoint::parse_stored).await
    }

    async fn begin_for(
        services: &Services,
        account: AccountKey,
        parse: fn(&str) -> Option<BatchEndpoint>,
    ) -> Result<Self, AppError> {
        Ok(Self {
            services: services.clone(),
            account,
            file: ComingFile::begin(services, account).await?,
            rest: BytesMut::new(),
            bytes: 0,
            check: Check::new(parse),
            content: Sha256::new(),
        })
    }

    /// The bytes of the unfinished line and of lines that wait to be stored.
    pub fn held_bytes(&self) -> usize {
        self.rest.len()
    }

    /// Fails with [`AppError::Invalid`] if a file of this many bytes is too long.
    pub fn check_length(&self, bytes: usize) -> Result<(), AppError> {
        let bytes_max = self.services.config().limits.file_bytes;
        let message = format!("must be at most {bytes_max} bytes");
        let refused = || AppError::invalid("file", codes::OUT_OF_RANGE, &message);
        if bytes > bytes_max { Err(refused()) } else { Ok(()) }
    }

    /// Accepts the next bytes. Fails with [`AppError::Invalid`] if a line is longer than a request's body may be, or the file has too many
    /// lines or bytes.
    pub async fn write(&mut self, content: &[u8]) -> Result<(), AppError> {
        self.content.update(content);
        self.bytes += content.len() as i64;
        self.check_length(usize::try_from(self.bytes).unwrap_or(usize::MAX))?;
        self.rest.extend_from_slice(content);
        if memchr::memchr(b'\n', content).is_none() {
            return self.check_line();
        }
        while let Some(length) = whole_lines(&self.rest) {
            let piece = self.rest.split_to(length).freeze();
            self.store(piece).await?;
        }
        self.check_line()
    }

    /// Refuses a line that is too long to be kept in memory.
    fn check_line(&self) -> Result<(), AppError> {
        let limit = self.services.config().limits.request_body_bytes;
        if self.rest.len() <= limit + PIECE_BYTES {
            return Ok(());
        }
        let line = self.check.number + 1;
        let message =
            format!("must have lines of at most {limit} bytes; line {line} or a later one is longer");
        Err(AppError::invalid("file", codes::OUT_OF_RANGE, &message))
    }

    /// Creates the file. Fails like [`Upload::write`], and with [`AppError::Invalid`] if it is empty.
    pub async fn finish(
        mut self,
        terms: FileTerms,
        call: Option<Repeatable<FileRecord>>,
    ) -> Result<Answered<FileRecord>, AppError> {
        let guard =
            idempotency::guard_of(&self.services, self.file.new.account, self.digest(&terms), call).await?;
        let file = self.end(terms).await?;
        let now = self.services.clock.now();
        match files::finish(&self.services.store, file, guard, now).await? {
            Guarded::Done(Some(record)) => {
                self.keep();
                Ok(Answered::New(record))
            }
            Guarded::Done(None) => Err(given_up()),
            Guarded::Recalled(recalled) => idempotency::response(recalled).map(Answered::Repeat),
        }
    }

    /// Stores the rest; the caller uses it and then [keeps](Self::keep) it. Fails like [`Upload::write`], and with [`AppError::Invalid`] if
    /// the file is empty.
    pub(crate) async fn end(&mut self, terms: FileTerms) -> Result<FinishedFile, AppError> {
        while !self.rest.is_empty() {
            let length = first_lines(&self.rest).unwrap_or(self.rest.len());
            let piece = self.rest.split_to(length).freeze();
            self.store(piece).await?;
        }
        if self.bytes == 0 {
            return Err(AppError::invalid("file", codes::OUT_OF_RANGE, "must not be empty"));
        }
        Ok(self.finished(terms))
    }

    pub(crate) fn keep(self) {
        self.file.keep();
    }

    fn digest(&self, terms: &FileTerms) -> [u8; 32] {
        let terms = format!("{}\n{:?}\n", terms.name, terms.lasts_ms);
        self.content.clone().chain_update(terms).finalize().into()
    }

    fn finished(&mut self, terms: FileTerms) -> FinishedFile {
        let Check { endpoint, lines, hold, fault_count, faults, .. } = self.check.take_out();
        let faults = (!faults.is_empty()).then(|| [b"[", &*faults, b"]"].concat().into());
        let NewFile { id, account, created_at, .. } = self.file.new;
        FinishedFile {
            id,
            seq: self.file.seq,
            account,
            created_at,
            expires_at: terms.lasts_ms.map(|lasts_ms| created_at.saturating_add(lasts_ms)),
            bytes: self.bytes,
            name: terms.name,
            endpoint,
            lines,
            hold: Credits::from_nanos(hold),
            fault_count,
            faults,
        }
    }

    async fn store(&mut self, piece: Bytes) -> Result<(), AppError> {
        let (text, mut check) = (piece.clone(), self.check.take_out());
        let checked = move |services: &Services| {
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                check.line(services, line.trim_ascii());
            }
            Ok(check)
        };
        self.check = parse(&self.services, self.account, piece.len(), checked).await?;
        let lines_max = self.services.config().limits.batch_requests;
        // Bad and blank lines cost as much as others.
        let blank = self.check.number - self.check.lines - self.check.fault_count;
        if (self.check.number - blank).max(blank) > lines_max as i64 {
            let message = format!("must have at most {lines_max} lines, and as many that are blank");
            return Err(AppError::invalid("file", codes::OUT_OF_RANGE, &message));
        }
        self.file.append(piece).await
    }
}
