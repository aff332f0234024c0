//! Batches.

use overnight_wire::native::batches::{BatchCreated, BatchFilter, BatchSummary, CreateBatch, FullBatch};
use overnight_wire::native::deletions::Deleted;
use overnight_wire::native::requests::{FullRequest, RequestSummary};
use reqwest::header::HeaderValue;

use crate::lines::Lines;
use crate::send::{Call, to_json};
use crate::{Client, Error};

impl Client {
    /// Groups the caller's requests, each of which must be in no batch. Fails with [`Error::Api`] and a detail for each request that cannot
    /// be grouped; no batch is created then. After [`Error::Transport`] or [`Error::Cut`] the batch may exist; with [`Client::once`] the
    /// call can be repeated.
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

    /// Fetches the batch with the list of its requests. Fails with the code `not_found` if it is not the caller's, as do all calls with an
    /// identifier.
    pub async fn get_batch(&self, id: &str) -> Result<FullBatch, Error> {
        self.answer(Call::get(self.url(&["v1", "batches", id])?)).await
    }

    /// Fetches the status record of the batch.
    pub async fn get_batch_status(&self, id: &str) -> Result<BatchSummary, Error> {
        self.answer(Call::get(self.url(&["v1", "batches", id, "status"])?)).await
    }

    /// Lists the status records of the batch's requests.
    pub async fn get_batch_requests(&self, id: &str) -> Result<Lines<RequestSummary>, Error> {
        self.lines(Call::get(self.url(&["v1", "batches", id, "requests"])?)).await
    }

    /// Lists the requests of the batch in every state, with the results of the ended ones.
    pub async fn get_batch_results(&self, id: &str) -> Result<Lines<FullRequest>, Error> {
        self.lines(Call::get(self.url(&["v1", "batches", id, "results"])?)).await
    }

    /// Lists the ended requests of the batch after the request `after`, in the order in which they ended. Fails with `invalid_input` if
    /// `after` is not an ended request of the batch.
    pub async fn get_batch_results_after(&self, id: &str, after: &str) -> Result<Lines<FullRequest>, Error> {
        let parameters = [("after", Some(after.to_owned()))];
        self.lines(Call::get(self.url_with(&["v1", "batches", id, "results"], parameters)?)).await
    }

    /// Cancels the batch and its requests that have not ended. Repeats have no effect. Fails with `already_ended` if it completed.
    pub async fn cancel_batch(&self, id: &str) -> Result<FullBatch, Error> {
        self.answer(Call::cancel(self.url(&["v1", "batches", id, "cancel"])?)).await
    }

    /// Deletes an ended batch with its requests, their bodies, metadata and results. Fails with `not_ended` while its requests wait or run.
    pub async fn delete_batch(&self, id: &str) -> Result<(), Error> {
        let _: Deleted = self.answer(Call::delete(self.url(&["v1", "batches", id])?)).await?;
        Ok(())
    }

    /// Lists the caller's batches that match `filter`.
    pub async fn list_batches(&self, filter: &BatchFilter) -> Result<Lines<FullBatch>, Error> {
        let parameters = [
            ("status", filter.status.map(|status| status.as_str().to_owned())),
            ("created_after", filter.created_after.map(|time| time.to_string())),
            ("created_before", filter.created_before.map(|time| time.to_string())),
            ("limit", filter.limit.map(|limit| limit.to_string())),
            ("after", filter.after.clone()),
            ("order", filter.order.map(|order| order.as_str().to_owned())),
            ("requests_ids", filter.requests_ids.map(|wanted| wanted.to_string())),
        ];
        self.lines(Call::get(self.url_with(&["v1", "batches"], parameters)?)).await
    }
}
