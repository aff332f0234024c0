//! The object store by itself: turns, owners, what is deleted, and what is refused.

mod gate;
mod owners;
mod refusals;

use std::fs;
use std::path::PathBuf;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tempfile::TempDir;
use tokio::task::JoinSet;
use url::Url;

use std::collections::HashMap;

use self::gate::{Gate, Lists};
use super::*;

const GREEDY: AccountKey = AccountKey(1);
const HONEST: AccountKey = AccountKey(10);

/// The folder appears with its first object.
fn in_folder() -> (TempDir, PathBuf, ObjectStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("objects");
    let url = Url::from_directory_path(&path).expect("a URL");
    let options = ObjectStoreOptions {
        url,
        endpoint: None,
        region: None,
        allow_http: false,
        min_bytes: None,
        ca_files: Vec::new(),
        proxy: None,
    };
    let store = ObjectStore::open(&options).expect("a folder");
    (folder, path, store)
}

fn name(account: AccountKey) -> ObjectName {
    ObjectName::draw(account).expect("chance")
}

#[tokio::test]
async fn while_it_is_away_one_call_at_a_time_tries_it_and_the_others_are_refused_at_once() {
    let (_folder, path, store) = in_folder();
    store.probe().await.expect("it is there");
    fs::remove_dir_all(&path).expect("an empty folder");
    fs::write(&path, b"no folder").expect("a file in its place");
    let failed = store.probe().await.expect_err("it is away").to_string();
    let trial = store.trial.try_acquire().expect("nobody tries it");
    fs::remove_file(&path).expect("the file goes");
    let refused = store.probe().await.expect_err("another call tries it").to_string();
    assert!(refused.contains("did not answer") && !failed.contains("did not answer"), "{failed}, {refused}");
    drop(trial);
    store.probe().await.expect("it is back");
    let _trial = store.trial.try_acquire().expect("nobody tries it");
    store.probe().await.expect("nobody needs to try it");
}

#[tokio::test]
async fn a_probe_tells_that_objects_are_not_listed() {
    let gate = Gate::open();
    let store = ObjectStore::over(gate.clone(), Path::default());
    store.probe().await.expect("it is listed");
    gate.set_lists(Lists::Empty);
    let told = store.probe().await.expect_err("it is not").to_string();
    assert!(told.contains("list"), "{told}");
    assert_eq!(gate.objects(), 0, "a probe leaves nothing");
}

/// Both accounts call an object store that answers one call after another; the greedy one made 200 calls before.
async fn compete(gate: &Arc<Gate>, call: impl Fn(AccountKey) -> BoxFuture<'static, ()>) {
    let (mut greedy, mut honest) = (JoinSet::new(), JoinSet::new());
    for _ in 0..200 {
        greedy.spawn(call(GREEDY));
    }
    gate.wait_for(CALLS_OF_ACCOUNT_MAX).await;
    for _ in 0..40 {
        honest.spawn(call(HONEST));
    }
    // No call of the greedy account has ended.
    gate.wait_for(CALLS_MAX).await;
    assert_eq!(gate.begun_of(HONEST), CALLS_OF_ACCOUNT_MAX);
    for _ in 0..2 * 40 + CALLS_OF_ACCOUNT_MAX {
        gate.answer_one().await;
    }
    while let Some(ended) = honest.join_next().await {
        ended.expect("an end");
    }
    assert!(gate.begun_of(GREEDY) <= 40 + 2 * CALLS_OF_ACCOUNT_MAX, "{}", gate.begun_of(GREEDY));
    greedy.abort_all();
}

#[tokio::test]
async fn an_account_that_floods_a_slow_object_store_with_puts_leaves_others_their_share() {
    let gate = Gate::closed();
    let store = Arc::new(ObjectStore::over(gate.clone(), Path::default()));
    compete(&gate, |account| {
        let (store, bytes) = (Arc::clone(&store), if account == GREEDY { 1 << 20 } else { 1 << 16 });
        async move { store.put(&name(account), vec![b'x'; bytes].into()).await.expect("a put") }.boxed()
    })
    .await;
}

#[tokio::test]
async fn an_account_that_floods_a_slow_object_store_with_reads_leaves_others_their_share() {
    let gate = Gate::open();
    let store = Arc::new(ObjectStore::over(gate.clone(), Path::default()));
    let content = Bytes::from(vec![b'x'; 1 << 16]);
    let references = [GREEDY, HONEST].map(|account| Reference::new(name(account), &content));
    for reference in &references {
        store.put(&reference.name, content.clone()).await.expect("a put");
    }
    gate.close();
    compete(&gate, |account| {
        let (store, reference) = (Arc::clone(&store), references[usize::from(account == HONEST)]);
        async move { drop(store.get(&reference).await.expect("a read")) }.boxed()
    })
    .await;
}

#[tokio::test]
async fn what_a_put_left_half_way_in_a_folder_goes_with_its_object_and_with_its_account() {
    let (_folder, path, store) = in_folder();
    let (kept, deleted) = (name(GREEDY), name(GREEDY));
    for name in [&kept, &deleted] {
        store.put(name, Bytes::from_static(b"content")).await.expect("a put");
    }
    let file = |name: &ObjectName| path.join("1").join(format!("{:032x}", u128::from_be_bytes(name.bits)));
    let unfinished =
        |name: &ObjectName, number: u8| PathBuf::from(format!("{}#{number}", file(name).display()));
    for path in [unfinished(&kept, 1), unfinished(&deleted, 1), unfinished(&deleted, 2)] {
        fs::write(path, b"cont").expect("a file");
    }
    store.delete(&deleted).await.expect("a deletion");
    store.delete(&deleted).await.expect("nothing to delete");
    let left = || fs::read_dir(path.join("1")).map(Iterator::count).unwrap_or(0);
    assert_eq!((left(), unfinished(&kept, 1).exists(), file(&kept).exists()), (2, true, true));
    assert_eq!(store.delete_all(GREEDY).await.expect("a deletion"), 1);
    assert!(!path.join("1").exists());
    assert_eq!(store.delete_all(GREEDY).await.expect("nothing to delete"), 0);
}

#[tokio::test]
async fn false_lists_delete_nothing_of_an_account() {
    let gate = Gate::open();
    let store = ObjectStore::over(gate.clone(), Path::from("night"));
    let (greedy, honest) = (name(GREEDY), name(HONEST));
    for name in [&greedy, &honest] {
        store.put(name, Bytes::from_static(b"content")).await.expect("a put");
    }
    store.check_owner(GREEDY, "one", true).await.expect("an owner");
    for (lists, told) in [
        (Lists::WithoutPrefix, "the list of night/1 has night/"),
        (Lists::Twice, "twice"),
        (Lists::WithoutEnd, "stalled for 5 s"),
    ] {
        gate.set_lists(lists);
        let refused = store.delete_all(GREEDY).await.expect_err("a false list");
        assert!(refused.to_string().contains(told), "{lists:?}: {refused}");
        assert_eq!(gate.objects(), 3, "{lists:?}: nothing is deleted");
    }
    gate.set_lists(Lists::Twice);
    assert!(store.list_all().await.is_err());
    gate.set_lists(Lists::True);
    assert_eq!(store.delete_all(GREEDY).await.expect("a deletion"), 1);
    assert_eq!(store.length(&honest).await.expect("a look"), Some(7));
}

#[tokio::test]
async fn what_is_deleted_of_an_account_is_nothing_of_one_whose_number_begins_alike() {
    let (_folder, _, in_folder) = in_folder();
    for store in [in_folder, ObjectStore::over(Gate::open(), Path::from("night/shift"))] {
        let (greedy, honest) = (name(GREEDY), name(HONEST));
        for name in [&greedy, &honest] {
            store.put(name, Bytes::from_static(b"content")).await.expect("a put");
        }
        store.check_owner(GREEDY, "one", true).await.expect("an owner");
        assert_eq!(store.list_all().await.expect("a list"), HashMap::from([(greedy, 7), (honest, 7)]));
        assert_eq!(store.delete_all(GREEDY).await.expect("a deletion"), 1);
        assert_eq!(store.length(&greedy).await.expect("a look"), None);
        assert_eq!(store.length(&honest).await.expect("a look"), Some(7));
        store.check_owner(GREEDY, "one", false).await.expect("its owner stays");
    }
}
