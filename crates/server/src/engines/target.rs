//! Where an engine is and how it is spoken to.

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::http;
use overnight_domain::endpoints::Endpoint;

use crate::secrets::Secret;

/// An engine's addresses and key.
pub(super) struct Target {
    /// `{base}/chat/completions` and the like, in the order of [`Endpoint::ALL`].
    endpoints: [Uri; Endpoint::ALL.len()],
    /// `{base}/models`.
    pub(super) models: Uri,
    /// `/metrics` at the server's root, where engines have it; `None` of a base that does not end with `/v1`.
    pub(super) metrics: Option<Uri>,
    /// The `Authorization` header, if the engine wants one.
    pub(super) authorization: Option<HeaderValue>,
    key: Option<Secret>,
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
            authorization: key.as_ref().map(Secret::bearer).transpose()?,
            key,
            only: None,
        })
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
        match &self.key {
            Some(key) => key.conceal(text),
            None => text,
        }
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
