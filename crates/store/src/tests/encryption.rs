//! Bodies and files that are encrypted by the keys of their accounts.

use overnight_base::encryption::{DataKeyId, KeyringError};

use crate::tests::filling;
use crate::tests::prelude::*;

/// With a folder of the accounts' keys.
struct World {
    fixture: Fixture,
    folder: TempDir,
}

impl Stage for World {
    async fn over(fixture: Fixture) -> Self {
        let mut world = Self { fixture, folder: tempfile::tempdir().expect("a folder") };
        world.set(true).await;
        world
    }

    fn fixture(&self) -> &Fixture {
        &self.fixture
    }
}

impl World {
    fn keys(&self) -> PathBuf {
        self.folder.path().join("keys")
    }

    /// Restarts the service with or without encryption.
    async fn set(&mut self, encrypts: bool) {
        self.fixture.options.key_folder = Some(self.keys());
        self.fixture.options.encrypts = encrypts;
        self.fixture.restart().await;
    }

    async fn record(&self, id: RequestId) -> RequestRecord {
        record(&self.fixture, &self.fixture.store, id).await
    }

    async fn completed(&mut self, key: u8) -> RequestId {
        let (id, lease) = self.fixture.leased_one(key).await;
        assert!(self.fixture.settle(&lease, START + 2).await);
        id
    }

    /// Never finished.
    async fn file(&mut self, pieces: &[&'static [u8]]) -> i64 {
        let id = FileId::from_bits(self.fixture.batch_id().bits());
        let (store, account) = (&self.fixture.store, self.fixture.account);
        let new = NewFile { id, account, created_at: START, lasts_until: START + 1_000 };
        let seq = files::begin(store, new).await.expect("a file").expect("room for it");
        for (place, piece) in (0..).zip(pieces) {
            let appended =
                files::append(store, (account, seq), place, (*piece).into(), (START, START + 1)).await;
            assert_eq!(appended.expect("a piece"), Appended::Stored);
        }
        seq
    }

    async fn pieces(&self, file: i64) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        while let Some(piece) =
            files::next_piece(&self.fixture.store, file, pieces.len() as i64).await.expect("a read")
        {
            pieces.push(piece.content.to_vec());
        }
        pieces
    }

    /// In the order of rows.
    async fn are_encrypted(&self, table: &str, column: &str) -> Vec<bool> {
        let text: &'static str =
            Box::leak(format!("SELECT {column} AS value FROM {table} ORDER BY 1").into());
        let mut connection = self.fixture.store.database().as_stored().connect().await.expect("a connection");
        let rows = connection.fetch(sql(text)).await.expect("rows");
        connection.close().await.expect("an end");
        rows.iter().map(|row| is_marked(row.get("value").expect("bytes"))).collect()
    }

    fn key_files(&self) -> Vec<PathBuf> {
        files_in(&self.keys())
    }
}

async fn record(fixture: &Fixture, store: &Store, id: RequestId) -> RequestRecord {
    requests::find_record(store, fixture.account, id).await.expect("a read").expect("the request")
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

on_both!(bodies_and_files_are_encrypted_and_read_as_they_were, no audit);
async fn bodies_and_files_are_encrypted_and_read_as_they_were(world: &mut World) {
    let body = world.fixture.request(1).body;
    let id = world.completed(1).await;
    let pieces: [&'static [u8]; 3] = [b"{\"a\": 1}\n", b"", b"\x01ovnenc\x00"];
    let file = world.file(&pieces).await;
    let found = world.record(id).await;
    assert_eq!(
        (&found.body, found.result.as_deref()),
        (&body, Some(&br#"{"object":"chat.completion"}"#[..]))
    );
    assert_eq!(world.pieces(file).await, pieces);
    let prompts = scan::list_small_prompts(&world.fixture.store, &[1]).await.expect("a read");
    assert_eq!(prompts.iter().map(|prompt| &prompt.body[..]).collect::<Vec<_>>(), [&body[..]]);
    assert_eq!(world.are_encrypted("requests", "body").await, [true]);
    assert_eq!(world.are_encrypted("results", "body").await, [true]);
    assert_eq!(world.are_encrypted("file_pieces", "content").await, [true; 3]);
    assert_eq!(world.key_files().len(), 1, "an account has one key");
    world.fixture.assert_sound().await;
    world.fixture.restart().await;
    assert_eq!(world.record(id).await.body, body);
    world.fixture.store.close().await;
    for path in files_in(world.fixture.folder()) {
        assert_encrypted(&path);
    }
}

/// Checks that the file has no data of these tests.
fn assert_encrypted(path: &Path) {
    let bytes = fs::read(path).expect("a file");
    for part in [&b"messages"[..], b"chat.completion", b"{\"a\": 1}"] {
        assert!(!holds(&bytes, part), "{} has {part:?}", path.display());
    }
}

on_both!(requests_that_are_made_of_a_file_are_encrypted);
async fn requests_that_are_made_of_a_file_are_encrypted(world: &mut World) {
    filling::made(&mut world.fixture, &["1\n2\n"]).await;
    let claimed = filling::claim(&world.fixture, START, START).await.expect("a batch to be filled");
    let step = filling::step(&mut world.fixture, claimed, &[true, true], true);
    assert_eq!(filling::fill(&world.fixture.store, step).await, Filled::Last);
    assert_eq!(world.are_encrypted("requests", "body").await, [true; 2]);
}

on_both!(what_was_stored_before_or_after_is_read_too);
async fn what_was_stored_before_or_after_is_read_too(world: &mut World) {
    (world.fixture.options.key_folder, world.fixture.options.encrypts) = (None, false);
    world.fixture.restart().await;
    let before = world.fixture.insert(&[1]).await[0];
    world.set(true).await;
    let within = world.fixture.insert(&[2]).await[0];
    world.set(false).await;
    let after = world.fixture.insert(&[3]).await[0];
    let pieces: [&'static [u8]; 2] = [b"\x01ovnenc\x01 as a client may send it", b"plain"];
    let file = world.file(&pieces).await;
    assert_eq!(world.pieces(file).await, pieces);
    for (key, id) in [(1, before), (2, within), (3, after)] {
        let body = world.fixture.request(key).body;
        assert_eq!(world.record(id).await.body, body);
    }
    let mut encrypted = world.are_encrypted("requests", "body").await;
    encrypted.sort_unstable();
    assert_eq!(encrypted, [false, false, true]);
    world.fixture.assert_sound().await;
    let deleted = requests::delete_request(&world.fixture.store, world.fixture.account, within).await;
    deleted.expect("no error");
    world.fixture.assert_sound().await;
}

on_both!(without_a_key_that_is_needed_nothing_is_served);
async fn without_a_key_that_is_needed_nothing_is_served(world: &mut World) {
    let id = world.fixture.insert(&[1]).await[0];
    world.fixture.store.close().await;
    let elsewhere = world.folder.path().join("elsewhere");
    fs::rename(world.keys(), &elsewhere).expect("a move");
    let refused = async |key_folder: Option<PathBuf>| {
        let options = StoreOptions { key_folder, ..world.fixture.options.clone() };
        let Err(error) = Store::open(&options, world_clock()).await else { panic!("it is served") };
        let StoreError::Encryption(error) = error else { panic!("{error}") };
        error
    };
    assert!(matches!(refused(Some(world.keys())).await, KeyringError::Missing { .. }));
    assert!(matches!(refused(None).await, KeyringError::NoFolder));
    world.fixture.options.key_folder = Some(elsewhere);
    world.fixture.restart().await;
    assert_eq!(world.record(id).await.body, world.fixture.request(1).body);
    let beside = StoreOptions { key_folder: None, ..world.fixture.options.clone() };
    let beside = Store::open_beside(&beside).await.expect("a store");
    let unread = requests::find_record(&beside, world.fixture.account, id).await;
    assert!(matches!(unread, Err(StoreError::DamagedColumn("body"))), "{unread:?}");
}

on_both!(stored_digests_of_contents_are_those_of_the_account_s_key);
async fn stored_digests_of_contents_are_those_of_the_account_s_key(world: &mut World) {
    let (account, other) = (world.fixture.account, world.fixture.other_account().await);
    let stored =
        async |store: &Store, account| store.content_digest(account, [7; 32]).await.expect("a digest");
    let own = stored(&world.fixture.store, account).await;
    assert_ne!(own, [7; 32], "a copy of the database does not tell the content");
    assert_ne!(own, stored(&world.fixture.store, other).await);
    world.set(true).await;
    assert_eq!(stored(&world.fixture.store, account).await, own, "a repeat is known after a restart");
    world.set(false).await;
    assert_eq!(stored(&world.fixture.store, account).await, [7; 32]);
}

fn world_clock() -> overnight_base::clock::SharedClock {
    Arc::new(SystemClock)
}

on_both!(nodes_that_store_something_of_an_account_at_once_make_one_key);
async fn nodes_that_store_something_of_an_account_at_once_make_one_key(world: &mut World) {
    let folder = tempfile::tempdir().expect("a folder");
    // SQLite has one process that serves, and any number of commands beside it.
    let other = match &world.fixture.options.server_url {
        Some(_) => StoreOptions { folder: folder.path().to_owned(), ..world.fixture.options.clone() },
        None => world.fixture.options.clone(),
    };
    let other = Store::open_beside(&other).await.expect("a store");
    for number in 0..20 {
        let account = accounts::insert(&world.fixture.store, &new_account(100 + number)).await.expect("one");
        let (one, two, three) = tokio::join!(
            world.fixture.store.data_key(account.key),
            other.data_key(account.key),
            world.fixture.store.data_key(account.key),
        );
        let id = |key: Result<Option<Arc<overnight_base::encryption::DataKey>>, StoreError>| -> DataKeyId {
            key.expect("no error").expect("a key").id()
        };
        let (one, two, three) = (id(one), id(two), id(three));
        assert!(one == two && two == three);
    }
    world.fixture.insert(&[1]).await;
    assert_eq!(world.key_files().len(), 21, "what one made in vain is gone");
}

on_both!(an_erased_account_s_key_is_destroyed_with_every_copy_of_what_it_encrypted, no audit);
async fn an_erased_account_s_key_is_destroyed_with_every_copy_of_what_it_encrypted(world: &mut World) {
    let id = world.completed(1).await;
    let copy = exported(&world.fixture.store).await;
    let account = world.fixture.account;
    let store = &world.fixture.store;
    assert!(!closing::mark_erased(store, account, START + 3).await.expect("a read"), "something is stored");
    assert_eq!(world.key_files().len(), 1);
    requests::delete_request(store, account, id).await.expect("no error");
    assert!(closing::mark_erased(store, account, START + 6).await.expect("a write"));
    assert!(world.key_files().is_empty());
    for path in files_in(world.fixture.folder()) {
        assert_encrypted(&path);
    }
    // Whoever kept a copy has the rows, and reads nothing of them.
    let target = tempfile::tempdir().expect("a folder");
    let target = StoreOptions { key_folder: Some(world.keys()), ..options(&target) };
    import(&target, &mut &copy[..], START).await.expect("an import");
    let refused = Store::open(&target, world_clock()).await.err().expect("no key");
    assert!(matches!(refused, StoreError::Encryption(KeyringError::Missing { .. })), "{refused}");
}

on_both!(a_key_that_two_accounts_have_is_reported_and_outlives_the_first_that_is_erased, no audit);
async fn a_key_that_two_accounts_have_is_reported_and_outlives_the_first_that_is_erased(world: &mut World) {
    let id = world.completed(1).await;
    let store = &world.fixture.store;
    let other = accounts::insert(store, &new_account(100)).await.expect("an account");
    let mut connection = store.connect().await.expect("a connection");
    let copy = sql("UPDATE accounts SET data_key = (SELECT max(data_key) FROM accounts) WHERE seq = ?");
    connection.execute(copy.bind(other.key)).await.expect("a copy");
    assert!(is_shared(&world.fixture).await);
    assert!(closing::mark_erased(store, other.key, START + 3).await.expect("a write"));
    assert_eq!(world.key_files().len(), 1);
    assert!(!is_shared(&world.fixture).await);
    world.set(true).await;
    assert_eq!(world.record(id).await.body, world.fixture.request(1).body);
}

/// What the audit says of it.
async fn is_shared(fixture: &Fixture) -> bool {
    let mut broken = fixture.breaches().await.into_iter();
    broken.any(|check| check.rule == "no two accounts have one encryption key")
}

async fn exported(store: &Store) -> Vec<u8> {
    let mut file = Vec::new();
    export(store, &mut file).await.expect("an export");
    file
}

on_both!(an_export_stays_encrypted_and_is_read_where_the_keys_are);
async fn an_export_stays_encrypted_and_is_read_where_the_keys_are(world: &mut World) {
    let id = world.completed(1).await;
    let file = world.file(&[b"{\"a\": 1}\n"]).await;
    let exported_file = exported(&world.fixture.store).await;
    for part in [&b"messages"[..], b"chat.completion", b"\\\"a\\\""] {
        assert!(!holds(&exported_file, part));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let target = StoreOptions { key_folder: Some(world.keys()), ..options(&folder) };
    import(&target, &mut &exported_file[..], START).await.expect("an import");
    world.fixture.store.close().await;
    world.fixture.store = open(&target).await;
    assert_eq!(world.record(id).await.body, world.fixture.request(1).body);
    assert_eq!(world.pieces(file).await, [b"{\"a\": 1}\n"]);
    world.fixture.assert_sound().await;
    assert!(exported_file == exported(&world.fixture.store).await);
}

#[tokio::test]
async fn a_backup_is_restored_without_the_keys_and_read_with_them() {
    let mut world = World::over(Fixture::on_sqlite().await).await;
    let id = world.completed(1).await;
    let backups = world.folder.path().join("backups");
    let repository = Repository::open_to_write(&backups).expect("a repository");
    backup::take(&world.fixture.store, &repository, START).await.expect("a backup");
    drop(repository);
    let target = StoreOptions { folder: world.folder.path().join("restored"), ..options(&world.folder) };
    let repository = Repository::open_to_read(&backups).expect("a repository");
    restore(&repository, None, &target, OnBreach::Refuse).await.expect("a restored folder");
    let target = StoreOptions { key_folder: Some(world.keys()), ..target };
    let restored = open(&target).await;
    assert_eq!(record(&world.fixture, &restored, id).await.body, world.fixture.request(1).body);
}
