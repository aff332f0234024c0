//! Backups of a live folder: whole, incremental, refused where they are damaged.

use sha2::Digest as _;

use crate::operations::backup::{Restored, Summary};
use crate::operations::transfer::hex;
use crate::tests::prelude::*;

/// More than a chunk, so that a database has several.
const LARGE: usize = 600 << 10;

pub(super) struct World {
    pub(super) fixture: Fixture,
    pub(super) folder: TempDir,
}

impl World {
    pub(super) async fn new() -> Self {
        Self { fixture: Fixture::on_sqlite().await, folder: tempfile::tempdir().expect("a folder") }
    }

    pub(super) fn repository(&self) -> PathBuf {
        self.folder.path().join("backups")
    }

    pub(super) async fn take(&self, now: i64) -> Result<Summary, BackupError> {
        let repository = Repository::open_to_write(&self.repository())?;
        Ok(backup::take(&self.fixture.store, &repository, now).await?.summary)
    }

    pub(super) async fn restore(
        &self,
        id: Option<&str>,
        name: &str,
    ) -> Result<(Restored, StoreOptions), BackupError> {
        let options = StoreOptions { folder: self.folder.path().join(name), ..options(&self.folder) };
        let repository = Repository::open_to_read(&self.repository())?;
        let restored = restore(&repository, id, &options, OnBreach::Refuse).await?;
        Ok((restored, options))
    }

    /// With a body of many pages.
    pub(super) async fn insert_large(&mut self, letter: char) -> RequestId {
        let mut request = self.fixture.request(1);
        // Nothing that compresses to nothing.
        let text: String =
            (0..LARGE / 8).map(|number: usize| format!("{letter}{:07x}", number * 7_919)).collect();
        request.body = format!(r#"{{"model":"tiny","messages":[{{"role":"user","content":"{text}"}}]}}"#)
            .into_bytes()
            .into();
        self.fixture.put(request).await
    }

    pub(super) fn manifest(&self, number: u64, id: &str) -> PathBuf {
        self.repository().join("backups").join(format!("{number:08}-{id}.json"))
    }

    pub(super) fn chunks(&self) -> Vec<PathBuf> {
        let below = |path: &Path| -> Vec<PathBuf> {
            fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
        };
        below(&self.repository().join("chunks")).iter().flat_map(|folder| below(folder)).collect()
    }
}

async fn count(options: &StoreOptions) -> usize {
    let store = Store::open_beside(options).await.expect("a store");
    let rows = store.readers().fetch_all(sql("SELECT seq FROM requests")).await;
    rows.expect("rows").len()
}

#[tokio::test]
async fn a_restored_folder_holds_what_was_there_at_the_stamp_and_nothing_later() {
    let mut world = World::new().await;
    let leases = world.fixture.leased(&[1, 2, 3]).await.1;
    world.fixture.settle(&leases[0], START).await;
    let taken = world.take(START).await.expect("a backup");
    world.fixture.insert(&[4, 5]).await;
    let (restored, options) = world.restore(None, "restored").await.expect("a folder");
    assert_eq!((&restored.backup, restored.requests, restored.live_requests), (&taken, 3, 2));
    assert!(restored.rules > 20 && restored.breaches.is_empty(), "{restored:?}");
    assert_eq!(count(&options).await, 3);
    let names: Vec<_> = fs::read_dir(&options.folder).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| name != "restoring"), "{names:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&options.folder.join(DATABASE_FILE)), 0o600);
        assert_eq!(mode(&world.repository()), 0o700);
        assert!(world.chunks().iter().all(|chunk| mode(chunk) == 0o600));
    }
}

#[tokio::test]
async fn each_backup_is_of_its_own_moment_and_stores_what_is_new() {
    let mut world = World::new().await;
    world.insert_large('a').await;
    let first = world.take(START).await.expect("a backup");
    let same = world.take(START + 1).await.expect("a backup");
    assert_eq!((same.bytes, same.new_bytes), (first.bytes, 0), "nothing was written between them");
    world.insert_large('b').await;
    let second = world.take(START + 2).await.expect("a backup");
    assert!(second.bytes > first.bytes && second.new_bytes < first.new_bytes * 3 / 2, "{first:?} {second:?}");
    let listed = Repository::list(&world.repository()).expect("a list");
    assert_eq!(listed, [first.clone(), same, second]);
    assert_eq!(world.restore(Some(&first.id), "first").await.expect("a folder").0.requests, 1);
    assert_eq!(world.restore(None, "newest").await.expect("a folder").0.requests, 2);
}

#[tokio::test]
async fn what_writers_do_meanwhile_is_seen_whole_or_not_at_all() {
    let mut world = World::new().await;
    for round in 0..8 {
        let (before, during) =
            (world.fixture.request(1), (0..200).map(|_| world.fixture.request(2)).collect::<Vec<_>>());
        world.fixture.put(before).await;
        let at_stamp = count_live(&world).await;
        let (taken, ()) = tokio::join!(world.take(START + round), world.fixture.insert_all(during));
        let id = taken.expect("a backup").id;
        let (restored, options) =
            world.restore(Some(&id), &format!("restored-{round}")).await.expect("a folder");
        assert!(restored.requests >= at_stamp, "{} of {at_stamp}", restored.requests);
        assert_eq!(check_whole(&options.folder), "ok");
    }
}

async fn count_live(world: &World) -> i64 {
    let text = sql("SELECT count(*) AS count FROM requests");
    world.fixture.store.readers().fetch_one(text).await.expect("a row").get("count").expect("a number")
}

/// What SQLite says of every page, row and index of a database.
fn check_whole(folder: &Path) -> String {
    let database = rusqlite::Connection::open(folder.join(DATABASE_FILE)).expect("a database");
    database.pragma_query_value(None, "integrity_check", |row| row.get(0)).expect("a check")
}

#[tokio::test]
async fn damage_is_refused_by_the_name_of_the_file_and_leaves_no_database() {
    let mut world = World::new().await;
    world.insert_large('a').await;
    let taken = world.take(START).await.expect("a backup");
    let chunk = world.chunks().into_iter().max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let whole = fs::read(&chunk).unwrap();
    let manifest = world.manifest(1, &taken.id);
    let text = fs::read(&manifest).unwrap();
    let flipped = |bytes: &[u8], place: usize| {
        let mut bytes = bytes.to_vec();
        bytes[place] ^= 1;
        bytes
    };
    let cases = [
        (&chunk, Some(flipped(&whole, whole.len() / 2))),
        (&chunk, Some(whole[..whole.len() / 2].to_vec())),
        (&chunk, Some(zstd::bulk::compress(b"other pages", 1).unwrap())),
        (&chunk, None),
        (&manifest, Some(text[..text.len() / 2].to_vec())),
        (&manifest, Some(flipped(&text, 20))),
    ];
    for (number, (path, damage)) in cases.into_iter().enumerate() {
        match damage {
            Some(bytes) => fs::write(path, bytes).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        let repository = Repository::open_to_read(&world.repository()).expect("a repository");
        let found = check(&repository, Some(&taken.id), world.folder.path()).await;
        let found = found.expect_err("damage").to_string();
        assert!(found.starts_with(&path.display().to_string()), "{number}: {found}");
        drop(repository);
        let refused = world.restore(None, "restored").await.expect_err("a refusal").to_string();
        assert_eq!(refused, found, "{number}");
        assert!(!world.folder.path().join("restored").join(DATABASE_FILE).exists(), "{number}");
        fs::write(&chunk, &whole).unwrap();
        fs::write(&manifest, &text).unwrap();
    }
    assert!(world.restore(None, "restored").await.is_ok(), "it is whole again");
}

#[tokio::test]
async fn a_backup_that_breaks_off_harms_no_other_and_its_rest_goes() {
    let mut world = World::new().await;
    world.fixture.insert(&[1]).await;
    let first = world.take(START).await.expect("a backup");
    let incoming = world.repository().join("incoming");
    fs::write(incoming.join("ab".repeat(32)), "half a chunk").unwrap();
    assert_eq!(world.restore(None, "restored").await.expect("a folder").0.backup, first);
    world.fixture.insert(&[2]).await;
    let second = world.take(START + 1).await.expect("a backup");
    assert!(!world.chunks().iter().any(|chunk| chunk.ends_with(format!("{}.zst", "ab".repeat(32)))));
    assert_eq!(world.restore(None, "again").await.expect("a folder").0.backup, second);
}

#[tokio::test]
async fn what_is_pruned_takes_nothing_from_what_stays() {
    let mut world = World::new().await;
    for (place, letter) in (0i64..).zip(['a', 'b', 'c']) {
        world.insert_large(letter).await;
        world.take(START + place).await.expect("a backup");
    }
    let chunks = world.chunks().len();
    let repository = Repository::open_to_write(&world.repository()).expect("a repository");
    let pruned = backup::prune(&repository, Keep { newest: 1, days: 0 }, None).expect("a deletion");
    assert!(pruned.backups == 2 && pruned.chunks > 0, "{pruned:?}");
    assert_eq!(world.chunks().len() as u64, chunks as u64 - pruned.chunks);
    drop(repository);
    assert_eq!(world.restore(None, "restored").await.expect("a folder").0.requests, 3);
}

#[tokio::test]
async fn a_damaged_description_of_what_stays_stops_the_deletion() {
    let mut world = World::new().await;
    world.insert_large('a').await;
    let taken = world.take(START).await.expect("a backup");
    world.take(START + 1).await.expect("a backup");
    let (chunks, path) = (world.chunks().len(), world.manifest(1, &taken.id));
    fs::write(&path, "{}").unwrap();
    let repository = Repository::open_to_write(&world.repository()).expect("a repository");
    let refused = backup::prune(&repository, Keep { newest: 2, days: 0 }, None).expect_err("a refusal");
    assert!(matches!(refused, BackupError::Manifest { .. }), "{refused}");
    assert_eq!(world.chunks().len(), chunks);
}

#[tokio::test]
async fn a_repository_is_written_by_one_and_is_nobody_elses_folder() {
    let world = World::new().await;
    let path = world.repository();
    let missing = Repository::open_to_read(&path).expect_err("nothing there");
    assert!(matches!(missing, BackupError::NoRepository { .. }), "{missing}");
    let held = Repository::open_to_write(&path).expect("a repository");
    for refused in [Repository::open_to_write(&path), Repository::open_to_read(&path)] {
        assert!(matches!(refused, Err(BackupError::InUse { .. })), "{refused:?}");
    }
    drop(held);
    let read = [(); 2].map(|()| Repository::open_to_read(&path).expect("readers share it"));
    let unknown = check(&read[0], None, &path).await;
    assert!(matches!(unknown, Err(BackupError::Unknown { id: None, .. })), "{unknown:?}");
    assert!(matches!(Repository::open_to_write(&path), Err(BackupError::InUse { .. })));
    drop(read);
    let mark = |text: &str| fs::write(path.join("repository.json"), text).unwrap();
    mark(r#"{"format":"overnight-backups","version":2}"#);
    let newer = Repository::open_to_write(&path).expect_err("a newer one");
    assert!(matches!(newer, BackupError::OtherVersion { found: 2, .. }), "{newer}");
    for other in [r#"{"format":"others","version":1}"#, r#"{"format":"others","version":2}"#, "{}"] {
        mark(other);
        let refused = Repository::open_to_read(&path).expect_err("another program's");
        assert!(matches!(refused, BackupError::Manifest { .. }), "{refused}");
    }
    fs::remove_file(path.join("repository.json")).unwrap();
    fs::create_dir(path.join("repository.json")).unwrap();
    let unreadable = Repository::open_to_read(&path).expect_err("a folder in its place");
    assert!(matches!(unreadable, BackupError::File { .. }), "{unreadable}");
    fs::remove_dir(path.join("repository.json")).unwrap();
    mark(r#"{"format":"overnight-backups","version":1}"#);
    for name in fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()) {
        if name.is_file() && !name.ends_with("repository.json") {
            fs::remove_file(name).unwrap();
        }
    }
    Repository::open_to_read(&path).expect("a copy without a lock");
    let foreign = Repository::open_to_write(world.fixture.folder()).expect_err("a data folder");
    assert!(matches!(foreign, BackupError::Foreign { .. }), "{foreign}");
}

#[tokio::test]
async fn a_folder_with_a_database_or_a_service_takes_no_restore() {
    let mut world = World::new().await;
    world.fixture.insert(&[1]).await;
    world.take(START).await.expect("a backup");
    let (_, options) = world.restore(None, "restored").await.expect("a folder");
    let occupied = world.restore(None, "restored").await.expect_err("a refusal");
    assert!(matches!(occupied, BackupError::Occupied { .. }), "{occupied}");
    fs::create_dir(world.folder.path().join("left")).unwrap();
    fs::write(world.folder.path().join("left/overnight.db-wal"), "of another database").unwrap();
    let left = world.restore(None, "left").await.expect_err("a refusal");
    assert!(matches!(left, BackupError::Occupied { .. }), "{left}");
    let lock = FolderLock::take(&options.folder).expect("a lock");
    let served = world.restore(None, "restored").await.expect_err("a refusal");
    assert!(matches!(served, BackupError::Store(StoreError::Locked { .. })), "{served}");
    drop(lock);
}

#[tokio::test]
async fn what_breaks_a_rule_is_restored_only_where_that_is_asked_for() {
    let mut world = World::new().await;
    world.fixture.insert(&[1]).await;
    let database =
        rusqlite::Connection::open(world.fixture.folder().join(DATABASE_FILE)).expect("a database");
    database.execute("UPDATE accounts SET balance = balance + 1", []).expect("a breach");
    world.take(START).await.expect("a backup");
    let refused = world.restore(None, "refused").await.expect_err("a refusal");
    assert!(matches!(refused, BackupError::Unsound { .. }), "{refused}");
    assert!(!world.folder.path().join("refused").join(DATABASE_FILE).exists());
    let options = StoreOptions { folder: world.folder.path().join("told"), ..options(&world.folder) };
    let repository = Repository::open_to_read(&world.repository()).expect("a repository");
    let checked = check(&repository, None, world.folder.path()).await.expect("a check");
    assert_eq!(checked.breaches.len(), 1, "{checked:?}");
    let restored = restore(&repository, None, &options, OnBreach::Tell).await.expect("a folder");
    assert_eq!(restored.breaches.len(), 1, "{restored:?}");
    assert_eq!(count(&options).await, 1);
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let mut world = World::new().await;
    world.fixture.insert(&[1]).await;
    let database =
        rusqlite::Connection::open(world.fixture.folder().join(DATABASE_FILE)).expect("a database");
    let taken = world.take(START).await.expect("a backup");
    database.pragma_update(None, "user_version", taken.schema + 1).expect("a newer one");
    let refused = world.take(START + 1).await.expect_err("a refusal");
    assert!(matches!(refused, BackupError::Store(StoreError::Newer { .. })), "{refused}");
}

#[tokio::test]
async fn backup_of_an_unreleased_schema_is_refused_and_nothing_is_restored() {
    let world = World::new().await;
    let taken = world.take(START).await.expect("a backup");
    let path = world.manifest(1, &taken.id);
    let text = fs::read_to_string(&path).expect("a manifest");
    let told = format!("\"schema\":{}", taken.schema);
    let old = text.lines().next().expect("a line").replacen(&told, "\"schema\":12", 1) + "\n";
    let digest = hex(&Sha256::digest(&old));
    fs::write(&path, format!("{old}{{\"sha256\":\"{digest}\"}}\n")).expect("an old backup");
    let refused = world.restore(None, "refused").await.expect_err("a refusal");
    assert!(matches!(refused, BackupError::Store(StoreError::Unreleased { found: 12, .. })), "{refused}");
    assert!(!world.folder.path().join("refused").exists());
}

#[tokio::test]
async fn a_server_is_backed_up_by_its_own_means() {
    let fixture = Fixture::on_postgres().await;
    let folder = tempfile::tempdir().expect("a folder");
    let repository = Repository::open_to_write(folder.path()).expect("a repository");
    let refused = backup::take(&fixture.store, &repository, START).await;
    assert!(matches!(refused, Err(BackupError::OnServer)), "{refused:?}");
}

/// How many chunks of the repository hold these bytes.
fn chunks_with(world: &World, needle: &[u8]) -> usize {
    let holds = |path: &PathBuf| {
        let chunk = zstd::decode_all(fs::File::open(path).expect("a chunk")).expect("what is in it");
        memchr::memmem::find(&chunk, needle).is_some()
    };
    world.chunks().iter().filter(|path| holds(path)).count()
}

#[tokio::test]
async fn what_was_deleted_is_in_the_backups_of_before_until_they_are_pruned() {
    const MARK: &[u8] = b"MARK-deleted";
    let mut world = World::new().await;
    let mut request = world.fixture.request(1);
    request.body = br#"{"model":"tiny","messages":[{"role":"user","content":"MARK-deleted"}]}"#[..].into();
    let (id, account) = (request.id, world.fixture.account);
    world.fixture.put(request).await;
    world.fixture.insert(&[2]).await;
    requests::cancel(&world.fixture.store, account, id, START).await.expect("a cancel");
    world.take(START).await.expect("a backup");
    assert!(chunks_with(&world, MARK) > 0);
    requests::delete_request(&world.fixture.store, account, id).await.expect("a deletion");
    world.take(START + 1).await.expect("a backup");
    assert!(chunks_with(&world, MARK) > 0, "the first backup has it still");
    let repository = Repository::open_to_write(&world.repository()).expect("a repository");
    backup::prune(&repository, Keep { newest: 1, days: 0 }, None).expect("a deletion");
    assert_eq!(chunks_with(&world, MARK), 0);
    drop(repository);
    assert_eq!(world.restore(None, "restored").await.expect("a folder").0.requests, 1);
}
