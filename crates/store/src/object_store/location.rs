//! Where an object store is, and how it is reached.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{Certificate, ClientOptions, ObjectStore, RetryConfig};
use url::Url;

use super::error::ObjectStoreError;
use super::folder::Folder;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For the longest body over a slow line.
const TIMEOUT: Duration = Duration::from_secs(30);
const RETRIES: usize = 2;
const RETRY_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectStoreOptions {
    /// `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix` or `file:///folder`.
    pub url: Url,
    /// Its API, if `url` does not imply it.
    pub endpoint: Option<String>,
    /// For S3; `None` for the environment's.
    pub region: Option<String>,
    /// Allows calls without TLS.
    pub allow_http: bool,
    /// Bodies of at least this size are put there; `None` for no more.
    pub min_bytes: Option<usize>,
    /// PEM files of certificates trusted in addition to the system's.
    pub ca_files: Vec<PathBuf>,
    /// `None` for the environment's, if any.
    pub proxy: Option<Url>,
}

/// The service or folder, and the prefix of all names.
pub(super) fn open(options: &ObjectStoreOptions) -> Result<(Arc<dyn ObjectStore>, Path), ObjectStoreError> {
    // No effect if one is installed; calls of the object store need one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url = options.url.as_str();
    let prefix = Path::from_url_path(options.url.path()).map_err(|error| settings(&error))?;
    let mut client = ClientOptions::new()
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_timeout(TIMEOUT)
        .with_allow_http(options.allow_http);
    for file in &options.ca_files {
        let pem = fs::read(file).map_err(|error| settings(&format!("{}: {error}", file.display())))?;
        let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| settings(&error))?;
        client = certificates.into_iter().fold(client, ClientOptions::with_root_certificate);
    }
    if let Some(proxy) = &options.proxy {
        client = client.with_proxy_url(proxy.as_str());
    }
    let retry = RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() };
    let store: Arc<dyn ObjectStore> = match options.url.scheme() {
        "s3" => {
            let trimmed = trimmed("AWS_").filter_map(|(name, value)| Some((name.parse().ok()?, value)));
            let builder =
                trimmed.fold(AmazonS3Builder::from_env(), |it, (key, value)| it.with_config(key, value));
            let builder = builder.with_retry(retry).with_client_options(client);
            let bucket = s3(builder, options).build();
            Arc::new(bucket.map_err(|error| settings(&error))?)
        }
        "gs" => {
            let trimmed = trimmed("GOOGLE_").filter_map(|(name, value)| Some((name.parse().ok()?, value)));
            let builder = GoogleCloudStorageBuilder::from_env().with_url(url).with_retry(retry);
            let mut builder = trimmed.fold(builder, |it, (key, value)| it.with_config(key, value));
            builder = builder.with_client_options(client);
            if let Some(endpoint) = &options.endpoint {
                builder = builder.with_base_url(endpoint);
            }
            Arc::new(builder.build().map_err(|error| settings(&error))?)
        }
        "az" => {
            let trimmed = trimmed("AZURE_").filter_map(|(name, value)| Some((name.parse().ok()?, value)));
            let builder = MicrosoftAzureBuilder::from_env().with_url(url).with_retry(retry);
            let mut builder = trimmed.fold(builder, |it, (key, value)| it.with_config(key, value));
            builder = builder.with_client_options(client);
            if let Some(endpoint) = &options.endpoint {
                builder = builder.with_endpoint(endpoint.clone());
            }
            Arc::new(builder.build().map_err(|error| settings(&error))?)
        }
        _ => return Ok((Arc::new(folder(&options.url)?), Path::default())),
    };
    Ok((store, prefix))
}

/// A provider's variables, by lower-case name, without white space around their values, such as a file's line end.
fn trimmed(prefix: &str) -> impl Iterator<Item = (String, String)> {
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        Some((name.into_string().ok()?.to_ascii_lowercase(), value.into_string().ok()?))
    });
    let prefix = prefix.to_ascii_lowercase();
    variables.filter_map(move |(name, value)| {
        let text = value.trim();
        (name.starts_with(&prefix) && text != value).then(|| (name, text.to_owned()))
    })
}

/// Objects are deleted one by one: the answer to a bulk deletion does not distinguish a refusal from a failure, and some S3 services lack
/// it.
pub(super) fn s3(builder: AmazonS3Builder, options: &ObjectStoreOptions) -> AmazonS3Builder {
    let mut builder = builder.with_url(options.url.as_str()).with_disable_bulk_delete(true);
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some(region) = &options.region {
        builder = builder.with_region(region);
    }
    builder
}

/// Creates an absent folder. Puts are on the disk before they are confirmed.
fn folder(url: &Url) -> Result<LocalFileSystem, ObjectStoreError> {
    let path: PathBuf =
        url.to_file_path().map_err(|()| ObjectStoreError::Settings("names no folder".to_owned()))?;
    Folder::make(&path).map_err(|error| settings(&format!("{}: {error}", path.display())))?;
    let folder = LocalFileSystem::new_with_prefix(&path).map_err(|error| settings(&error))?;
    Ok(folder.with_fsync(true))
}

fn settings(error: &impl ToString) -> ObjectStoreError {
    ObjectStoreError::Settings(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(url: &str, endpoint: Option<&str>) -> ObjectStoreOptions {
        ObjectStoreOptions {
            url: url.parse().expect("a URL"),
            endpoint: endpoint.map(str::to_owned),
            region: Some("eu-central-1".to_owned()),
            allow_http: true,
            min_bytes: None,
            ca_files: Vec::new(),
            proxy: None,
        }
    }

    #[tokio::test]
    async fn each_kind_is_opened_without_a_call_and_with_the_prefix_of_its_url() {
        for (url, prefix) in [("s3://bucket/a/b", "a/b"), ("s3://bucket", ""), ("gs://bucket/night", "night")]
        {
            for endpoint in [None, Some("http://127.0.0.1:9")] {
                let (_, found) =
                    open(&options(url, endpoint)).unwrap_or_else(|error| panic!("{url}: {error}"));
                assert_eq!(found.as_ref(), prefix, "{url}");
            }
        }
        let folder = tempfile::tempdir().expect("a folder");
        let url = Url::from_directory_path(folder.path().join("new")).expect("a URL");
        let (_, prefix) = open(&options(url.as_str(), None)).expect("a folder that is made");
        assert_eq!(prefix.as_ref(), "");
        assert!(folder.path().join("new").is_dir());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_refused() {
        let refused = open(&options("file:///dev/null/objects", None)).expect_err("no folder is there");
        assert!(matches!(refused, ObjectStoreError::Settings(_)), "{refused}");
    }
}
