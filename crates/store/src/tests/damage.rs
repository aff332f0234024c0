//! Damaged databases and repositories: they are told, and cost no backup that is whole.

use std::io::{Seek as _, SeekFrom, Write as _};

use overnight_testkit::proof;

use crate::operations::backup::set_damaged_aside;
use crate::operations::integrity;
use crate::requests::Filter;
use crate::tests::backups::World;
use crate::tests::prelude::*;

const PAGE: [u8; 4_096] = [0xA5; 4_096];

/// Of a closed database.
fn damage_page(folder: &Path) {
    let path = folder.join(DATABASE_FILE);
    let pages = fs::metadata(&path).expect("a database").len() / PAGE.len() as u64;
    let mut file = fs::OpenOptions::new().write(true).open(path).expect("a database");
    file.seek(SeekFrom::Start(pages / 2 * PAGE.len() as u64)).expect("a place");
    file.write_all(&PAGE).expect("damage");
}

async fn damaged_store(world: &World) -> Store {
    let (_, options) = world.restore(None, "damaged").await.expect("a folder");
    damage_page(&options.folder);
    Store::open_to_read(&options).await.expect("a store")
}

/// Every backup that the repository lists can be restored.
async fn all_restore(world: &World) -> usize {
    let listed = Repository::list(&world.repository()).expect("a list");
    let repository = Repository::open_to_read(&world.repository()).expect("a repository");
    for backup in &listed {
        let checked = check(&repository, Some(&backup.id), world.folder.path()).await;
        assert!(checked.expect("a backup").breaches.is_empty(), "{backup:?}");
    }
    listed.len()
}

fn open(world: &World) -> Repository {
    Repository::open_to_write(&world.repository()).expect("a repository")
}

fn largest(chunks: Vec<PathBuf>) -> PathBuf {
    chunks.into_iter().max_by_key(|path| fs::metadata(path).expect("a chunk").len()).expect("a chunk")
}

#[tokio::test]
async fn damaged_database_is_found_by_check_audit_and_backup_and_costs_no_backup() {
    let mut world = World::new().await;
    world.insert_large('a').await;
    world.take(START).await.expect("a backup");
    let chunks = world.chunks();
    let store = damaged_store(&world).await;
    let found = integrity::check(&store).await.expect_err("damage");
    assert!(found.is_damage(), "{found}");
    let found = audit::run(&store).await.expect_err("damage");
    assert!(found.is_damage(), "{found}");
    let refused = backup::take(&store, &open(&world), START + 1).await;
    assert!(matches!(&refused, Err(BackupError::Store(error)) if error.is_damage()), "{refused:?}");
    assert_eq!((all_restore(&world).await, world.chunks()), (1, chunks));
    assert!(integrity::check(&world.fixture.store).await.is_ok());
}

#[tokio::test]
async fn damaged_list_of_free_pages_is_found_by_the_check() {
    /// Where the header of the file has the first page of the list, and how long it is.
    const FREE_PAGES: u64 = 32;
    let world = World::new().await;
    world.take(START).await.expect("a backup");
    let (_, options) = world.restore(None, "damaged").await.expect("a folder");
    let mut file =
        fs::OpenOptions::new().write(true).open(options.folder.join(DATABASE_FILE)).expect("a database");
    file.seek(SeekFrom::Start(FREE_PAGES)).expect("a place");
    file.write_all(&[0, 0, 0, 5, 0, 0, 1, 0]).expect("damage");
    let store = Store::open_to_read(&options).await.expect("a store");
    let found = integrity::check(&store).await.expect_err("damage");
    assert!(found.is_damage() && found.to_string().contains("freelist"), "{found}");
}

#[tokio::test]
async fn write_that_needs_a_damaged_page_fails_alone() {
    let mut world = World::new().await;
    let id = world.insert_large('a').await;
    let (account, request) = (world.fixture.account, world.fixture.request(1));
    requests::cancel(&world.fixture.store, account, id, START).await.expect("a cancel");
    world.take(START).await.expect("a backup");
    let (_, options) = world.restore(None, "damaged").await.expect("a folder");
    damage_page(&options.folder);
    let store = Store::open(&options, ManualClock::at(START)).await.expect("a store");
    let delete = requests::delete_request(&store, account, id);
    let (deleted, inserted) = tokio::join!(delete, requests::insert(&store, request));
    let refused = deleted.expect_err("damage");
    assert!(refused.is_damage() && !refused.is_passing(), "{refused:?}");
    inserted.expect("a request on other pages");
}

#[tokio::test]
async fn body_that_is_no_text_is_damage_and_costs_no_other_prompt() {
    let mut fixture = Fixture::on_sqlite().await;
    let (ids, leases) = fixture.leased(&[1, 2, 3]).await;
    assert!(fixture.settle(&leases[2], START).await);
    let database = rusqlite::Connection::open(fixture.folder().join(DATABASE_FILE)).expect("a database");
    for bytes in ["x''", "x'7b007d'", "x'7bff7d'"] {
        for text in ["UPDATE requests SET body = BYTES WHERE seq = 1", "UPDATE results SET body = BYTES"] {
            assert_eq!(database.execute(&text.replace("BYTES", bytes), []).expect("damage"), 1);
        }
        let prompts = scan::list_small_prompts(&fixture.store, &[1, 2]).await.expect("the others");
        assert_eq!(prompts.iter().map(|it| it.seq).collect::<Vec<_>>(), [2], "{bytes}");
        let prompt = scan::find_prompt(&fixture.store, 1).await.expect_err("damage");
        assert!(prompt.is_damage(), "{bytes}: {prompt}");
        for id in [ids[0], ids[2]] {
            let record = requests::find_record(&fixture.store, fixture.account, id).await;
            assert!(record.expect_err("damage").is_damage(), "{bytes}");
        }
    }
}

#[tokio::test]
async fn page_that_a_server_cannot_read_is_damage() {
    let fixture = Fixture::on_postgres().await;
    let mut connection = fixture.store.connect().await.expect("a connection");
    for statement in [
        "DO $$ BEGIN RAISE EXCEPTION 'a page' USING ERRCODE = 'XX001'; END $$",
        "DO $$ BEGIN RAISE EXCEPTION 'an index' USING ERRCODE = 'XX002'; END $$",
    ] {
        let refused = connection.execute_all(statement).await.expect_err("damage");
        assert!(refused.is_damage() && !refused.is_passing(), "{refused}");
    }
    connection.close().await.expect("an end");
}

#[tokio::test]
async fn damaged_chunk_of_the_present_database_is_repaired_by_the_next_backup() {
    let mut world = World::new().await;
    world.insert_large('a').await;
    world.take(START).await.expect("a backup");
    for damage in [&b""[..], b"other", &[0; 9_000]] {
        fs::write(largest(world.chunks()), damage).expect("damage");
        let taken = backup::take(&world.fixture.store, &open(&world), START + 1).await.expect("a backup");
        assert_eq!(taken.repaired_chunks, 1);
        assert!(set_damaged_aside(&open(&world)).expect("a check").is_empty());
    }
    assert_eq!(all_restore(&world).await, 4);
}

#[tokio::test]
async fn backup_that_cannot_be_restored_is_set_aside_and_does_not_count_as_one() {
    for is_missing in [true, false] {
        let mut world = World::new().await;
        let id = world.insert_large('a').await;
        let damaged = world.take(START).await.expect("a backup");
        let chunk = largest(world.chunks());
        let (store, account) = (&world.fixture.store, world.fixture.account);
        requests::cancel(store, account, id, START).await.expect("a cancel");
        requests::delete_request(store, account, id).await.expect("a deletion");
        for place in 1..4 {
            world.take(START + place).await.expect("a backup");
        }
        match is_missing {
            true => fs::remove_file(&chunk).expect("a chunk"),
            false => fs::write(&chunk, "other").expect("a chunk"),
        }
        let found = set_damaged_aside(&open(&world)).expect("a check");
        let name = chunk.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(found[0].fault.to_string().contains(&name) && found.len() == 1, "{found:?}");
        let listed = Repository::list_damaged(&world.repository()).expect("a list");
        assert!(listed.len() == 1 && listed[0].to_string_lossy().contains(&damaged.id), "{listed:?}");
        let kept = world.chunks().len();
        let pruned = backup::prune(&open(&world), Keep { newest: 3, days: 0 }, None).expect("a deletion");
        assert_eq!((pruned.backups, world.chunks().len()), (0, kept), "its chunks stay");
        assert_eq!(all_restore(&world).await, 3);
        fs::remove_file(&listed[0]).expect("it is given up");
        backup::prune(&open(&world), Keep { newest: 3, days: 0 }, None).expect("a deletion");
        assert!(world.chunks().len() < kept);
    }
}

#[tokio::test]
async fn description_that_cannot_be_read_is_set_aside() {
    let mut world = World::new().await;
    world.insert_large('a').await;
    let damaged = world.take(START).await.expect("a backup");
    world.take(START + 1).await.expect("a backup");
    fs::write(world.manifest(1, &damaged.id), "{}").expect("damage");
    assert_eq!(set_damaged_aside(&open(&world)).expect("a check").len(), 1);
    assert_eq!(all_restore(&world).await, 1);
}

#[tokio::test]
async fn order_of_backups_is_that_in_which_they_were_taken_whatever_the_clock_said() {
    let mut world = World::new().await;
    world.insert_large('a').await;
    let mut ids = Vec::new();
    for now in [START, START + 400 * 86_400_000, START + 1, START + 1] {
        ids.push(world.take(now).await.expect("a backup").id);
    }
    assert_ne!(ids[2], ids[3], "each has a name of its own");
    let listed = Repository::list(&world.repository()).expect("a list");
    assert_eq!(listed.iter().map(|it| &it.id).collect::<Vec<_>>(), ids.iter().collect::<Vec<_>>());
    let (restored, _) = world.restore(None, "newest").await.expect("a folder");
    assert_eq!(restored.backup.id, ids[3]);
    backup::prune(&open(&world), Keep { newest: 1, days: 0 }, None).expect("a deletion");
    let listed = Repository::list(&world.repository()).expect("a list");
    assert_eq!(listed.iter().map(|it| &it.id).collect::<Vec<_>>(), [&ids[3]]);
    assert_eq!(all_restore(&world).await, 1);
}

/// Numbers that a seed decides: SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("a small number")
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        bytes.fill_with(|| self.next().to_le_bytes()[0]);
    }
}

#[derive(Debug, Clone, Copy)]
enum Failure {
    ZeroedPage,
    Garbage,
    ZeroedSector,
    GarbageSector,
    Misdirected,
}

impl Failure {
    const ALL: [Self; 5] =
        [Self::ZeroedPage, Self::Garbage, Self::ZeroedSector, Self::GarbageSector, Self::Misdirected];

    fn happen(self, file: &mut [u8], chance: &mut Chance) {
        const SECTOR: usize = 512;
        let pages = file.len() / PAGE.len();
        let at = (1 + chance.below(pages - 1)) * PAGE.len();
        let sector = at + chance.below(PAGE.len() / SECTOR) * SECTOR;
        match self {
            Self::ZeroedPage => file[at..at + PAGE.len()].fill(0),
            Self::Garbage => chance.fill(&mut file[at..at + PAGE.len()]),
            Self::ZeroedSector => file[sector..sector + SECTOR].fill(0),
            Self::GarbageSector => chance.fill(&mut file[sector..sector + SECTOR]),
            Self::Misdirected => {
                let from = (1 + chance.below(pages - 1)) * PAGE.len();
                file.copy_within(from..from + PAGE.len(), at);
            }
        }
    }
}

/// What a list of all requests of the account holds, and whether it ended whole.
async fn list(store: &Store, account: AccountKey) -> (Vec<RequestRecord>, bool) {
    let (mut found, mut after) = (Vec::new(), None);
    let scope = PageScope::Account(account, Direction::OldestFirst);
    loop {
        match requests::page_records(store, scope, &Filter::default(), after, None).await {
            Ok(page) => {
                found.extend(page.rows);
                after = page.next;
                if after.is_none() {
                    return (found, true);
                }
            }
            Err(_) => return (found, false),
        }
    }
}

#[tokio::test]
async fn damaged_page_is_an_error_or_found_by_the_check() {
    let runs = std::env::var("OVERNIGHT_DAMAGED_DATABASES").map_or(50, |it| it.parse().expect("a number"));
    let mut world = World::new().await;
    for letter in ['a', 'b', 'c'] {
        world.insert_large(letter).await;
        world.fixture.insert(&(0..40).collect::<Vec<_>>()).await;
    }
    let (known, is_whole) = list(&world.fixture.store, world.fixture.account).await;
    assert!(is_whole && known.len() == 123);
    world.take(START).await.expect("a backup");
    let (_, options) = world.restore(None, "damaged").await.expect("a folder");
    let path = options.folder.join(DATABASE_FILE);
    let whole = fs::read(&path).expect("a database");
    let (mut chance, mut untouched, mut errors, mut found_by_check) = (Chance(1), 0, 0, 0);
    for run in 0..runs {
        let failure = Failure::ALL[run % Failure::ALL.len()];
        let mut bytes = whole.clone();
        failure.happen(&mut bytes, &mut chance);
        fs::write(&path, &bytes).expect("a database");
        let Ok(store) = Store::open_to_read(&options).await else {
            errors += 1;
            continue;
        };
        match list(&store, world.fixture.account).await {
            (found, true) if found == known => untouched += 1,
            (found, false) if found.iter().all(|it| known.contains(it)) => errors += 1,
            (found, ended) => {
                let refused = backup::take(&store, &open(&world), START + 1).await;
                let told = format!("run {run}, {failure:?}: {} listed, ended: {ended}", found.len());
                assert!(matches!(&refused, Err(BackupError::Store(error)) if error.is_damage()), "{told}");
                found_by_check += 1;
            }
        }
        store.close().await;
    }
    assert_eq!(all_restore(&world).await, 1);
    let figure = format!(
        "{runs} databases with a damaged page: {errors} lists ended in an error, {untouched} did not need the page, \
         {found_by_check} lacked lines and were found by the check of a backup; every backup restores"
    );
    proof::record("damaged-pages", &figure);
}
