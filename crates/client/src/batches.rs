//! Batches.

use overnight_wire::native::batches::{BatchCreated, BatchFilter, BatchSummary, CreateBatch, FullBatch};
use overnight_wire::native::deletions::Deleted;
use overnight_wire::native::requests::{FullRequest, RequestSummary};
use reqwest::header::HeaderValue;

use crate::lines::Lines;
use crate::send::{Call, to_json};
use crate::{Client, Error};

impl Client {
    /// Groups requests of the caller's own that are in no batch yet.
    ///
    /// # Errors
    /// [`Error::Api`] when any of them cannot be grouped, with one detail for each; then none is. After
    /// [`Error::Transport`] or [`Error::Cut`] the batch may have been made: with [`Client::once`] it can be asked for again.
    pub async fn create_batch(&self, batch: &CreateBatch) -> Result<BatchCreated, Error> {
        self.create_batch_with(batch, None).await
    }

    pub(crate) async fn create_batch_with(
        &self,
        batch: &CreateBatch,
        key: Option<HeaderValue>,
    ) -> Result<BatchCreated, Error> {
        self.answer(Call::create(self.url(&["v1", "batches"])?, to_json(batch)?, key)).await
    }

    /// The whole batch, with the list of its requests.
    ///
    /// # Errors
    /// [`Error::Api`] with `not_found` when it is not one of the caller's.
    pub async fn get_batch(&self, id: &str) -> Result<FullBatch, Error> {
        self.answer(Call::get(self.url(&["v1", "batches", id])?)).await
    }

    /// How the batch stands.
    ///
    /// # Errors
    /// As [`Client::get_batch`].
    pub async fn get_batch_status(&self, id: &str) -> Result<BatchSummary, Error> {
        self.answer(Call::get(self.url(&["v1", "batches", id, "status"])?)).await
    }

    /// How the requests of the batch stand.
    ///
    /// # Errors
    /// As [`Client::get_batch`].
    pub async fn get_batch_requests(&self, id: &str) -> Result<Lines<RequestSummary>, Error> {
        self.lines(Call::get(self.url(&["v1", "batches", id, "requests"])?)).await
    }

    /// The requests of the batch, ended or not, with the results of those that have ended.
    ///
    /// # Errors
    /// As [`Client::get_batch`].
    pub async fn get_batch_results(&self, id: &str) -> Result<Lines<FullRequest>, Error> {
        self.lines(Call::get(self.url(&["v1", "batches", id, "results"])?)).await
    }

    /// The requests of the batch that have ended, in the order of their ends, behind the request `after`.
    ///
    /// # Errors
    /// As [`Client::get_batch`]; [`Error::Api`] with `invalid_input` when `after` is no request of the batch that has ended.
    pub async fn get_batch_results_after(&self, id: &str, after: &str) -> Result<Lines<FullRequest>, Error> {
        let parameters = [("after", Some(after.to_owned()))];
        self.lines(Call::get(self.url_with(&["v1", "batches", id, "results"], parameters)?)).await
    }

    /// Ends the batch and those of its requests that have not ended. A batch that is cancelled already stays so.
    ///
    /// # Errors
    /// [`Error::Api`] with `already_ended` when it completed, with `not_found` when it is not the caller's.
    pub async fn cancel_batch(&self, id: &str) -> Result<FullBatch, Error> {
        self.answer(Call::cancel(self.url(&["v1", "batches", id, "cancel"])?)).await
    }

    /// Deletes a batch that has ended, with its requests, their bodies, metadata and results.
    ///
    /// # Errors
    /// [`Error::Api`] with `not_ended` while requests of it wait or run, with `not_found` when it is not the caller's.
    pub async fn delete_batch(&self, id: &str) -> Result<(), Error> {
        let _: Deleted = self.answer(Call::delete(self.url(&["v1", "batches", id])?)).await?;
        Ok(())
    }

    /// The caller's batches, those that `filter` lets through.
    ///
    /// # Errors
    /// [`Error::Api`] when the filter is refused.
    pub async fn list_batches(&self, filter: &BatchFilter) -> Result<Lines<FullBatch>, Error> {
        let parameters = [
            ("status", filter.status.map(|status| status.as_str().to_owned())),
            ("created_after", filter.created_after.map(|time| time.to_string())),
            ("created_before", filter.created_before.map(|time| time.to_string())),
            ("limit", filter.limit.map(|limit| limit.to_string())),
            ("after", filter.after.clone()),
            ("order", filter.order.map(|order| order.as_str().to_owned())),
        ];
        self.lines(Call::get(self.url_with(&["v1", "batches"], parameters)?)).await
    }
}
