//! The cache folder, as the Hub's own tools lay it out: of each repository `blobs` by their sums, `snapshots` of links to them by
//! commit and path, and `refs` from revisions to commits.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::api::{RemoteFile, Repository};
use crate::choice::choose;
use crate::{HubError, HubName};

const FOLDER_PREFIX: &str = "models--";

/// The folder of one repository.
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

    /// Where a blob grows: other tools go on with it too.
    pub(crate) fn unfinished(&self, blob: &str) -> PathBuf {
        self.blob(&format!("{blob}.incomplete"))
    }

    /// Locked while a blob is downloaded; where other tools look for the same lock.
    pub(crate) fn lock(&self, blob: &str) -> PathBuf {
        self.cache.join(".locks").join(&self.folder_name).join(format!("{blob}.lock"))
    }

    fn snapshot(&self, commit: &str) -> PathBuf {
        self.path().join("snapshots").join(commit)
    }

    fn reference(&self, revision: &str) -> PathBuf {
        self.path().join("refs").join(revision)
    }

    /// The file that the cache has under a name; of a split model the first part, where all are there.
    pub(crate) fn find(&self, name: &HubName) -> Option<PathBuf> {
        self.find_parts(name)?.into_iter().next()
    }

    fn find_parts(&self, name: &HubName) -> Option<Vec<PathBuf>> {
        let revision = name.revision();
        let commit = fs::read_to_string(self.reference(revision)).map(|commit| commit.trim().to_owned());
        // A commit that is named is its own reference.
        let snapshot = self.snapshot(commit.as_deref().unwrap_or(revision));
        let mut files = Vec::new();
        collect_files(&snapshot, &snapshot, &mut files).ok()?;
        let chosen = choose(name, &files).ok()?;
        Some(chosen.into_iter().map(|file| snapshot.join(&file.path)).collect())
    }

    /// Lays the links of a snapshot, and points the revision at it. The first of `files` is the one to load.
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
            write_whole(&reference, &repository.commit).map_err(HubError::file(&reference))?;
        }
        let first = files.first().map(|file| snapshot.join(&file.path));
        first.ok_or_else(|| HubError::File { path: snapshot, source: io::ErrorKind::NotFound.into() })
    }
}

/// All files below a folder that have their bytes.
fn collect_files(root: &Path, folder: &Path, files: &mut Vec<RemoteFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Ok(known) = fs::metadata(&path) else { continue };
        if known.is_dir() {
            collect_files(root, &path, files)?;
        } else if let Some(path) = path.strip_prefix(root).ok().and_then(Path::to_str) {
            let path = path.replace('\\', "/");
            files.push(RemoteFile { path, bytes: known.len(), blob: String::new(), sha256: None });
        }
    }
    Ok(())
}

/// A link to a blob, or where the system has none for everybody, a second name of it.
fn lay(link: &Path, target: &Path, blob: &Path) -> io::Result<()> {
    let parent = link.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(parent)?;
    if fs::canonicalize(link).is_ok_and(|found| fs::canonicalize(blob).is_ok_and(|blob| blob == found)) {
        return Ok(());
    }
    match fs::remove_file(link) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    #[cfg(unix)]
    return std::os::unix::fs::symlink(target, link);
    #[cfg(not(unix))]
    {
        let _ = target;
        fs::hard_link(blob, link)
    }
}

fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let parent = path.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(parent)?;
    let unfinished = path.with_extension("part");
    fs::write(&unfinished, text)?;
    File::open(&unfinished)?.sync_all()?;
    fs::rename(unfinished, path)
}

/// A GGUF file that the cache has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CachedModel {
    /// By which it is found: its repository and its path there.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Where it is.
    pub path: PathBuf,
}

/// The GGUF files in a cache, by name; of several commits the ones that a revision points at.
///
/// # Errors
/// [`HubError::File`] where the folder is there and cannot be read.
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
        let Ok(references) = fs::read_dir(entry.path().join("refs")) else { continue };
        for reference in references.flatten() {
            let Ok(commit) = fs::read_to_string(reference.path()) else { continue };
            let revision = reference.file_name().to_string_lossy().into_owned();
            let at = if revision == "main" { String::new() } else { format!("@{revision}") };
            let snapshot = entry.path().join("snapshots").join(commit.trim());
            let mut files = Vec::new();
            // A snapshot that is gone has none.
            let _ = collect_files(&snapshot, &snapshot, &mut files);
            found.extend(files.into_iter().filter(|file| file.path.ends_with(".gguf")).map(|file| {
                CachedModel {
                    name: format!("hf:{owner}/{repository}{at}:{}", file.path),
                    bytes: file.bytes,
                    path: snapshot.join(&file.path),
                }
            }));
        }
    }
    found.sort();
    Ok(found)
}

/// Removes what the cache has of a repository, or of one file where the name has one; returns the bytes that it freed.
///
/// # Errors
/// [`HubError::File`] where something of it cannot be removed.
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
        if blob != path && blob.starts_with(fs::canonicalize(folder.path()).unwrap_or_else(|_| folder.path()))
        {
            fs::remove_file(&blob).map_err(HubError::file(&blob))?;
        }
    }
    Ok(freed)
}

fn blobs_of(folder: &RepositoryFolder) -> u64 {
    let blobs = fs::read_dir(folder.path().join("blobs")).into_iter().flatten().flatten();
    blobs.filter_map(|blob| blob.metadata().ok()).map(|known| known.len()).sum()
}
