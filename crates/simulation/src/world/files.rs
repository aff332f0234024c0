//! Files of lines and batches of them: a client sends a file in two steps, and faults occur while its lines become requests.

use overnight_app::Services;
use overnight_app::errors::AppError;
use overnight_app::file_batches::{self, FromFile, InputBatch};
use overnight_app::files::{self, FileTerms, Upload};
use overnight_app::idempotency::Answered;
use overnight_domain::files::{BatchEndpoint, FileRecord};
use overnight_domain::scheduler::AccountKey;
use overnight_store::CrashPoint;

use super::World;
use super::calls::call;
use crate::broken::{Step, ensure};
use crate::events::{Client, Event};
use crate::life::forget;
use crate::oracle::{BatchFacts, FileFacts};
use crate::outcomes::UseCase;
use crate::plan::MODELS;
use crate::tags::Tag;
use crate::texts;

const MINUTE_MS: i64 = 60_000;
/// A client restarts an upload that takes longer. The service gives up files that received nothing for ten minutes.
const UPLOAD_MS_MAX: i64 = 9 * MINUTE_MS;
/// The filler hears of a batch within this time.
const HEAR_MS: i64 = 1_000;
/// A batch is usually filled within this time.
const FILL_MS: i64 = 60;
/// Blank lines after each line. A piece has 256 lines, so blank lines fill pieces.
const BLANKS: [usize; 3] = [0, 127, 127];
/// Number of files that are sometimes sent together.
const SEVERAL: usize = 5;
const FREE: usize = MODELS.len() - 1;

impl World<'_> {
    /// Draws an account's files, when they are sent, and how often their batches are created.
    pub(super) fn plan_files(&mut self, at: i64) {
        let account = *self.chance.pick(&self.accounts);
        // A file's cost is held only as its lines become requests: concurrent ones wait for each other's credits.
        let (count, free) = if self.chance.strikes(200) { (SEVERAL, 0) } else { (1, 350) };
        let free = if self.plan.is_calm { 1_000 } else { free };
        let begin_at = at + self.chance.between(0, MINUTE_MS);
        let end_at = begin_at + *self.chance.pick(&[100, 5_000, 15_000, 20 * MINUTE_MS]);
        for _ in 0..count {
            let batch = self.draw_file(account, end_at, free);
            self.timeline.after(begin_at, Event::Client(Client::Upload(batch)));
            self.timeline.after(end_at, Event::Client(Client::EndUpload(batch)));
            self.plan_repeats(end_at, batch, 400);
            self.plan_deletion(end_at, batch, 300);
        }
    }

    /// A batch of a file, with `free` lines in a thousand that cost nothing; in a calm world all, because a line that waits for credits
    /// would be late.
    fn draw_file(&mut self, account: AccountKey, at: i64, free: i64) -> Tag {
        let batch = self.oracle.next_tag();
        let (count, blanks) = (self.chance.between(1, 20), *self.chance.pick(&BLANKS));
        let is_bad = self.chance.strikes(100);
        let (mut content, mut lines) = (String::new(), Vec::new());
        for _ in 0..count {
            let model = if self.chance.strikes(free) { FREE } else { 0 };
            let tag = self.draw_request(account, model);
            let Some(facts) = self.oracle.requests.get_mut(&tag) else { continue };
            facts.set_line_of(batch);
            content += &texts::line(&facts.prompt, tag, blanks);
            lines.push(tag);
        }
        if is_bad {
            content += *self.chance.pick(&["{}\n", "no JSON", "{\"custom_id\":\"1\",\"method\":\"GET\"}\n"]);
            lines.drain(..).for_each(|tag| _ = self.oracle.requests.remove(&tag));
        }
        for tag in &lines {
            self.plan_deletion(at, *tag, 40);
        }
        let mut facts = BatchFacts::new(batch, account, lines);
        facts.file = Some(FileFacts::new(content, is_bad));
        self.oracle.batches.insert(batch, facts);
        batch
    }

    /// Sends half of a file. If that was not done, or a crash lost it, everything is sent with the other half.
    pub(super) async fn upload(&mut self, batch: Tag) -> Step {
        let now = self.timeline.now();
        let services = self.life()?.services.clone();
        let facts = self.oracle.batch(batch)?;
        let Some(file) = &facts.file else { return Ok(()) };
        let half = &file.content.as_bytes()[..file.content.len() / 2];
        let mut upload = Upload::begin(&services, facts.account).await?;
        upload.write(half).await?;
        self.life()?.uploads.insert(batch, (now, upload));
        Ok(())
    }

    pub(super) async fn end_upload(&mut self, batch: Tag) -> Step {
        let now = self.timeline.now();
        let services = self.life()?.services.clone();
        let mut begun = self.life()?.uploads.remove(&batch);
        if let Some((_, late)) = begun.take_if(|(at, _)| *at + UPLOAD_MS_MAX < now) {
            forget(late)?;
            self.summary.uploads_late += 1;
        }
        let begun = begun.map(|(_, upload)| upload);
        let facts = self.oracle.batch(batch)?;
        let Some(file) = &mut facts.file else { return Ok(()) };
        let record = send_rest(&services, facts.account, begun, file.content.as_bytes()).await?;
        let lines = facts.requests.len() as i64;
        ensure!(
            record.bytes == file.content.len() as i64 && (record.fault_count > 0) == file.is_bad,
            "the file of batch {batch} is {record:?}"
        );
        ensure!(file.is_bad || record.lines == lines, "of {lines} lines there are {record:?}");
        file.id = Some(record.id);
        self.summary.files += 1;
        self.group(batch).await
    }

    /// The call that creates a batch of a file, with the key of the batch and this digest; `None` before the file is stored.
    pub(super) fn make_of_file(&mut self, batch: Tag, digest: [u8; 32]) -> Step<Option<UseCase<InputBatch>>> {
        let services = self.life()?.services.clone();
        let facts = self.oracle.batch(batch)?;
        let Some(file) = facts.file.as_ref().and_then(|file| file.id) else { return Ok(None) };
        let account = facts.account;
        let from = FromFile {
            file,
            endpoint: BatchEndpoint::ChatCompletions,
            webhook: texts::webhook(batch),
            metadata: Some(texts::metadata(batch).into_bytes()),
        };
        Ok(Some(Box::pin(async move {
            let call = Some(call(batch, write_batch));
            file_batches::create_of_file(&services, account, from, digest, call).await
        })))
    }

    /// A batch of a file was created: the filler hears of it, and often a fault comes first.
    pub(super) fn note_of_file(&mut self, batch: Tag) {
        let delay_ms = self.chance.between(0, HEAR_MS);
        self.plan_filler(delay_ms);
        let mut disturb = |per_thousand, event| {
            if self.chance.strikes(per_thousand) && !self.is_draining {
                let delay_ms = delay_ms + self.chance.between(0, FILL_MS);
                self.timeline.after(delay_ms, event);
            }
        };
        disturb(250, Event::Client(Client::CancelGroup(batch)));
        disturb(350, Event::Client(Client::DeleteFile(batch)));
        disturb(100, Event::Crash(Some(CrashPoint::BeforeCommit)));
        disturb(100, Event::Crash(Some(CrashPoint::AfterCommit)));
        disturb(50, Event::Crash(None));
    }

    /// Deletes the file of a batch, which continues to be filled.
    pub(super) async fn delete_file(&mut self, batch: Tag) -> Step {
        let services = self.life()?.services.clone();
        let facts = self.oracle.batch(batch)?;
        let (account, id) = (facts.account, facts.id);
        let Some(file) = &mut facts.file else { return Ok(()) };
        let Some(file_id) = file.id else { return Ok(()) };
        match files::delete(&services, account, file_id).await {
            Ok(()) => ensure!(!file.is_deleted, "the file of batch {batch} was deleted twice"),
            Err(AppError::NotFound(_)) => ensure!(file.is_deleted, "the file of batch {batch} is gone"),
            Err(error) => return Err(error.into()),
        }
        file.is_deleted = true;
        let Some(id) = id else { return Ok(()) };
        match file_batches::get_with_input(&services, account, id).await {
            Ok(batch) => {
                self.summary.files_deleted += u64::from(batch.input.is_some_and(|input| input.is_filling));
                Ok(())
            }
            Err(AppError::NotFound(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

async fn send_rest(
    services: &Services,
    account: AccountKey,
    begun: Option<Upload>,
    content: &[u8],
) -> Result<FileRecord, AppError> {
    let (mut upload, rest) = match begun {
        Some(upload) => (upload, &content[content.len() / 2..]),
        None => (Upload::begin(services, account).await?, content),
    };
    upload.write(rest).await?;
    let terms = FileTerms { name: "lines.jsonl".to_owned(), lasts_ms: None };
    match upload.finish(terms, None).await? {
        Answered::New(record) => Ok(record),
        Answered::Repeat(_) => Err(AppError::NotFound("file that no other call made")),
    }
}

fn write_batch(batch: &InputBatch, out: &mut Vec<u8>) {
    out.extend_from_slice(batch.record.id.to_string().as_bytes());
}
