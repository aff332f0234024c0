//! Bodies that are stored as objects beside the database.

mod bounds;
mod crashes;
mod life;
mod lists;
mod owners;
mod reads;
mod unused;

use url::Url;

use crate::object_store::ObjectStoreOptions;
use crate::objects::Waiting;
use crate::tests::prelude::*;

/// Bodies of this size are large here: longer than an object's name.
const MIN_BYTES: usize = 100;

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// How long unused objects are kept.
const KEPT_MS: i64 = 7 * DAY_MS;

struct World {
    fixture: Fixture,
    folder: TempDir,
}

impl Stage for World {
    async fn over(fixture: Fixture) -> Self {
        let mut world = Self { fixture, folder: tempfile::tempdir().expect("a folder") };
        world.set(Some(MIN_BYTES)).await;
        world
    }

    fn fixture(&self) -> &Fixture {
        &self.fixture
    }
}

impl World {
    fn objects(&self) -> PathBuf {
        self.folder.path().join("objects")
    }

    fn options(&self, min_bytes: Option<usize>) -> ObjectStoreOptions {
        let url = Url::from_directory_path(self.objects()).expect("a URL");
        ObjectStoreOptions {
            url,
            endpoint: None,
            region: None,
            allow_http: false,
            min_bytes,
            ca_files: Vec::new(),
            proxy: None,
        }
    }

    /// Restarts the service with another size of large bodies.
    async fn set(&mut self, min_bytes: Option<usize>) {
        self.fixture.options.object_store = Some(self.options(min_bytes));
        self.fixture.restart().await;
    }

    fn store(&self) -> &Store {
        &self.fixture.store
    }

    fn large(&mut self, key: u8) -> NewRequest {
        NewRequest { body: large_body(key), ..self.fixture.request(key) }
    }

    async fn insert_large(&mut self, key: u8) -> RequestId {
        let request = self.large(key);
        let id = request.id;
        assert_eq!(requests::insert(self.store(), request).await.expect("a create"), Admission::Taken);
        id
    }

    /// Completes all waiting requests with large results.
    async fn complete(&self) {
        for lease in self.fixture.release_and_lease().await {
            let settlement = self.fixture.settlement(&lease, START + 2);
            let settlement = Settlement { body: large_result(), ..settlement };
            assert!(settle::settle(self.store(), settlement).await.expect("a settle"));
        }
    }

    async fn find(&self, id: RequestId) -> Result<RequestRecord, StoreError> {
        let found = requests::find_record(self.store(), self.fixture.account, id).await;
        found.map(|found| found.expect("the request"))
    }

    async fn delete(&self, id: RequestId) {
        requests::delete_request(self.store(), self.fixture.account, id).await.expect("a deletion");
    }

    /// Whether each body or result is an object, in the order of rows.
    async fn are_beside(&self, table: &str) -> Vec<bool> {
        let text: &'static str = Box::leak(format!("SELECT body FROM {table} ORDER BY seq").into());
        let mut connection = self.store().database().as_stored().connect().await.expect("a connection");
        let rows = connection.fetch(sql(text)).await.expect("rows");
        connection.close().await.expect("an end");
        rows.iter().map(|row| is_reference(row.get("body").expect("bytes"))).collect()
    }

    /// In no order; without the owner's object.
    fn files(&self) -> Vec<PathBuf> {
        let owner = self.objects().join("database");
        files_under(&self.objects()).into_iter().filter(|file| *file != owner).collect()
    }

    async fn sweep(&self, now: i64) -> usize {
        objects::sweep(self.store(), now, KEPT_MS).await.expect("a sweep")
    }

    async fn waiting(&self) -> i64 {
        let Waiting { objects, .. } = objects::waiting(self.store()).await.expect("a count");
        objects
    }

    /// Makes the object store unreachable until the returned function is called.
    fn take_away(&self) -> impl FnOnce() + use<> {
        let (objects, elsewhere) = (self.objects(), self.folder.path().join("elsewhere"));
        fs::rename(&objects, &elsewhere).expect("a move");
        fs::write(&objects, b"no folder").expect("a file in its place");
        move || {
            fs::remove_file(&objects).expect("the file goes");
            fs::rename(&elsewhere, &objects).expect("a move");
        }
    }
}

fn large_body(key: u8) -> Bytes {
    format!(r#"{{"model":"tiny","messages":[{{"role":"user","content":"{key}{}"}}]}}"#, "x".repeat(20_000))
        .into()
}

fn large_result() -> Bytes {
    format!(r#"{{"object":"chat.completion","id":"{}"}}"#, "y".repeat(30_000)).into()
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files_under(&path) } else { vec![path] }).collect()
}

fn is_away<T: std::fmt::Debug>(outcome: Result<T, StoreError>) -> bool {
    let error = outcome.expect_err("the object store is away");
    assert!(error.is_passing(), "{error}");
    matches!(error, StoreError::ObjectStore(_))
}
