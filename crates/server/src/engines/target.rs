//! Where an engine is and how it is spoken to.

use hyper::Uri;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use hyper::http;
use overnight_base::secrets::Secret;
use overnight_domain::endpoints::Endpoint;
use url::form_urlencoded;

use crate::config::{Extras, KeySource, ValueSource};

pub(super) struct Target {
    /// `{base}/chat/completions` and the like, in the order of [`Endpoint::ALL`].
    endpoints: [Uri; Endpoint::ALL.len()],
    /// `{base}/models`.
    pub(super) models: Uri,
    /// `/metrics` at the server's root, where engines have it; `None` of a base that does not end with `/v1`.
    pub(super) metrics: Option<Uri>,
    /// What each call carries besides: the key and headers of the settings.
    pub(super) headers: HeaderMap,
    /// The secrets among them, and in the addresses.
    secrets: Vec<Secret>,
    /// The one endpoint that there is, where that is known.
    pub(super) only: Option<Endpoint>,
}

impl Target {
    /// The engine under a base URL, with its key if it wants one.
    pub(super) fn new(base_url: &str, key: Option<Secret>) -> Result<Self, http::Error> {
        let base = base_url.trim_end_matches('/');
        let at = |endpoint: Endpoint| Uri::try_from(format!("{base}{}", endpoint.path()));
        Ok(Self {
            endpoints: [at(Endpoint::ALL[0])?, at(Endpoint::ALL[1])?, at(Endpoint::ALL[2])?],
            models: Uri::try_from(format!("{base}/models"))?,
            metrics: base
                .strip_suffix("/v1")
                .map(|root| Uri::try_from(format!("{root}/metrics")))
                .transpose()?,
            headers: match &key {
                Some(key) => HeaderMap::from_iter([(AUTHORIZATION, key.bearer()?)]),
                None => HeaderMap::new(),
            },
            secrets: key.into_iter().collect(),
            only: None,
        })
    }

    /// The same with headers and query parameters, whose secrets `find` knows.
    pub(super) fn with<'a>(
        mut self,
        extras: &Extras,
        find: impl Fn(&KeySource) -> Option<&'a Secret>,
    ) -> Result<Self, http::Error> {
        let mut text = |value: &ValueSource| match value {
            ValueSource::Given(text) => text.clone(),
            ValueSource::Secret(source) => find(source).map_or_else(String::new, |secret| {
                self.secrets.push(secret.clone());
                secret.reveal().to_owned()
            }),
        };
        for (name, value) in &extras.headers {
            let mut header = HeaderValue::try_from(text(value))?;
            header.set_sensitive(value.secret().is_some());
            self.headers.insert(HeaderName::try_from(name)?, header);
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in &extras.query {
            query.append_pair(name, &text(value));
        }
        let query = query.finish();
        if !query.is_empty() {
            let ask = |uri: &Uri| Uri::try_from(format!("{uri}?{query}"));
            let [chat, completions, embeddings] = &self.endpoints;
            self.endpoints = [ask(chat)?, ask(completions)?, ask(embeddings)?];
            self.models = ask(&self.models)?;
        }
        Ok(self)
    }

    /// Whether calls carry the same keys, headers and parameters.
    pub(super) fn is_called_like(&self, other: &Self) -> bool {
        self.headers == other.headers && self.models.query() == other.models.query()
    }

    /// Why a request for an endpoint need not be sent, in words; `None` where that is not known.
    pub(super) fn lacks(&self, endpoint: Endpoint) -> Option<String> {
        let only = self.only.filter(|only| *only != endpoint)?;
        Some(format!("the embedded engine serves {} only, for which its model was made", only.noun()))
    }

    /// Where requests for an endpoint are sent.
    pub(super) const fn endpoint(&self, endpoint: Endpoint) -> &Uri {
        let [chat_completions, completions, embeddings] = &self.endpoints;
        match endpoint {
            Endpoint::ChatCompletions => chat_completions,
            Endpoint::Completions => completions,
            Endpoint::Embeddings => embeddings,
        }
    }

    /// The text without the key, which some engines repeat when they refuse it.
    pub(super) fn conceal(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| secret.conceal(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_put_under_the_base() {
        for base in ["http://h/v1", "http://h/v1/", "http://h"] {
            let target = Target::new(base, None).unwrap();
            for (endpoint, path) in
                Endpoint::ALL.into_iter().zip(["chat/completions", "completions", "embeddings"])
            {
                let expected = format!("{}/{path}", base.trim_end_matches('/'));
                assert_eq!(target.endpoint(endpoint).to_string(), expected);
            }
            let metrics = base.contains("v1").then(|| "http://h/metrics".to_owned());
            assert_eq!(target.metrics.map(|uri| uri.to_string()), metrics);
        }
    }
}
