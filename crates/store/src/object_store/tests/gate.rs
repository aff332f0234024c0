//! An object store in memory that answers on command.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use overnight_domain::scheduler::AccountKey;
use tokio::sync::Semaphore;

/// What lists tell.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Lists {
    #[default]
    True,
    Empty,
    WithoutPrefix,
    Twice,
    /// After the objects, pages without any.
    WithoutEnd,
}

/// Puts and reads pass the gate.
#[derive(Debug)]
pub(super) struct Gate {
    inner: InMemory,
    answers: Semaphore,
    is_closed: AtomicBool,
    lists: Mutex<Lists>,
    is_away: AtomicBool,
    lacks_conditions: AtomicBool,
    /// An object that it does not delete.
    held: Arc<Mutex<Option<Path>>>,
    begun: Mutex<Vec<String>>,
}

impl Gate {
    /// Answers each call immediately.
    pub(super) fn open() -> Arc<Self> {
        let (inner, answers) = (InMemory::new(), Semaphore::new(0));
        Arc::new(Self {
            inner,
            answers,
            is_closed: AtomicBool::default(),
            lists: Mutex::default(),
            is_away: AtomicBool::default(),
            lacks_conditions: AtomicBool::default(),
            held: Arc::default(),
            begun: Mutex::default(),
        })
    }

    /// Answers calls only on command.
    pub(super) fn closed() -> Arc<Self> {
        let gate = Self::open();
        gate.close();
        gate
    }

    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    pub(super) fn reopen(&self) {
        self.is_closed.store(false, Ordering::SeqCst);
    }

    pub(super) fn set_lists(&self, lists: Lists) {
        *self.lists.lock().expect("lists") = lists;
    }

    /// Whether puts and reads find no connection.
    pub(super) fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::SeqCst);
    }

    /// Conditional puts are unknown from now on.
    pub(super) fn forget_conditions(&self) {
        self.lacks_conditions.store(true, Ordering::SeqCst);
    }

    /// Refuses to delete this object, as bulk deletions and folders report it.
    pub(super) fn hold(&self, path: Path) {
        *self.held.lock().expect("a path") = Some(path);
    }

    pub(super) fn objects(&self) -> usize {
        let listed = self.inner.list(None).collect::<Vec<_>>();
        futures_util::FutureExt::now_or_never(listed).expect("memory is not waited for").len()
    }

    /// Waits for this many calls since it was closed, and checks that no more begin.
    pub(super) async fn wait_for(&self, calls: usize) {
        self.settle().await;
        assert_eq!(self.begun.lock().expect("a list").len(), calls);
    }

    /// Calls of an account since it was closed.
    pub(super) fn begun_of(&self, account: AccountKey) -> usize {
        let folder = format!("{}/", account.0);
        self.begun.lock().expect("a list").iter().filter(|path| path.starts_with(&folder)).count()
    }

    pub(super) async fn answer_one(&self) {
        self.answers.add_permits(1);
        self.settle().await;
    }

    async fn settle(&self) {
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
    }

    async fn pass(&self, path: &Path) -> Result<()> {
        if self.is_closed.load(Ordering::SeqCst) {
            self.begun.lock().expect("a list").push(path.to_string());
            self.answers.acquire().await.expect("it is not closed for good").forget();
        }
        match self.is_away.load(Ordering::SeqCst) {
            true => Err(no_connection()),
            false => Ok(()),
        }
    }
}

pub(super) fn no_connection() -> Error {
    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
    let source = Box::new(HttpError::new(HttpErrorKind::Connect, refused));
    Error::Generic { store: "gate", source }
}

impl fmt::Display for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a gate")
    }
}

// The futures of a trait that is made by `async_trait`, as it writes them.
impl ObjectStore for Gate {
    fn put_opts<'s, 'p, 'f>(
        &'s self,
        path: &'p Path,
        content: PutPayload,
        options: PutOptions,
    ) -> BoxFuture<'f, Result<PutResult>>
    where
        's: 'f,
        'p: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            self.pass(path).await?;
            if self.lacks_conditions.load(Ordering::SeqCst) && options.mode == PutMode::Create {
                return Err(Error::NotImplemented {
                    operation: "a condition".into(),
                    implementer: "gate".into(),
                });
            }
            self.inner.put_opts(path, content, options).await
        })
    }

    fn put_multipart_opts<'s, 'p, 'f>(
        &'s self,
        path: &'p Path,
        options: PutMultipartOptions,
    ) -> BoxFuture<'f, Result<Box<dyn MultipartUpload>>>
    where
        's: 'f,
        'p: 'f,
        Self: 'f,
    {
        self.inner.put_multipart_opts(path, options)
    }

    fn get_opts<'s, 'p, 'f>(&'s self, path: &'p Path, options: GetOptions) -> BoxFuture<'f, Result<GetResult>>
    where
        's: 'f,
        'p: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            self.pass(path).await?;
            self.inner.get_opts(path, options).await
        })
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let (held, inner) = (Arc::clone(&self.held), self.inner.clone());
        paths
            .then(move |path| {
                let (held, inner) = (Arc::clone(&held), inner.clone());
                async move {
                    let path = path?;
                    if held.lock().expect("a path").as_ref() == Some(&path) {
                        return Err(Error::Generic { store: "gate", source: "a legal hold".into() });
                    }
                    inner.delete(&path).await.map(|()| path)
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match *self.lists.lock().expect("lists") {
            Lists::True => self.inner.list(prefix),
            Lists::Empty => stream::empty().boxed(),
            Lists::WithoutPrefix => self.inner.list(None),
            Lists::Twice => self.inner.list(prefix).chain(self.inner.list(prefix)).boxed(),
            Lists::WithoutEnd => self.inner.list(prefix).chain(stream::pending()).boxed(),
        }
    }

    fn list_with_delimiter<'s, 'p, 'f>(
        &'s self,
        prefix: Option<&'p Path>,
    ) -> BoxFuture<'f, Result<ListResult>>
    where
        's: 'f,
        'p: 'f,
        Self: 'f,
    {
        self.inner.list_with_delimiter(prefix)
    }

    fn copy_opts<'s, 'p, 'q, 'f>(
        &'s self,
        from: &'p Path,
        to: &'q Path,
        options: CopyOptions,
    ) -> BoxFuture<'f, Result<()>>
    where
        's: 'f,
        'p: 'f,
        'q: 'f,
        Self: 'f,
    {
        self.inner.copy_opts(from, to, options)
    }
}
