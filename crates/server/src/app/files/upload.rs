//! Taking a file in while it comes: each piece of whole lines is checked and stored before the next is read, so that a file of any
//! length needs the memory of a piece.

use bytes::{Bytes, BytesMut};
use overnight_domain::faults::codes;
use overnight_domain::files::{BatchEndpoint, FileRecord};
use overnight_domain::money::Credits;
use overnight_domain::pieces::{PIECE_BYTES, first_lines, whole_lines};
use overnight_domain::scheduler::AccountKey;
use sha2::{Digest, Sha256};

use super::check::Check;
use super::coming::{ComingFile, given_up};
use crate::app::Services;
use crate::app::errors::AppError;
use crate::app::idempotency::{self, Answered, Repeatable};
use crate::app::parsing::parse;
use crate::store::files::{self, FinishedFile, NewFile};
use crate::store::idempotency_keys::{Guard, Guarded, IdempotencyKey};

/// What is said of a file beside its content. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTerms {
    pub name: String,
    /// How long after its creation it is deleted; `None` where it is kept.
    pub lasts_ms: Option<i64>,
}

/// A file that comes. Dropped before it is finished, it is given up.
pub struct Upload {
    services: Services,
    account: AccountKey,
    file: ComingFile,
    /// What came and is not stored.
    rest: BytesMut,
    bytes: i64,
    check: Check,
    content: Sha256,
}

impl Upload {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// [`AppError::QuotaExceeded`] where the account stores all that it may; what the store could not do.
    pub async fn begin(services: &Services, account: AccountKey) -> Result<Self, AppError> {
        Self::begin_for(services, account, BatchEndpoint::parse).await
    }

    /// Begins a file whose lines the service makes of messages.
    pub(in crate::app) async fn begin_for_messages(
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

    /// The bytes of the line that has begun, and of those that wait to be stored.
    pub fn held_bytes(&self) -> usize {
        self.rest.len()
    }

    /// Takes in what came next.
    ///
    /// # Errors
    ///
    /// [`AppError::QuotaExceeded`] where the account stores all that it may; [`AppError::Invalid`] where a line is longer than a
    /// request's body may be, or there are more lines than a batch may have requests, or the file is longer than files may be.
    pub async fn write(&mut self, content: &[u8]) -> Result<(), AppError> {
        self.content.update(content);
        self.bytes += content.len() as i64;
        let limits = &self.services.config().limits;
        if self.bytes > limits.file_bytes as i64 {
            let message = format!("must be at most {} bytes", limits.file_bytes);
            return Err(AppError::invalid("file", codes::OUT_OF_RANGE, &message));
        }
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

    /// Refuses a file with a line that is kept in memory for too long.
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

    /// Makes a file of what came.
    ///
    /// # Errors
    ///
    /// As [`Upload::write`], [`AppError::Invalid`] where nothing came, and [`AppError::IdempotencyKeyReused`] where the call has the key of
    /// another.
    pub async fn finish(
        mut self,
        terms: FileTerms,
        call: Option<Repeatable<FileRecord>>,
    ) -> Result<Answered<FileRecord>, AppError> {
        let guard = call.map(|call| self.guard(&terms, &call));
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

    /// Stores the rest: what is to be made a file, and then [kept](Self::keep).
    ///
    /// # Errors
    ///
    /// As [`Upload::write`], and [`AppError::Invalid`] where nothing came.
    pub(in crate::app) async fn end(&mut self, terms: FileTerms) -> Result<FinishedFile, AppError> {
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

    pub(in crate::app) fn keep(self) {
        self.file.keep();
    }

    fn guard(&self, terms: &FileTerms, call: &Repeatable<FileRecord>) -> Guard<FileRecord> {
        let Repeatable { hash, write } = *call;
        let terms = format!("{}\n{:?}\n", terms.name, terms.lasts_ms);
        let digest = self.content.clone().chain_update(terms).finalize().into();
        Guard { key: IdempotencyKey { hash, digest }, write }
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
        // Those that are bad or blank cost as much as others.
        let blank = self.check.number - self.check.lines - self.check.fault_count;
        if (self.check.number - blank).max(blank) > lines_max as i64 {
            let message = format!("must have at most {lines_max} lines, and as many that are blank");
            return Err(AppError::invalid("file", codes::OUT_OF_RANGE, &message));
        }
        self.file.append(piece).await
    }
}
