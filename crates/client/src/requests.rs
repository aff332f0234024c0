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

/// The records of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Status,
    Full,
}

impl Client {
    /// Creates a request. After success, the request survives a crash of the service. After [`Error::Transport`] or [`Error::Cut`] it may
    /// exist; with [`Client::once`] the call can be repeated.
    pub async fn create_request(&self, request: &CreateRequest) -> Result<RequestCreated, Error> {
        self.create_request_raw(to_json(request)?).await
    }

    /// Creates a request from a JSON body, which the service checks. Otherwise like [`Client::create_request`].
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

    /// Fetches the request, with its result once it has ended. Fails with the code `not_found` if it is not the caller's, as do all calls
    /// with an identifier.
    pub async fn get_request(&self, id: &str) -> Result<FullRequest, Error> {
        let [request] =
            self.answer::<[FullRequest; 1]>(Call::get(self.url(&["v1", "requests", id])?)).await?;
        Ok(request)
    }

    /// Fetches the status record of the request.
    pub async fn get_request_status(&self, id: &str) -> Result<RequestSummary, Error> {
        self.answer(Call::get(self.url(&["v1", "requests", id, "status"])?)).await
    }

    /// Cancels the request. Repeats have no effect. Fails with `already_ended` if it completed or failed.
    pub async fn cancel_request(&self, id: &str) -> Result<FullRequest, Error> {
        self.answer(Call::cancel(self.url(&["v1", "requests", id, "cancel"])?)).await
    }

    /// Deletes an ended request with its body, metadata and result. Fails with `not_ended` while it waits or runs.
    pub async fn delete_request(&self, id: &str) -> Result<(), Error> {
        let _: Deleted = self.answer(Call::delete(self.url(&["v1", "requests", id])?)).await?;
        Ok(())
    }

    /// Lists the status records of the caller's requests that match `filter`.
    pub async fn list_requests(&self, filter: &RequestFilter) -> Result<Lines<RequestSummary>, Error> {
        self.lines(Call::get(self.list_url(filter, Detail::Status)?)).await
    }

    /// Lists the caller's full requests that match `filter`.
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
