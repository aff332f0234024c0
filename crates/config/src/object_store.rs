//! The object store of large bodies.

use url::Url;

use super::section::Section;
use super::values::{flag, is_plain, like, text, within};
use super::{ByteSize, Millis, Read};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectStoreConfig {
    /// The bucket, container or folder, and the prefix in it.
    pub url: Url,
    /// Whether new large bodies are stored there.
    pub enabled: bool,
    /// The least size of a large body.
    pub min_bytes: ByteSize,
    /// The delay between the deletion of a request and that of its objects.
    pub delete_after: Millis,
    /// The API's URL, if it does not follow from `url`.
    pub endpoint: Option<Url>,
    /// For S3; `None`: the environment's.
    pub region: Option<String>,
    /// Whether calls without TLS are allowed.
    pub allow_http: bool,
}

pub(super) fn read(section: &Section<'_>) -> Read<Option<ObjectStoreConfig>> {
    let enabled = section.get("enabled", flag)?;
    let min_bytes = section.get("min_bytes", within("64 KiB to 1 GiB"))?;
    let delete_after = section.get("delete_after", within("0s to 365d"))?;
    let allow_http = section.get("allow_http", flag)?;
    let endpoint = section.find("endpoint", like(endpoint))?;
    let region = section.find("region", text)?;
    let Some(url) = section.find("url", like(location))? else { return Ok(None) };
    let is_open = !allow_http && endpoint.as_ref().is_some_and(|endpoint| endpoint.scheme() == "http");
    section.forbid("endpoint", is_open.then_some("is http, and `object_store.allow_http` is false"))?;
    Ok(Some(ObjectStoreConfig { url, enabled, min_bytes, delete_after, endpoint, region, allow_http }))
}

fn location(text: &str) -> Result<Url, &'static str> {
    const WANTED: &str = "s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or file:///folder, without user, query or fragment";
    let url: Url = text.parse().map_err(|_| WANTED)?;
    let is_known = match url.scheme() {
        "s3" | "gs" | "az" => url.host_str().is_some_and(|host| !host.is_empty()),
        "file" => url.host_str().is_none() && url.path().len() > 1,
        _ => false,
    };
    let fits = is_known && is_plain(&url) && url.port().is_none();
    fits.then_some(url).ok_or(WANTED)
}

fn endpoint(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or("an http or https URL")
}
