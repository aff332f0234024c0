//! Names of models in the Hub.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

const PREFIX: &str = "hf:";
/// The default revision.
const MAIN: &str = "main";
/// Longest owner and longest repository, in bytes, as in the Hub.
const PART_BYTES_MAX: usize = 96;
const REST_BYTES_MAX: usize = 255;

/// The name of a model: `hf:OWNER/REPO[@REVISION][:FILE or quantisation]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HubName {
    repository: String,
    revision: Option<String>,
    selector: Option<String>,
}

/// The text is not the name of a model in the Hub.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{0:?} is no model of the Hub: write hf:OWNER/REPO, hf:OWNER/REPO:Q4_K_M or hf:OWNER/REPO@REVISION:FILE.gguf"
)]
pub struct NameError(String);

impl HubName {
    /// Whether a text begins with `hf:`, so must be a name of the Hub.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// `OWNER/REPO`.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The branch, tag or commit; `main` by default.
    pub fn revision(&self) -> &str {
        self.revision.as_deref().unwrap_or(MAIN)
    }

    /// The path in the repository or the quantisation, if the name has one.
    pub fn selector(&self) -> Option<&str> {
        self.selector.as_deref()
    }

    /// The name that clients use: without `hf:`.
    pub fn model_name(&self) -> String {
        let text = self.to_string();
        text.strip_prefix(PREFIX).map(str::to_owned).unwrap_or(text)
    }

    /// The same repository and revision with this path or quantisation.
    #[must_use]
    pub fn with_selector(&self, selector: &str) -> Self {
        Self { selector: Some(selector.to_owned()), ..self.clone() }
    }
}

impl FromStr for HubName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let read = || {
            let rest = text.strip_prefix(PREFIX)?;
            let (place, selector) = match rest.split_once(':') {
                Some((place, selector)) => (place, Some(selector)),
                None => (rest, None),
            };
            let (repository, revision) = match place.split_once('@') {
                Some((repository, revision)) => (repository, Some(revision)),
                None => (place, None),
            };
            let (owner, name) = repository.split_once('/')?;
            let fits = is_part(owner) && is_part(name);
            let fits = fits && revision.is_none_or(is_path) && selector.is_none_or(is_path);
            fits.then(|| Self {
                repository: repository.to_owned(),
                revision: revision.map(str::to_owned),
                selector: selector.map(str::to_owned),
            })
        };
        read().ok_or_else(|| NameError(text.to_owned()))
    }
}

impl fmt::Display for HubName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{}", self.repository)?;
        self.revision.iter().try_for_each(|revision| write!(formatter, "@{revision}"))?;
        self.selector.iter().try_for_each(|selector| write!(formatter, ":{selector}"))
    }
}

/// Whether a text is a valid owner or repository. `--` separates them in the name of a folder.
fn is_part(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=PART_BYTES_MAX).contains(&text.len())
        && text.bytes().all(is_allowed)
        && !text.starts_with(['-', '.'])
        && !text.ends_with(['-', '.'])
        && !text.contains("--")
        && !text.contains("..")
}

/// Whether a path stays below its start.
pub(crate) fn is_path(text: &str) -> bool {
    (1..=REST_BYTES_MAX).contains(&text.len())
        && !text.contains(['\\', ':', '\0'])
        && !text.contains(char::is_control)
        && text.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_the_same() {
        for (text, repository, revision, selector) in [
            ("hf:a/b", "a/b", "main", None),
            (
                "hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF:q4_k_m",
                "Qwen/Qwen2.5-0.5B-Instruct-GGUF",
                "main",
                Some("q4_k_m"),
            ),
            ("hf:a/b@v1.0:x/y.gguf", "a/b", "v1.0", Some("x/y.gguf")),
            ("hf:a/b@refs/pr/1", "a/b", "refs/pr/1", None),
        ] {
            let name: HubName = text.parse().unwrap();
            assert_eq!(
                (name.repository(), name.revision(), name.selector()),
                (repository, revision, selector)
            );
            assert_eq!(
                (name.to_string().as_str(), format!("hf:{}", name.model_name()).as_str()),
                (text, text)
            );
        }
    }

    #[test]
    fn what_is_no_name_or_leads_elsewhere_is_refused() {
        for text in [
            "",
            "hf:",
            "hf:a",
            "hf:/b",
            "hf:a/",
            "a/b",
            "hf:a/b/c",
            "hf:a/..",
            "hf:../b",
            "hf:a--b/c",
            "hf:.a/b",
            "hf:a/b:",
            "hf:a/b@",
            "hf:a/b:../x.gguf",
            "hf:a/b:/etc/passwd",
            "hf:a/b:x:y",
            "hf:a/b@../x",
            "hf:a/b:x\\y",
            "hf:a b/c",
            "hf:ä/b",
        ] {
            assert!(text.parse::<HubName>().is_err(), "{text}");
        }
        assert!(format!("hf:{}/b", "a".repeat(97)).parse::<HubName>().is_err());
    }
}
