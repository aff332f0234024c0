//! Refusals, which do not mean that the object store is unreachable.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpListener;

use object_store::Error;
use object_store::aws::AmazonS3Builder;

use super::gate::no_connection;
use super::*;

/// Answers as S3 does if a policy denies deletions, single and in bulk.
fn denying_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut head = [0; 4_096];
            let read = stream.read(&mut head).expect("a request");
            let (status, body) = match head[..read].starts_with(b"DELETE /bucket/night/1/") {
                true => ("403 Forbidden", "<Error><Code>AccessDenied</Code><Message>no</Message></Error>"),
                false => (
                    "200 OK",
                    "<DeleteResult><Error><Key>k</Key><Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>",
                ),
            };
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            )
            .expect("an answer");
        }
    });
    format!("http://{address}")
}

#[tokio::test]
async fn a_deletion_that_a_policy_of_s3_denies_is_refused() {
    // As when an object store is opened by its settings: here the client is built without them.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = ObjectStoreOptions {
        url: "s3://bucket/night".parse().expect("a URL"),
        endpoint: Some(denying_server()),
        region: Some("eu-central-1".to_owned()),
        allow_http: true,
        min_bytes: None,
        ca_files: Vec::new(),
        proxy: None,
    };
    let builder = AmazonS3Builder::new().with_access_key_id("id").with_secret_access_key("secret");
    let bucket = location::s3(builder.with_allow_http(true), &options).build().expect("a bucket");
    let store = ObjectStore::over(Arc::new(bucket), Path::from("night"));
    let refused = store.delete(&name(GREEDY)).await.expect_err("a policy denies it");
    assert!(matches!(&refused, ObjectStoreError::Refused(told) if told.contains("403")), "{refused}");
    assert!(!store.is_away.load(Ordering::Relaxed));
}

#[tokio::test]
async fn one_object_under_a_legal_hold_keeps_no_others_and_the_object_store_is_not_away() {
    let gate = Gate::open();
    let store = ObjectStore::over(gate.clone(), Path::default());
    let names = [name(GREEDY), name(GREEDY), name(GREEDY)];
    for name in &names {
        store.put(name, Bytes::from_static(b"content")).await.expect("a put");
    }
    let held = store.list_of(GREEDY).await.expect("a list").remove(0);
    gate.hold(held.clone());
    let refused = store.delete(&store.name_of(&held).expect("a name")).await.expect_err("it is held");
    assert!(matches!(refused, ObjectStoreError::Refused(_)), "{refused}");
    let _trial = store.trial.try_acquire().expect("nobody tries it");
    store.probe().await.expect("it is there");
    let refused = store.delete_all(GREEDY).await.expect_err("one is held");
    assert!(refused.to_string().contains("a legal hold"), "{refused}");
    assert_eq!(store.list_of(GREEDY).await.expect("a list"), [held]);
}

#[tokio::test]
async fn what_cannot_be_deleted_in_a_folder_is_refused() {
    let (_folder, path, store) = in_folder();
    store.probe().await.expect("it is there");
    let name = name(GREEDY);
    fs::create_dir_all(path.join(store.path(&name).as_ref()))
        .expect("a folder, which is deleted as no file is");
    let refused = store.delete(&name).await.expect_err("it is a folder");
    assert!(matches!(refused, ObjectStoreError::Refused(_)), "{refused}");
    assert!(!store.is_away.load(Ordering::Relaxed));
}

#[test]
fn a_call_that_finds_no_connection_is_no_refusal() {
    assert!(matches!(ObjectStoreError::of_deletion(no_connection()), ObjectStoreError::Away(_)));
    assert!(matches!(no_connection().into(), ObjectStoreError::Away(_)));
}

/// A folder's error for a call that its file system does not support.
#[derive(Debug, thiserror::Error)]
#[error("unable to copy data to file")]
struct Unable {
    source: io::Error,
}

#[test]
fn a_full_disk_refuses_a_put_and_one_that_fails_is_away() {
    let told = |kind: ErrorKind| {
        let source = Box::new(Unable { source: kind.into() });
        ObjectStoreError::from(Error::Generic { store: "LocalFileSystem", source })
    };
    for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::PermissionDenied] {
        assert!(matches!(told(kind), ObjectStoreError::Refused(_)), "{kind}");
    }
    for kind in [ErrorKind::NotADirectory, ErrorKind::StaleNetworkFileHandle, ErrorKind::TimedOut] {
        assert!(matches!(told(kind), ObjectStoreError::Away(_)), "{kind}");
    }
}
