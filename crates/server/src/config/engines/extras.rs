//! Headers and query parameters that the calls of an engine carry, such as those of Azure.

use std::collections::BTreeMap;

use hyper::header::{HeaderName, HeaderValue};
use overnight_base::paths::expanded;

use super::{KeySource, OpenAiConfig, variable_name};
use crate::config::ConfigError;
use crate::config::section::Section;

/// What the calls of an engine carry besides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extras {
    /// Headers, by their names in small letters.
    pub headers: BTreeMap<String, ValueSource>,
    pub query: BTreeMap<String, ValueSource>,
}

/// Where a value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSource {
    Given(String),
    /// Elsewhere, because it is a secret.
    Secret(KeySource),
}

impl ValueSource {
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix("env:") {
            return variable_name(name).map(|name| Self::Secret(KeySource::Variable(name)));
        }
        match text.strip_prefix("file:") {
            Some("") => Err("\"file:\" and a path".to_owned()),
            Some(path) => expanded(path).map(|path| Self::Secret(KeySource::File(path))),
            None => Ok(Self::Given(text.to_owned())),
        }
    }

    /// Where it stands, if it is a secret.
    pub fn secret(&self) -> Option<&KeySource> {
        match self {
            Self::Given(_) => None,
            Self::Secret(source) => Some(source),
        }
    }
}

impl OpenAiConfig {
    /// Where its secrets stand.
    pub fn secrets(&self) -> impl Iterator<Item = &KeySource> {
        let extras = self.extras.headers.values().chain(self.extras.query.values());
        self.api_key.iter().chain(extras.filter_map(ValueSource::secret))
    }
}

/// Headers that the service itself sets.
const OWN: [&str; 7] =
    ["accept", "connection", "content-length", "content-type", "host", "transfer-encoding", "user-agent"];

/// What `headers` and `query` of an engine name.
pub(super) fn read(section: &Section<'_>) -> Result<Extras, ConfigError> {
    let mut headers = BTreeMap::new();
    for (name, value) in values(section, "headers")? {
        let header = HeaderName::try_from(&name).ok().filter(|it| !OWN.contains(&it.as_str()));
        let Some(header) = header else {
            return Err(section
                .refuse("headers", format!("must not name {name:?}: give the name of another HTTP header")));
        };
        if let ValueSource::Given(text) = &value
            && HeaderValue::try_from(text).is_err()
        {
            return Err(section.refuse("headers", format!("must hold a header's value for {name:?}")));
        }
        if headers.insert(header.as_str().to_owned(), value).is_some() {
            let twice = format!("must name {header:?} once: names of headers differ by more than their case");
            return Err(section.refuse("headers", twice));
        }
    }
    let query = values(section, "query")?;
    if query.contains_key("") {
        return Err(section.refuse("query", "must give each parameter a name"));
    }
    Ok(Extras { headers, query })
}

fn values(section: &Section<'_>, key: &str) -> Result<BTreeMap<String, ValueSource>, ConfigError> {
    let texts = section.string_map(key)?.unwrap_or_default();
    let value = |(name, text): (String, String)| match ValueSource::parse(&text) {
        Ok(value) => Ok((name, value)),
        Err(wanted) => Err(section.refuse(key, format!("must hold {wanted} for {name:?}"))),
    };
    texts.into_iter().map(value).collect()
}
