//! The full records of requests and batches, as the service wrote them.

use std::vec::IntoIter;

use overnight_client::{Client, Following, RawLines};

use super::unreadable;
use crate::errors::CliError;
use crate::subjects::Subject;

#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Requests as they end, until each batch has ended.
    pub(super) follow: bool,
    /// Requests that ended after this one.
    pub(super) after: Option<&'a str>,
}

/// Records of one subject after the other.
pub(super) struct Records<'a> {
    client: &'a Client,
    wanted: Wanted<'a>,
    left: IntoIter<Subject>,
    current: Option<Current>,
}

enum Current {
    One(Vec<u8>),
    Many(RawLines),
    Followed(Following),
}

impl<'a> Records<'a> {
    /// Begins with the first subject. Fails if an option does not apply to a subject.
    pub(super) async fn open(
        client: &'a Client,
        wanted: Wanted<'a>,
        subjects: Vec<Subject>,
    ) -> Result<Self, CliError> {
        if wanted.after.is_some() && subjects.len() > 1 {
            return Err(CliError::unusable("--after is for one batch"));
        }
        let is_request = |subject: &Subject| matches!(subject, Subject::Request(_));
        if (wanted.follow || wanted.after.is_some()) && subjects.iter().any(is_request) {
            return Err(CliError::unusable(
                "--follow and --after are for batches: `overnight watch` waits for a request",
            ));
        }
        let mut records = Self { client, wanted, left: subjects.into_iter(), current: None };
        records.turn().await?;
        Ok(records)
    }

    /// Continues with the next subject, if there is one.
    async fn turn(&mut self) -> Result<(), CliError> {
        let (client, Wanted { follow, after }) = (self.client, self.wanted);
        self.current = match self.left.next() {
            None => None,
            Some(Subject::Batch(id)) if follow => {
                Some(Current::Followed(client.follow_batch_results(&id, after)))
            }
            Some(Subject::Batch(id)) => {
                let lines = match after {
                    Some(after) => client.get_batch_results_after(&id, after).await?,
                    None => client.get_batch_results(&id).await?,
                };
                Some(Current::Many(lines.into_raw()))
            }
            Some(Subject::Request(id)) => {
                let record = serde_json::to_vec(&client.get_request(&id).await?)
                    .map_err(|error| unreadable(&error))?;
                Some(Current::One(record))
            }
        };
        Ok(())
    }

    /// `None` after the last record of the last subject.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, CliError> {
        loop {
            let Some(current) = &mut self.current else { return Ok(None) };
            let next = match current {
                Current::One(record) => Some(std::mem::take(record)).filter(|record| !record.is_empty()),
                Current::Many(lines) => lines.next().await.transpose()?.map(Into::into),
                Current::Followed(following) => next_of(following).await?,
            };
            if next.is_some() {
                return Ok(next);
            }
            self.turn().await?;
        }
    }
}

async fn next_of(following: &mut Following) -> Result<Option<Vec<u8>>, CliError> {
    let next = following.next_raw().await.transpose().map_err(CliError::from);
    let last = following.after();
    let resumed = |error: CliError| match last {
        Some(id) => error.with_hint(format!("`--after {id}` goes on behind the last record that was read")),
        None => error,
    };
    Ok(next.map_err(resumed)?.map(Into::into))
}
