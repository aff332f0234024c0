//! Invalid requests of batches that are created nevertheless.

use bytes::Bytes;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::{Json, JsonText};
use overnight_domain::records::ClientFields;
use overnight_domain::requests::COMPLETION_WINDOW_MS;
use overnight_domain::scheduler::{AccountKey, ModelKey};
use overnight_domain::sort_key::SortKey;
use overnight_store::requests::NewRequest;

use crate::Services;

/// An invalid request of a batch that is created nevertheless: it fails when it is stored.
pub(crate) struct RefusedRequest {
    model: ModelKey,
    alias: Option<ModelKey>,
    client: ClientFields,
    body: Bytes,
    failure: Bytes,
}

impl RefusedRequest {
    /// A request with this body, which is an object, and this `result_body`. It belongs to the model that it names, or else to the first;
    /// `None` if no models are offered.
    pub(crate) fn new(
        services: &Services,
        body: Json<'_>,
        metadata: JsonText,
        failure: Vec<u8>,
    ) -> Option<Self> {
        let named = body.to_object().and_then(|body| body.get("model")?.decode_string());
        let models = services.models();
        let named = named.as_deref().and_then(|name| Some((models.find(name)?, name)));
        let (model, alias) = match named {
            Some((model, name)) => (model.key, model.alias(name)),
            None => (models.iter().next()?.key, None),
        };
        Some(Self {
            model,
            alias,
            client: ClientFields {
                metadata: Some(metadata.into_string().into_bytes().into()),
                ..ClientFields::absent()
            },
            body: body.as_str().to_owned().into(),
            failure: failure.into(),
        })
    }

    /// The request to be stored, created now, and its result.
    pub(crate) fn into_request(self, services: &Services, account: AccountKey) -> (NewRequest, Bytes) {
        let now = services.clock.now();
        let request = NewRequest {
            id: services.ids.next(now),
            account,
            model: self.model,
            alias: self.alias,
            created_at: now,
            expires_at: now + COMPLETION_WINDOW_MS,
            ready_at: now + services.config().aggregation_period.0,
            sort_key: SortKey::from_bytes(&[]),
            cost: 0,
            hold: None,
            max_tokens: None,
            fifo_hit_permille: None,
            trace: None,
            api_key: None,
            endpoint: Endpoint::ChatCompletions,
            batch: None,
            client: self.client,
            body: self.body,
        };
        (request, self.failure)
    }
}
