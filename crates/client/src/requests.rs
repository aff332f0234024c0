//! Requests.

use bytes::Bytes;
use overnight_wire::native::deletions::Deleted;
use overnight_wire::native::requests::{
    CreateRequest, FullRequest, RequestCreated, RequestFilter, RequestSummary,
};
use reqwest::Url;
use reqwest::header::HeaderValue;

use crate::lines::Lines;
use crate::send::{Call, to_json};
use crate::{Client, Error};

/// What is told of each request in a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// How it stands.
    Status,
    /// All of it.
    Full,
}

impl Client {
    /// Asks for a completion. Once this returns, the request outlives a crash of the service.
    ///
    /// # Errors
    /// [`Error::Api`] when it is refused. After [`Error::Transport`] or [`Error::Cut`] it may have been accepted: with [`Client::once`]
    /// it can be asked for again.
    pub async fn create_request(&self, request: &CreateRequest) -> Result<RequestCreated, Error> {
        self.create_request_raw(to_json(request)?).await
    }

    /// Asks for a completion with a body that is JSON already. The service checks it.
    ///
    /// # Errors
    /// As [`Client::create_request`].
    pub async fn create_request_raw(&self, body: impl Into<Bytes>) -> Result<RequestCreated, Error> {
        self.create_request_with(body.into(), None).await
    }

    pub(crate) async fn create_request_with(
        &self,
        body: Bytes,
        key: Option<HeaderValue>,
    ) -> Result<RequestCreated, Error> {
        let call = Call::create(self.url(&["v1", "requests"])?, body, key);
        let [created] = self.answer::<[RequestCreated; 1]>(call).await?;
        Ok(created)
    }

    /// The whole request, with its result once it has ended.
    ///
    /// # Errors
    /// [`Error::Api`] with `not_found` when it is not one of the caller's.
    pub async fn get_request(&self, id: &str) -> Result<FullRequest, Error> {
        let [request] =
            self.answer::<[FullRequest; 1]>(Call::get(self.url(&["v1", "requests", id])?)).await?;
        Ok(request)
    }

    /// How the request stands.
    ///
    /// # Errors
    /// As [`Client::get_request`].
    pub async fn get_request_status(&self, id: &str) -> Result<RequestSummary, Error> {
        self.answer(Call::get(self.url(&["v1", "requests", id, "status"])?)).await
    }

    /// Ends the request without a result. A request that is cancelled already stays so.
    ///
    /// # Errors
    /// [`Error::Api`] with `already_ended` when it completed or failed, with `not_found` when it is not the caller's.
    pub async fn cancel_request(&self, id: &str) -> Result<FullRequest, Error> {
        self.answer(Call::cancel(self.url(&["v1", "requests", id, "cancel"])?)).await
    }

    /// Deletes a request that has ended, with its body, metadata and result.
    ///
    /// # Errors
    /// [`Error::Api`] with `not_ended` when it waits or runs, with `not_found` when it is not the caller's.
    pub async fn delete_request(&self, id: &str) -> Result<(), Error> {
        let _: Deleted = self.answer(Call::delete(self.url(&["v1", "requests", id])?)).await?;
        Ok(())
    }

    /// How the caller's requests stand, those that `filter` lets through.
    ///
    /// # Errors
    /// [`Error::Api`] when the filter is refused.
    pub async fn list_requests(&self, filter: &RequestFilter) -> Result<Lines<RequestSummary>, Error> {
        self.lines(Call::get(self.list_url(filter, Detail::Status)?)).await
    }

    /// The caller's whole requests, those that `filter` lets through.
    ///
    /// # Errors
    /// As [`Client::list_requests`].
    pub async fn list_full_requests(&self, filter: &RequestFilter) -> Result<Lines<FullRequest>, Error> {
        self.lines(Call::get(self.list_url(filter, Detail::Full)?)).await
    }

    fn list_url(&self, filter: &RequestFilter, detail: Detail) -> Result<Url, Error> {
        let parameters = [
            ("full", (detail == Detail::Full).then(|| "true".to_owned())),
            ("status", filter.status.map(|status| status.as_str().to_owned())),
            ("model", filter.model.clone()),
            ("created_after", filter.created_after.map(|time| time.to_string())),
            ("created_before", filter.created_before.map(|time| time.to_string())),
            ("limit", filter.limit.map(|limit| limit.to_string())),
            ("after", filter.after.clone()),
            ("order", filter.order.map(|order| order.as_str().to_owned())),
        ];
        self.url_with(&["v1", "requests"], parameters)
    }
}
