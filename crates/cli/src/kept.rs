//! Lists of any length in a nameless file: memory holds none of it.

use std::fs::File;
use std::io::{self, BufRead, BufWriter, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use overnight_tables::SharedFile;
use serde::de::DeserializeOwned;
use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};

/// A growing list.
#[derive(Debug)]
pub(crate) struct Keeping<T> {
    folder: PathBuf,
    /// `None` before the first item.
    out: Option<BufWriter<File>>,
    count: usize,
    of: PhantomData<fn() -> T>,
}

/// A complete list that can be read any number of times.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    file: Option<SharedFile>,
    count: usize,
    of: PhantomData<fn() -> T>,
}

impl<T: Serialize> Keeping<T> {
    /// Begins an empty list; its file is created in `folder`.
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), out: None, count: 0, of: PhantomData }
    }

    pub(crate) fn push(&mut self, item: &T) -> io::Result<()> {
        let out = match &mut self.out {
            Some(out) => out,
            none => none.insert(BufWriter::new(tempfile::tempfile_in(&self.folder)?)),
        };
        serde_json::to_writer(&mut *out, item)?;
        out.write_all(b"\n")?;
        self.count += 1;
        Ok(())
    }

    pub(crate) fn end(self) -> io::Result<Kept<T>> {
        let file = self.out.map(|out| SharedFile::new(out.into_inner()?)).transpose()?;
        Ok(Kept { file, count: self.count, of: PhantomData })
    }
}

impl<T: DeserializeOwned> Kept<T> {
    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = io::Result<T>> + use<T> {
        let lines = self.file.as_ref().map(|file| file.cursor().lines());
        lines.into_iter().flatten().map(|line| Ok(serde_json::from_str(&line?)?))
    }
}

/// As an array.
impl<T: Serialize + DeserializeOwned> Serialize for Kept<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut array = serializer.serialize_seq(Some(self.count))?;
        for item in self.iter() {
            array.serialize_element(&item.map_err(S::Error::custom)?)?;
        }
        array.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_as_often_as_it_is_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let mut keeping = Keeping::new(folder.path());
        (0..1_000).for_each(|number| keeping.push(&(number, format!("a\n{number}"))).unwrap());
        let kept = keeping.end().unwrap();
        for _ in 0..2 {
            let items: Vec<(u32, String)> = kept.iter().map(Result::unwrap).collect();
            assert_eq!((items.len(), kept.len()), (1_000, 1_000));
            assert_eq!(items[7], (7, "a\n7".to_owned()));
        }
        assert!(serde_json::to_string(&kept).unwrap().starts_with("[[0,\"a\\n0\"],[1,"));
    }

    #[test]
    fn a_list_of_none_needs_no_file() {
        let kept: Kept<u32> = Keeping::new(Path::new("/nowhere at all")).end().unwrap();
        assert!(kept.is_empty() && kept.iter().next().is_none());
        assert_eq!(serde_json::to_string(&kept).unwrap(), "[]");
    }
}
