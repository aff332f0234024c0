//! Headers and query parameters for the calls of an engine, such as those of Azure.

use std::collections::BTreeMap;

use hyper::header::{HeaderName, HeaderValue};
use overnight_base::paths::expanded;

use super::{KeySource, OpenAiConfig};
use crate::Read;
use crate::section::Section;
use crate::tree::Value;
use crate::values::{text_map, variable_name};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extras {
    /// By their lower-case names.
    pub headers: BTreeMap<String, ValueSource>,
    pub query: BTreeMap<String, ValueSource>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSource {
    Given(String),
    /// A secret, which is not in the settings.
    Secret(KeySource),
}

impl ValueSource {
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix("env:") {
            return Ok(Self::Secret(KeySource::Variable(variable_name(name)?)));
        }
        match text.strip_prefix("file:") {
            Some("") => Err("\"file:\" and a path".to_owned()),
            Some(path) => expanded(path).map(|path| Self::Secret(KeySource::File(path))),
            None => Ok(Self::Given(text.to_owned())),
        }
    }

    pub fn secret(&self) -> Option<&KeySource> {
        match self {
            Self::Given(_) => None,
            Self::Secret(source) => Some(source),
        }
    }
}

impl OpenAiConfig {
    pub fn secrets(&self) -> impl Iterator<Item = &KeySource> {
        let extras = self.extras.headers.values().chain(self.extras.query.values());
        self.api_key.iter().chain(extras.filter_map(ValueSource::secret))
    }
}

/// Headers that the service itself sets.
const OWN: [&str; 7] =
    ["accept", "connection", "content-length", "content-type", "host", "transfer-encoding", "user-agent"];

pub(super) fn read(section: &Section<'_>) -> Read<Extras> {
    let headers = section.find("headers", headers)?.unwrap_or_default();
    let query = section.find("query", values)?.unwrap_or_default();
    section.forbid("query", query.contains_key("").then_some("must give each parameter a name"))?;
    Ok(Extras { headers, query })
}

fn headers(value: &Value) -> Result<BTreeMap<String, ValueSource>, String> {
    let mut headers = BTreeMap::new();
    for (name, value) in values(value)? {
        let header = HeaderName::try_from(&name).ok().filter(|it| !OWN.contains(&it.as_str()));
        let header =
            header.ok_or_else(|| format!("must not name {name:?}: give the name of another HTTP header"))?;
        if let ValueSource::Given(text) = &value
            && HeaderValue::try_from(text).is_err()
        {
            return Err(format!("must hold a header's value for {name:?}"));
        }
        if headers.insert(header.as_str().to_owned(), value).is_some() {
            return Err(format!(
                "must name {header:?} once: names of headers differ by more than their case"
            ));
        }
    }
    Ok(headers)
}

fn values(value: &Value) -> Result<BTreeMap<String, ValueSource>, String> {
    let read = |(name, text): (String, String)| match ValueSource::parse(&text) {
        Ok(value) => Ok((name, value)),
        Err(wanted) => Err(format!("must hold {wanted} for {name:?}")),
    };
    text_map(value)?.into_iter().map(read).collect()
}
