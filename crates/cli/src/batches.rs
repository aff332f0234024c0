//! Groups sent requests into batches, so that one call can follow, read or cancel them.

use std::collections::HashSet;

use overnight_client::{Client, CreateBatch, Error as ClientError, ErrorBody};
use overnight_domain::ids::RequestId;
use serde_json::json;
use serde_json::value::to_raw_value;
use sha2::{Digest, Sha256};

use crate::errors::CliError;
use crate::journal::Journal;
use crate::output::Output;
use crate::prompts::{PART_LINES, Prompts};

/// The limit of lines or requests in a message.
const NAMES_SHOWN: usize = 10;

/// Settings of a batch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    /// `batch_name` in its metadata.
    pub(crate) name: Option<String>,
    /// The address for the notice of its end.
    pub(crate) webhook: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Grouped {
    /// Batches with the requests of its lines.
    pub(crate) current: Vec<String>,
    /// Batches that only hold requests of lines that have changed.
    pub(crate) outdated: Vec<String>,
}

/// Puts every request of the journal that is in no batch into one, or into several if there are too many.
pub(crate) async fn group(
    client: &Client,
    journal: &mut Journal,
    wanted: &Wanted,
) -> Result<Grouped, CliError> {
    let (mut grouped, mut batches) = (HashSet::new(), Grouped::default());
    let asked: HashSet<RequestId> = journal.asked().iter().flatten().copied().collect();
    for batch in journal.batches() {
        let mut of_batch = HashSet::new();
        extend(&mut of_batch, &client.get_batch(batch).await?.requests_ids.unwrap_or_default());
        let is_current = !of_batch.is_disjoint(&asked);
        if is_current { &mut batches.current } else { &mut batches.outdated }.push(batch.clone());
        grouped.extend(of_batch);
    }
    let mut requests_max = PART_LINES;
    loop {
        let ungrouped = journal.asked().iter().flatten().filter(|id| !grouped.contains(*id));
        let ids: Vec<RequestId> = ungrouped.take(requests_max).copied().collect();
        if ids.is_empty() {
            return Ok(batches);
        }
        // No two batches hold the same request, so this key identifies the call.
        let key = ids.iter().fold(Sha256::new(), |sum, id| sum.chain_update(id.to_string())).finalize();
        let once = client.once(&format!("{key:x}"))?;
        match once.create_batch(&new_batch(&ids, wanted)?).await {
            Ok(batch) => {
                journal.record_batch(&batch.id)?;
                batches.current.push(batch.id);
                grouped.extend(ids);
            }
            Err(ClientError::Api { status: 413 | 422, error, .. })
                if ids.len() > 1 && is_too_many(&error) =>
            {
                requests_max = ids.len() / 2;
            }
            Err(error) => match already_grouped(&error) {
                // A batch that was created but not recorded, because this program was stopped in between.
                Some(id) => batches.current.extend(adopt(client, journal, &mut grouped, &id).await?),
                None => return Err(explained(error)),
            },
        }
    }
}

/// Compares the batches of a part with its sent lines. Reports requests that belong to no line; they run, and cost. Fails if lines have no
/// request in the batches.
pub(crate) async fn compare(
    client: &Client,
    prompts: &Prompts,
    journal: &Journal,
    lines: impl Iterator<Item = usize>,
    batches: &[String],
    output: &Output,
) -> Result<(), CliError> {
    let mut held = HashSet::new();
    for batch in batches {
        extend(&mut held, &client.get_batch(batch).await?.requests_ids.unwrap_or_default());
    }
    let missing = take_missing(journal.asked(), lines, &mut held);
    // Batches of an earlier attempt also belong to lines that have changed or failed.
    if !held.is_empty() && !journal.is_resumed() {
        let some = shown(held.iter().map(ToString::to_string));
        output.note(&format!("{} of the batches belong to no line: {some}", held.len()));
    }
    if missing.is_empty() {
        return Ok(());
    }
    let some = shown(missing.iter().map(|index| prompts.name_of(*index)));
    Err(CliError::unavailable(format!("{} have no request in their batch: {some}", missing.len())))
}

/// Returns the lines without a request in `held`, and removes the requests of the others from it.
fn take_missing(
    asked: &[Option<RequestId>],
    lines: impl Iterator<Item = usize>,
    held: &mut HashSet<RequestId>,
) -> Vec<usize> {
    lines.filter(|index| !asked.get(*index).copied().flatten().is_some_and(|id| held.remove(&id))).collect()
}

/// The first names, as a list.
fn shown(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<_> = names.take(NAMES_SHOWN + 1).collect();
    if names.len() > NAMES_SHOWN {
        names[NAMES_SHOWN] = "…".to_owned();
    }
    names.join(", ")
}

/// Validates the webhook before anything is sent: the service refuses an empty batch and reports every fault of it.
pub(crate) async fn check_webhook(client: &Client, wanted: &Wanted) -> Result<(), CliError> {
    if wanted.webhook.is_none() {
        return Ok(());
    }
    let Err(ClientError::Api { status: 422, error, .. }) =
        client.create_batch(&new_batch(&[], wanted)?).await
    else {
        // Other faults are reported by the first call that they concern.
        return Ok(());
    };
    match error.details.into_iter().find(|detail| detail.param.as_deref() == Some("webhook")) {
        Some(detail) => Err(CliError::unusable(detail.message).with_hint("nothing was sent")),
        None => Ok(()),
    }
}

fn new_batch(ids: &[RequestId], wanted: &Wanted) -> Result<CreateBatch, CliError> {
    let metadata = wanted.name.as_ref().map(|name| to_raw_value(&json!({ "batch_name": name })));
    let metadata = metadata.transpose().map_err(CliError::unusable)?;
    let requests_ids = ids.iter().map(ToString::to_string).collect();
    Ok(CreateBatch { requests_ids, webhook: wanted.webhook.clone(), metadata })
}

/// Whether the batch has more requests than the service accepts.
fn is_too_many(error: &ErrorBody) -> bool {
    error.code == "too_large"
        || error.details.iter().any(|detail| detail.param.as_deref() == Some("requests_ids"))
}

fn already_grouped(error: &ClientError) -> Option<String> {
    let ClientError::Api { error, .. } = error else { return None };
    let detail = error.details.iter().find(|detail| detail.code == "in_another_batch")?;
    detail.id.clone()
}

async fn adopt(
    client: &Client,
    journal: &mut Journal,
    grouped: &mut HashSet<RequestId>,
    id: &str,
) -> Result<Option<String>, CliError> {
    let Some(batch) = client.get_request(id).await?.batch_id else { return Ok(None) };
    extend(grouped, &client.get_batch(&batch).await?.requests_ids.unwrap_or_default());
    journal.record_batch(&batch)?;
    Ok(Some(batch))
}

fn extend(grouped: &mut HashSet<RequestId>, ids: &[String]) {
    grouped.extend(ids.iter().filter_map(|id| RequestId::parse(id)));
}

fn explained(error: ClientError) -> CliError {
    let is_gone = match &error {
        ClientError::Api { error, .. } => error.details.iter().any(|detail| detail.code == "unknown"),
        _ => false,
    };
    let told = CliError::from(error);
    if !is_gone {
        return told;
    }
    told.with_hint("these requests are no longer kept, or were made with another key: delete the run's state to begin anew")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_a_request_of_its_own_is_missing_and_a_request_without_a_line_is_left() {
        let [first, second, third] = [1, 2, 3].map(RequestId::from_bits);
        let mut held = HashSet::from([first, third]);
        let asked = [Some(first), Some(second), Some(first), None, None];
        let missing = take_missing(&asked, [0, 1, 2, 4].into_iter(), &mut held);
        assert_eq!((missing, held), (vec![1, 2, 4], HashSet::from([third])));
    }

    #[test]
    fn of_many_names_the_first_are_shown() {
        assert_eq!(shown((1..=10).map(|it| it.to_string())), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10");
        assert_eq!(shown((1..=11).map(|it| it.to_string())), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …");
    }
}
