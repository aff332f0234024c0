//! Calls with an idempotency key.

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use overnight_wire::native::batches::{BatchCreated, CreateBatch};
use overnight_wire::native::requests::{CreateRequest, RequestCreated};
use reqwest::header::HeaderValue;

use crate::bulk::Bulk;
use crate::send::to_json;
use crate::{Client, Error};

/// Longest idempotency key, in bytes.
const KEY_BYTES_MAX: usize = 255;

/// Calls with an idempotency key. Each is done once: the same call with the same key gets the first answer again, for 48 hours,
/// whoever sends it and whatever broke in between. So they are repeated after every failure that may pass.
///
/// ```no_run
/// # async fn example(client: &overnight_client::Client, request: &overnight_client::CreateRequest)
/// # -> Result<(), overnight_client::Error> {
/// let created = client.once("invoice-17")?.create_request(request).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Once<'c> {
    client: &'c Client,
    name: String,
    key: HeaderValue,
}

impl Client {
    /// Calls with this idempotency key of 1 to 255 visible ASCII characters. Create Request, Create Batch and bulk creates have separate
    /// keys. Fails with [`Error::Invalid`] if `key` is invalid.
    pub fn once(&self, key: &str) -> Result<Once<'_>, Error> {
        Ok(Once { client: self, name: key.to_owned(), key: read_key(key)? })
    }
}

/// Parses the header value of an idempotency key.
pub(crate) fn read_key(key: &str) -> Result<HeaderValue, Error> {
    let is_key = (1..=KEY_BYTES_MAX).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    let header = HeaderValue::from_str(key).ok().filter(|_| is_key);
    header.ok_or_else(|| {
        Error::Invalid(format!("an idempotency key has 1 to {KEY_BYTES_MAX} visible ASCII characters"))
    })
}

impl Once<'_> {
    /// Like [`Client::create_request`]. Fails with the code `idempotency_key_reused` if the key was used with another body.
    pub async fn create_request(&self, request: &CreateRequest) -> Result<RequestCreated, Error> {
        self.create_request_raw(to_json(request)?).await
    }

    /// Like [`Client::create_request_raw`], with the key. A repeat must have the same bytes.
    pub async fn create_request_raw(&self, body: impl Into<Bytes>) -> Result<RequestCreated, Error> {
        self.client.create_request_with(body.into(), Some(self.key.clone())).await
    }

    /// Like [`Client::create_batch`]. Fails with the code `idempotency_key_reused` if the key was used with another body.
    pub async fn create_batch(&self, batch: &CreateBatch) -> Result<BatchCreated, Error> {
        self.client.create_batch_with(batch, Some(self.key.clone())).await
    }

    /// Creates many requests in calls of up to 1,024. The first call of [`Bulk::next`] sends the first of them.
    ///
    /// The key covers each request with its position in `requests`. After a crash of this program, the same requests at the same positions
    /// with the same key are created once in all, within 48 hours.
    pub fn create_requests<S>(
        &self,
        requests: S,
    ) -> Result<Bulk<impl Stream<Item = Result<Bytes, Error>> + Unpin + use<S>>, Error>
    where
        S: Stream<Item = CreateRequest> + Unpin,
    {
        self.bulk(requests.map(|request| to_json(&request)))
    }

    /// The same with JSON bodies. An empty or white-space body occupies a position and has no outcome: use it for the bodies that an
    /// earlier call answered.
    pub fn create_requests_raw<S, B>(
        &self,
        bodies: S,
    ) -> Result<Bulk<impl Stream<Item = Result<Bytes, Error>> + Unpin + use<S, B>>, Error>
    where
        S: Stream<Item = B> + Unpin,
        B: Into<Bytes>,
    {
        self.bulk(bodies.map(|body| Ok(body.into())))
    }

    fn bulk<S>(&self, bodies: S) -> Result<Bulk<S>, Error>
    where
        S: Stream<Item = Result<Bytes, Error>> + Unpin,
    {
        let url = self.client.url(&["v1", "requests"])?;
        Ok(Bulk::new(self.client.clone(), url, self.name.clone(), bodies))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_1_to_255_visible_characters() {
        let client = Client::new("http://a", "key").expect("a client");
        for (key, expected) in
            [("", false), ("a", true), ("a b", false), ("a\n", false), ("é", false), ("~!0f", true)]
        {
            assert_eq!(client.once(key).is_ok(), expected, "{key:?}");
        }
        assert!(client.once(&"x".repeat(255)).is_ok() && client.once(&"x".repeat(256)).is_err());
    }
}
