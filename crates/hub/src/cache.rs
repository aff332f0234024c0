//! The cache folder in the layout of the Hub's own tools. Each repository has `blobs` named by their hashes, `snapshots` of links to them
//! by commit and path, and `refs` from revisions to commits.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::api::{RemoteFile, Repository, is_hexadecimal};
use crate::choice::choose;
use crate::modes::{adopt_file, create_folder, open, read_start};
use crate::{HubError, HubName};

const FOLDER_PREFIX: &str = "models--";
/// With what may stand around it.
const COMMIT_BYTES_MAX: u64 = 128;

#[derive(Debug, Clone)]
pub(crate) struct RepositoryFolder {
    cache: PathBuf,
    folder_name: String,
}

impl RepositoryFolder {
    pub(crate) fn new(cache: &Path, name: &HubName) -> Self {
        let folder_name = format!("{FOLDER_PREFIX}{}", name.repository().replace('/', "--"));
        Self { cache: cache.to_owned(), folder_name }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.cache.join(&self.folder_name)
    }

    pub(crate) fn blob(&self, blob: &str) -> PathBuf {
        self.path().join("blobs").join(blob)
    }

    /// The incomplete file of a blob. Other tools continue it too.
    pub(crate) fn unfinished(&self, blob: &str) -> PathBuf {
        self.blob(&format!("{blob}.incomplete"))
    }

    /// The lock file of a blob's download, where other tools expect it.
    pub(crate) fn lock(&self, blob: &str) -> PathBuf {
        self.cache.join(".locks").join(&self.folder_name).join(format!("{blob}.lock"))
    }

    fn snapshot(&self, commit: &str) -> PathBuf {
        self.path().join("snapshots").join(commit)
    }

    fn reference(&self, revision: &str) -> PathBuf {
        self.path().join("refs").join(revision)
    }

    /// The cached file of a name; for a complete split model, its first part.
    pub(crate) fn find(&self, name: &HubName) -> Option<PathBuf> {
        self.find_parts(name)?.into_iter().next()
    }

    fn find_parts(&self, name: &HubName) -> Option<Vec<PathBuf>> {
        let revision = name.revision();
        // A commit is its own reference.
        let commit = read_commit(&self.reference(revision)).unwrap_or_else(|| revision.to_owned());
        let snapshot = self.snapshot(&commit);
        let mut files = Vec::new();
        collect_files(&snapshot, &snapshot, &mut files).ok()?;
        let chosen = choose(name, &files).ok()?;
        Some(chosen.into_iter().map(|file| snapshot.join(&file.path)).collect())
    }

    /// Creates the links of a snapshot and points the revision at it. The first of `files` is the one to load.
    pub(crate) fn link(
        &self,
        name: &HubName,
        repository: &Repository,
        files: &[&RemoteFile],
    ) -> Result<PathBuf, HubError> {
        let snapshot = self.snapshot(&repository.commit);
        for file in files {
            let link = snapshot.join(&file.path);
            let depth = file.path.matches('/').count() + 2;
            let target = Path::new(&"../".repeat(depth)).join("blobs").join(&file.blob);
            lay(&link, &target, &self.blob(&file.blob)).map_err(HubError::file(&link))?;
        }
        if name.revision() != repository.commit {
            let reference = self.reference(name.revision());
            let unfinished = self.path().join(format!(".{}.part", std::process::id()));
            write_whole(&reference, &unfinished, &repository.commit).map_err(HubError::file(&reference))?;
        }
        let first = files.first().map(|file| snapshot.join(&file.path));
        first.ok_or_else(|| HubError::File { path: snapshot, source: io::ErrorKind::NotFound.into() })
    }
}

/// Collects all files below a folder whose blobs exist.
fn collect_files(root: &Path, folder: &Path, files: &mut Vec<RemoteFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let Ok(known) = fs::metadata(&path) else { continue };
        if known.is_dir() {
            // A link to a folder could lead back to a parent.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                collect_files(root, &path, files)?;
            }
        } else if let Some(path) = path.strip_prefix(root).ok().and_then(Path::to_str) {
            let path = path.replace('\\', "/");
            files.push(RemoteFile { path, bytes: known.len(), blob: String::new(), sha256: None });
        }
    }
    Ok(())
}

/// Links to a blob. Another process may create the same link.
fn lay(link: &Path, target: &Path, blob: &Path) -> io::Result<()> {
    create_folder(link.parent().ok_or(io::ErrorKind::NotFound)?)?;
    if fs::canonicalize(link).is_ok_and(|found| fs::canonicalize(blob).is_ok_and(|blob| blob == found)) {
        return Ok(());
    }
    let unfinished = link.with_extension(format!("{}.link", std::process::id()));
    remove_if_present(&unfinished)?;
    std::os::unix::fs::symlink(target, &unfinished)?;
    fs::rename(unfinished, link)
}

fn remove_if_present(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn write_whole(path: &Path, unfinished: &Path, text: &str) -> io::Result<()> {
    create_folder(path.parent().ok_or(io::ErrorKind::NotFound)?)?;
    remove_if_present(unfinished)?;
    let mut file = open(unfinished, File::options().write(true).create_new(true))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    adopt_file(&file, unfinished)?;
    fs::rename(unfinished, path)
}

/// The commit of a reference; `None` if its content is not a commit.
fn read_commit(reference: &Path) -> Option<String> {
    let commit = read_start(reference, COMMIT_BYTES_MAX).ok()?.trim().to_owned();
    is_hexadecimal(&commit).then_some(commit)
}

/// A cached GGUF file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CachedModel {
    /// The name that finds it: its repository and path.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Its path in the cache.
    pub path: PathBuf,
}

/// Lists the GGUF files of a cache by name. Files of a commit without a revision are named by the commit. Fails with [`HubError::File`] if
/// an existing folder cannot be read.
pub fn list(cache: &Path) -> Result<Vec<CachedModel>, HubError> {
    let entries = match fs::read_dir(cache) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(HubError::file(cache))?,
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let folder_name = entry.file_name();
        let repository =
            folder_name.to_str().and_then(|name| name.strip_prefix(FOLDER_PREFIX)?.split_once("--"));
        let Some((owner, repository)) = repository else { continue };
        let mut references = Vec::new();
        let refs = entry.path().join("refs");
        let _ = collect_files(&refs, &refs, &mut references);
        let revision_of = |commit: &str| {
            let mut names = references.iter().map(|reference| &reference.path);
            names.find(|name| read_commit(&refs.join(name)).is_some_and(|known| known == commit))
        };
        for snapshot in fs::read_dir(entry.path().join("snapshots")).into_iter().flatten().flatten() {
            let commit = snapshot.file_name().to_string_lossy().into_owned();
            let at = match revision_of(&commit).map_or(commit.as_str(), |name| name.as_str()) {
                "main" => String::new(),
                revision => format!("@{revision}"),
            };
            let mut files = Vec::new();
            let _ = collect_files(&snapshot.path(), &snapshot.path(), &mut files);
            found.extend(files.into_iter().filter(|file| file.path.ends_with(".gguf")).map(|file| {
                CachedModel {
                    name: format!("hf:{owner}/{repository}{at}:{}", file.path),
                    bytes: file.bytes,
                    path: snapshot.path().join(&file.path),
                }
            }));
        }
    }
    found.sort();
    Ok(found)
}

/// Removes a repository from the cache, or one file if the name has one, and returns the number of bytes freed.
pub fn remove(cache: &Path, name: &HubName) -> Result<u64, HubError> {
    let folder = RepositoryFolder::new(cache, name);
    if name.selector().is_none() {
        let bytes = blobs_of(&folder);
        return match fs::remove_dir_all(folder.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            removed => removed.map(|()| bytes).map_err(HubError::file(&folder.path())),
        };
    }
    let mut freed = 0;
    for path in folder.find_parts(name).unwrap_or_default() {
        let blob = fs::canonicalize(&path).map_err(HubError::file(&path))?;
        freed += fs::metadata(&blob).map_or(0, |known| known.len());
        fs::remove_file(&path).map_err(HubError::file(&path))?;
        let own = fs::canonicalize(folder.path()).unwrap_or_else(|_| folder.path());
        if blob != path && blob.starts_with(own) && !is_linked(&folder, &blob) {
            fs::remove_file(&blob).map_err(HubError::file(&blob))?;
        }
    }
    Ok(freed)
}

fn is_linked(folder: &RepositoryFolder, blob: &Path) -> bool {
    let snapshots = folder.path().join("snapshots");
    let mut files = Vec::new();
    collect_files(&snapshots, &snapshots, &mut files).is_err()
        || files
            .iter()
            .any(|file| fs::canonicalize(snapshots.join(&file.path)).is_ok_and(|found| found == blob))
}

fn blobs_of(folder: &RepositoryFolder) -> u64 {
    let blobs = fs::read_dir(folder.path().join("blobs")).into_iter().flatten().flatten();
    blobs.filter_map(|blob| blob.metadata().ok()).map(|known| known.len()).sum()
}
