//! Where bodies above a size are stored, beside the database.

use url::Url;

use super::section::Section;
use super::{ByteSize, ConfigError, Millis};

const KIB: u64 = 1 << 10;
const DAY: i64 = 24 * 60 * 60 * 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectStoreConfig {
    /// The bucket, container or folder, and the prefix in it.
    pub url: Url,
    /// Whether large bodies are put there from now on.
    pub enabled: bool,
    /// Which bodies are large: those of at least so many bytes.
    pub min_bytes: ByteSize,
    /// How long after its request an object is deleted.
    pub delete_after: Millis,
    /// Where its API is, if that does not follow from `url`.
    pub endpoint: Option<Url>,
    /// The region of the bucket, for S3; `None` for that of the environment.
    pub region: Option<String>,
    /// Whether it may be called without TLS.
    pub allow_http: bool,
}

/// The `[object_store]` section; `None` where it names no URL.
pub(super) fn read(section: &Section<'_>) -> Result<Option<ObjectStoreConfig>, ConfigError> {
    let enabled = section.required("enabled", section.boolean("enabled")?)?;
    let sizes = ByteSize(64 * KIB)..=ByteSize(KIB * KIB * KIB);
    let min_bytes = section.required("min_bytes", section.bounded("min_bytes", sizes, "64 KiB to 1 GiB")?)?;
    let times = Millis(0)..=Millis(365 * DAY);
    let delete_after =
        section.required("delete_after", section.bounded("delete_after", times, "0s to 365d")?)?;
    let allow_http = section.required("allow_http", section.boolean("allow_http")?)?;
    let endpoint = section.read("endpoint", endpoint)?;
    let region = section.string("region")?.map(str::to_owned);
    let Some(url) = section.read("url", location)? else { return Ok(None) };
    if endpoint.as_ref().is_some_and(|endpoint| endpoint.scheme() == "http") && !allow_http {
        return Err(section.refuse("endpoint", "is http, and `object_store.allow_http` is false"));
    }
    Ok(Some(ObjectStoreConfig { url, enabled, min_bytes, delete_after, endpoint, region, allow_http }))
}

fn location(text: &str) -> Result<Url, String> {
    const WANTED: &str = "s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or file:///folder, without user, query or fragment";
    let url: Url = text.parse().map_err(|_| WANTED)?;
    let is_plain = url.username().is_empty()
        && url.password().is_none()
        && url.port().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    let is_known = match url.scheme() {
        "s3" | "gs" | "az" => url.host_str().is_some_and(|host| !host.is_empty()),
        "file" => url.host_str().is_none() && url.path().len() > 1,
        _ => false,
    };
    if is_plain && is_known { Ok(url) } else { Err(WANTED.to_owned()) }
}

fn endpoint(text: &str) -> Result<Url, String> {
    let url =
        text.parse::<Url>().ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| "an http or https URL".to_owned())
}
