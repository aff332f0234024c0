//! An engine's address, and how it is called.

use hyper::Uri;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::http;
use overnight_base::secrets::Secret;
use overnight_config::{Extras, KeySource, ValueSource};
use overnight_domain::endpoints::Endpoint;
use overnight_outgoing::transport::AGENT;
use url::form_urlencoded;

pub(super) struct Target {
    /// `{base}/chat/completions` and the like, in the order of [`Endpoint::ALL`].
    endpoints: [Uri; Endpoint::ALL.len()],
    /// `{base}/models`.
    pub(super) models: Uri,
    /// `/metrics` at the server's root; `None` if the base does not end with `/v1`.
    pub(super) metrics: Option<Uri>,
    /// The headers of each call, with the key and those of the settings.
    pub(super) headers: HeaderMap,
    /// The secrets in headers and URLs.
    secrets: Vec<Secret>,
    pub(super) only: Option<Endpoint>,
}

impl Target {
    pub(super) fn new(base_url: &str, key: Option<Secret>) -> Result<Self, http::Error> {
        let json = HeaderValue::from_static("application/json");
        let mut headers = HeaderMap::from_iter([
            (USER_AGENT, HeaderValue::from_static(AGENT)),
            (ACCEPT, json.clone()),
            (CONTENT_TYPE, json),
        ]);
        if let Some(key) = &key {
            headers.insert(AUTHORIZATION, key.bearer()?);
        }
        let base = base_url.trim_end_matches('/');
        let at = |endpoint: Endpoint| Uri::try_from(format!("{base}{}", endpoint.path()));
        Ok(Self {
            endpoints: [at(Endpoint::ALL[0])?, at(Endpoint::ALL[1])?, at(Endpoint::ALL[2])?],
            models: Uri::try_from(format!("{base}/models"))?,
            metrics: base
                .strip_suffix("/v1")
                .map(|root| Uri::try_from(format!("{root}/metrics")))
                .transpose()?,
            headers,
            secrets: key.into_iter().collect(),
            only: None,
        })
    }

    /// With headers and query parameters, whose secrets `find` returns.
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

    /// Whether calls have the same keys, headers and parameters.
    pub(super) fn is_called_like(&self, other: &Self) -> bool {
        self.headers == other.headers && self.models.query() == other.models.query()
    }

    /// Why a request for an endpoint need not be sent; `None` if the endpoint may exist.
    pub(super) fn lacks(&self, endpoint: Endpoint) -> Option<String> {
        let only = self.only.filter(|only| *only != endpoint)?;
        Some(format!("the embedded engine serves {} only, for which its model was made", only.noun()))
    }

    pub(super) const fn endpoint(&self, endpoint: Endpoint) -> &Uri {
        let [chat_completions, completions, embeddings] = &self.endpoints;
        match endpoint {
            Endpoint::ChatCompletions => chat_completions,
            Endpoint::Completions => completions,
            Endpoint::Embeddings => embeddings,
        }
    }

    /// The text without the secrets, which some engines repeat when they refuse them.
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
