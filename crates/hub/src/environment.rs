//! The address, token and cache of the Hub, from the variables that its own tools read.

use std::env;
use std::fs;
use std::path::PathBuf;

const ENDPOINT: &str = "https://huggingface.co";

/// How to reach the Hub, and its cache.
#[derive(Clone)]
pub struct HubOptions {
    /// The address of the Hub, without a trailing slash.
    pub endpoint: String,
    /// Gives access to private and gated repositories.
    pub token: Option<String>,
    /// The cache folder, with one folder for each repository.
    pub folder: PathBuf,
    /// Only the cache is used; the Hub is not contacted.
    pub is_offline: bool,
}

impl HubOptions {
    /// Reads `HF_ENDPOINT`, `HF_TOKEN` (or the file that `hf auth login` writes), `HF_HUB_CACHE` or `HF_HOME`, and `HF_HUB_OFFLINE`.
    pub fn from_environment() -> Self {
        Self::from(|name| env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from(variable: impl Fn(&str) -> Option<String>) -> Self {
        let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| {
            Some(PathBuf::from(variable("HOME").or_else(|| variable("USERPROFILE"))?).join(".cache"))
        });
        let home = variable("HF_HOME").map(PathBuf::from);
        let home = home.unwrap_or_else(|| cache.unwrap_or_else(|| PathBuf::from(".")).join("huggingface"));
        let folder =
            variable("HF_HUB_CACHE").or_else(|| variable("HUGGINGFACE_HUB_CACHE")).map(PathBuf::from);
        let token_file = variable("HF_TOKEN_PATH").map_or_else(|| home.join("token"), PathBuf::from);
        let token = variable("HF_TOKEN").or_else(|| fs::read_to_string(token_file).ok());
        let is_on =
            |value: String| matches!(value.to_ascii_uppercase().as_str(), "1" | "ON" | "YES" | "TRUE");
        Self {
            endpoint: variable("HF_ENDPOINT")
                .unwrap_or_else(|| ENDPOINT.to_owned())
                .trim_end_matches('/')
                .to_owned(),
            token: token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty()),
            folder: folder.unwrap_or_else(|| home.join("hub")),
            is_offline: variable("HF_HUB_OFFLINE")
                .or_else(|| variable("TRANSFORMERS_OFFLINE"))
                .is_some_and(is_on),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> HubOptions {
        HubOptions::from(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_is_read_as_the_hubs_own_tools_do() {
        let options = of(&[("HOME", "/h")]);
        assert_eq!((options.endpoint.as_str(), options.is_offline), ("https://huggingface.co", false));
        assert_eq!((options.folder, options.token), (PathBuf::from("/h/.cache/huggingface/hub"), None));
        for (variables, folder) in [
            (&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")][..], "/x/huggingface/hub"),
            (&[("HOME", "/h"), ("HF_HOME", "/f")], "/f/hub"),
            (&[("HF_HOME", "/f"), ("HF_HUB_CACHE", "/c")], "/c"),
        ] {
            assert_eq!(of(variables).folder, PathBuf::from(folder));
        }
        let options =
            of(&[("HF_ENDPOINT", "http://mirror/"), ("HF_TOKEN", " hf_x\n"), ("HF_HUB_OFFLINE", "yes")]);
        assert_eq!(
            (options.endpoint.as_str(), options.token.as_deref(), options.is_offline),
            ("http://mirror", Some("hf_x"), true)
        );
        assert!(!of(&[("HF_HUB_OFFLINE", "0")]).is_offline);
    }

    #[test]
    fn a_token_that_was_stored_at_login_is_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("token"), "hf_stored\n").unwrap();
        let home = folder.path().to_str().unwrap();
        assert_eq!(of(&[("HF_HOME", home)]).token.as_deref(), Some("hf_stored"));
        assert_eq!(of(&[("HF_HOME", home), ("HF_TOKEN", "hf_x")]).token.as_deref(), Some("hf_x"));
    }
}
