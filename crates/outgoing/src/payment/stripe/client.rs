//! The client of Stripe's API: four calls with time and size limits.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Uri, http};
use overnight_base::clock::SharedClock;
use overnight_base::secrets::Secret;
use overnight_config::OutgoingConfig;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use url::Url;
use url::form_urlencoded::Serializer;

use super::sessions::{PAYMENT_KEY, Session};
use super::{events, refusal};
use crate::payment::{
    Checkout, Notice, NoticeReference, Order, PaymentError, PaymentUnusable, Receipt, SessionState,
};
use crate::transport::{AGENT, Transport, Unread, in_words, printable, read_whole};

/// The pinned version of Stripe's API. <https://docs.stripe.com/changelog>
const VERSION: &str = "2026-10-28.endive";

const TIMEOUT_MS: i64 = 20_000;

const CONNECT_TIMEOUT_MS: i64 = 5_000;

const ANSWER_BYTES_MAX: usize = 1 << 20;

pub(super) struct Client {
    /// The address of the API's `v1`.
    root: String,
    sessions: Uri,
    key: Secret,
    authorization: HeaderValue,
    transport: Transport,
    clock: SharedClock,
}

#[derive(Deserialize)]
struct Sessions {
    data: Vec<Session>,
}

impl Client {
    pub(super) fn new(
        base_url: &Url,
        key: Secret,
        outgoing: &OutgoingConfig,
        clock: &SharedClock,
    ) -> Result<Self, PaymentUnusable> {
        let root = format!("{}/v1", base_url.as_str().trim_end_matches('/'));
        let sessions = format!("{root}/checkout/sessions");
        let address = |error: http::Error| PaymentUnusable::Address(error.to_string());
        let transport = Transport::open(base_url.scheme(), outgoing, clock.clone(), CONNECT_TIMEOUT_MS)
            .map_err(|error| PaymentUnusable::Tls(error.to_string()))?;
        Ok(Self {
            root,
            sessions: Uri::try_from(sessions).map_err(|error| address(error.into()))?,
            authorization: key.bearer().map_err(|error| address(error.into()))?,
            key,
            transport,
            clock: clock.clone(),
        })
    }

    pub(super) async fn open_checkout(&self, order: &Order) -> Result<Checkout, PaymentError> {
        let request = self
            .request(Method::POST, self.sessions.clone())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header("Idempotency-Key", order.id.to_string())
            .body(Full::new(form(order).into()));
        let session: Session = self.call(request).await?;
        let url =
            session.url.ok_or_else(|| PaymentError::NotUnderstood("a page without a `url`".to_owned()))?;
        Ok(Checkout { session: session.id, url })
    }

    pub(super) async fn find_receipt(&self, reference: &str) -> Result<Option<Receipt>, PaymentError> {
        let query = Serializer::new(String::new())
            .append_pair("payment_intent", reference)
            .append_pair("limit", "1")
            .finish();
        let uri = Uri::try_from(format!("{}?{query}", self.sessions));
        let uri = uri.map_err(|error| PaymentError::NotUnderstood(error.to_string()))?;
        let request = self.request(Method::GET, uri).body(Full::new(Bytes::new()));
        let sessions: Sessions = self.call(request).await?;
        match sessions.data.into_iter().next().filter(Session::is_paid) {
            Some(session) => session.into_receipt().map_err(PaymentError::NotUnderstood),
            None => Ok(None),
        }
    }

    pub(super) async fn find_session(&self, session: &str) -> Result<SessionState, PaymentError> {
        let session: Session = self.fetch("checkout/sessions", session).await?;
        session.into_state().map_err(PaymentError::NotUnderstood)
    }

    /// The current state of a thin event's object.
    pub(super) async fn fetch_notice(&self, reference: &NoticeReference) -> Result<Notice, PaymentError> {
        let NoticeReference { kind, id } = reference;
        let Some(path) = events::path_of(kind) else { return Ok(Notice::Nothing) };
        let object: Box<RawValue> = self.fetch(path, id).await?;
        events::read_fetched(kind, &object).map_err(PaymentError::NotUnderstood)
    }

    async fn fetch<T: DeserializeOwned>(&self, path: &str, name: &str) -> Result<T, PaymentError> {
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let uri = Uri::try_from(format!("{}/{path}/{name}", self.root)).ok().filter(|_| is_name);
        let uri = uri.ok_or_else(|| PaymentError::NotUnderstood("a name that is none".to_owned()))?;
        self.call(self.request(Method::GET, uri).body(Full::new(Bytes::new()))).await
    }

    fn request(&self, method: Method, uri: Uri) -> http::request::Builder {
        Request::builder()
            .method(method)
            .uri(uri)
            .header(USER_AGENT, AGENT)
            .header(ACCEPT, "application/json")
            .header(AUTHORIZATION, self.authorization.clone())
            .header("Stripe-Version", VERSION)
    }

    async fn call<T: DeserializeOwned>(
        &self,
        request: http::Result<Request<Full<Bytes>>>,
    ) -> Result<T, PaymentError> {
        let request = request.map_err(|error| PaymentError::NotUnderstood(error.to_string()))?;
        tokio::select! {
            answered = self.exchange(request) => answered,
            () = self.clock.sleep_until(self.clock.now().saturating_add(TIMEOUT_MS)) => {
                Err(PaymentError::Away(format!("no answer within {} s", TIMEOUT_MS / 1_000)))
            }
        }
    }

    async fn exchange<T: DeserializeOwned>(&self, request: Request<Full<Bytes>>) -> Result<T, PaymentError> {
        let response =
            self.transport.send(request).await.map_err(|error| PaymentError::Away(in_words(&error)))?;
        let status = response.status();
        let body =
            read_whole(response.into_body(), ANSWER_BYTES_MAX).await.map_err(|unread| match unread {
                Unread::TooLong => {
                    PaymentError::NotUnderstood(format!("it is longer than {} MiB", ANSWER_BYTES_MAX >> 20))
                }
                Unread::Broken(error) => PaymentError::Away(in_words(&error)),
            })?;
        if !status.is_success() {
            return Err(refusal::read(status, &body, &self.key));
        }
        serde_json::from_slice(&body)
            .map_err(|error| PaymentError::NotUnderstood(printable(&self.key.conceal(error.to_string()))))
    }
}

/// The order as Stripe's parameters. The payment is in our currency whatever the payer's is, so that refunds and disputes use the same
/// units.
fn form(order: &Order) -> String {
    let (payment, account) = (order.id.to_string(), order.account.to_string());
    Serializer::new(String::new())
        .append_pair("mode", "payment")
        .append_pair("client_reference_id", &payment)
        .append_pair("line_items[0][price_data][currency]", order.currency.as_str())
        .append_pair("line_items[0][price_data][unit_amount]", &order.amount.to_string())
        .append_pair("line_items[0][price_data][product_data][name]", &order.description)
        .append_pair("line_items[0][quantity]", "1")
        .append_pair("adaptive_pricing[enabled]", "false")
        .append_pair(&format!("metadata[{PAYMENT_KEY}]"), &payment)
        .append_pair("metadata[overnight_account]", &account)
        .append_pair(&format!("payment_intent_data[metadata][{PAYMENT_KEY}]"), &payment)
        .append_pair("success_url", &order.return_url)
        .finish()
}
