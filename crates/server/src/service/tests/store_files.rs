//! Files of the store that are removed, moved or replaced under a running service.

use std::fs;

use overnight_base::supervision::EXIT_IO_ERROR;
use overnight_store::{DATABASE_FILE, LOCK_FILE, StoreError};
use tokio::time::timeout;

use super::{SECONDS_10, call, config, create};
use crate::service::{Service, ServiceError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Removed,
    Moved,
    Replaced,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_service_whose_file_is_gone_takes_nothing_more_and_ends() {
    let log = format!("{DATABASE_FILE}-wal");
    let cases = [
        (DATABASE_FILE, Fate::Removed),
        (DATABASE_FILE, Fate::Moved),
        (DATABASE_FILE, Fate::Replaced),
        (log.as_str(), Fate::Removed),
        (LOCK_FILE, Fate::Removed),
    ];
    for (name, fate) in cases {
        let case = format!("{name} {fate:?}");
        let folder = tempfile::tempdir().expect("a folder");
        let service = Service::start(config(folder.path(), &[])).await.expect("a service");
        let made = service.bootstrapped().expect("a first start").clone();
        create(&service, &made.key).await;
        let path = folder.path().join(name);
        match fate {
            Fate::Removed => fs::remove_file(&path).expect("a file"),
            Fate::Moved => fs::rename(&path, folder.path().join("elsewhere")).expect("a file"),
            Fate::Replaced => {
                fs::copy(&path, folder.path().join("copy")).expect("a copy");
                fs::rename(folder.path().join("copy"), &path).expect("a file");
            }
        }
        let failure = timeout(SECONDS_10, service.failed()).await.expect(&case);
        assert_eq!(failure.exit_code(), EXIT_IO_ERROR, "{case}");
        assert!(failure.to_string().contains(name), "{case}: {failure}");
        let ready = call(&service, "GET /readyz", "", "").await.expect(&case);
        assert!(ready.starts_with("HTTP/1.1 503") && ready.contains(name), "{case}: {ready}");
        let body = r#"{"request_body":{"model":"m","messages":[]}}"#;
        let body = body.replace("[]", r#"[{"role":"user","content":"Hello"}]"#);
        let refused = call(&service, "POST /v1/requests", &made.key, &body).await.expect(&case);
        assert!(refused.starts_with("HTTP/1.1 503"), "{case}: {refused}");
        timeout(SECONDS_10, service.shutdown()).await.expect(&case);
        let again = Service::start(config(folder.path(), &[])).await;
        match again {
            Ok(again) => {
                assert!(name != DATABASE_FILE || fate == Fate::Replaced, "{case}: it began anew");
                assert!(again.bootstrapped().is_none(), "{case}: another account");
                again.shutdown().await;
            }
            // The content of the log may be lost, too.
            Err(ServiceError::Store(StoreError::Lost { .. })) => assert_ne!(name, LOCK_FILE, "{case}"),
            // The copy may be from the middle of a write.
            Err(error) => assert_eq!(fate, Fate::Replaced, "{case}: {error}"),
        }
        let key = fs::read_to_string(&made.key_path).expect("a key");
        assert_eq!(key.trim_end(), made.key, "{case}: the key file was replaced");
    }
}
