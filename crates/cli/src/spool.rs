//! Texts that come in any order and are passed on in theirs. They are in nameless files, and so is where each one stands: memory holds
//! neither.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

const BUFFER_BYTES: usize = 256 << 10;

/// A place as it is kept: where the text ends, how long it is, and its rank.
const PLACE_BYTES: usize = 24;

/// Places that memory holds.
const BLOCK_PLACES: usize = 4_096;

/// Texts on their way in.
pub(crate) struct Spool {
    out: BufWriter<File>,
    end: u64,
    places: Places,
}

/// Texts on their way out, in their order.
pub(crate) struct Spooled {
    texts: BufReader<File>,
    at: u64,
    places: Places,
    text: Vec<u8>,
}

/// Where a text stands. No text ends at 0, because none is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    end: u64,
    bytes: u64,
    rank: u64,
}

impl Spool {
    /// Begins with none, in two files that nobody else uses.
    pub(crate) fn new(texts: File, places: File) -> Self {
        let out = BufWriter::with_capacity(BUFFER_BYTES, texts);
        Self { out, end: 0, places: Places::new(places) }
    }

    /// Keeps the text of this place, which is not empty, unless there is one of a higher rank.
    pub(crate) fn put(&mut self, index: usize, text: &[u8], rank: u64) -> io::Result<()> {
        if self.places.get(index)?.is_some_and(|there| there.rank > rank) {
            return Ok(());
        }
        self.out.write_all(text)?;
        let bytes = text.len() as u64;
        self.end += bytes;
        self.places.set(index, Place { end: self.end, bytes, rank })
    }

    /// Begins to pass them on.
    pub(crate) fn read(self) -> io::Result<Spooled> {
        let mut file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.seek(SeekFrom::Start(0))?;
        let texts = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(Spooled { texts, at: 0, places: self.places, text: Vec::new() })
    }
}

impl Spooled {
    /// The text of a place and its rank; fastest in order.
    pub(crate) fn get(&mut self, index: usize) -> io::Result<Option<(&[u8], u64)>> {
        let Some(Place { end, bytes, rank }) = self.places.get(index)? else { return Ok(None) };
        let by = i64::try_from(end - bytes).and_then(|to| i64::try_from(self.at).map(|at| to - at));
        self.texts.seek_relative(by.map_err(io::Error::other)?)?;
        self.text.resize(usize::try_from(bytes).map_err(io::Error::other)?, 0);
        self.texts.read_exact(&mut self.text)?;
        self.at = end;
        Ok(Some((&self.text, rank)))
    }
}

/// The places in their file, of which memory holds a block.
struct Places {
    file: File,
    /// The number of the block at hand.
    number: usize,
    block: Vec<u8>,
    is_changed: bool,
}

impl Places {
    fn new(file: File) -> Self {
        Self { file, number: 0, block: vec![0; BLOCK_PLACES * PLACE_BYTES], is_changed: false }
    }

    fn get(&mut self, index: usize) -> io::Result<Option<Place>> {
        let place = self.at(index)?;
        let number =
            |at: usize| place[at..].first_chunk().map_or(0, |bytes: &[u8; 8]| u64::from_le_bytes(*bytes));
        let place = Place { end: number(0), bytes: number(8), rank: number(16) };
        Ok((place.end > 0).then_some(place))
    }

    fn set(&mut self, index: usize, place: Place) -> io::Result<()> {
        let Place { end, bytes, rank } = place;
        let numbers = [end, bytes, rank].into_iter().flat_map(u64::to_le_bytes);
        self.at(index)?.iter_mut().zip(numbers).for_each(|(byte, of)| *byte = of);
        self.is_changed = true;
        Ok(())
    }

    fn at(&mut self, index: usize) -> io::Result<&mut [u8]> {
        let (number, at) = (index / BLOCK_PLACES, index % BLOCK_PLACES * PLACE_BYTES);
        if number != self.number {
            self.turn_to(number)?;
        }
        Ok(&mut self.block[at..at + PLACE_BYTES])
    }

    fn turn_to(&mut self, number: usize) -> io::Result<()> {
        let begins = |number: usize| SeekFrom::Start(number as u64 * self.block.len() as u64);
        if self.is_changed {
            self.file.seek(begins(self.number))?;
            self.file.write_all(&self.block)?;
            self.is_changed = false;
        }
        self.file.seek(begins(number))?;
        self.number = number;
        let mut read = 0;
        // Behind the end of the file there is nothing yet.
        while read < self.block.len() {
            match self.file.read(&mut self.block[read..]) {
                Ok(0) => break,
                Ok(bytes) => read += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.block[read..].fill(0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spool() -> Spool {
        Spool::new(tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap())
    }

    fn text(spooled: &mut Spooled, index: usize) -> Option<(String, u64)> {
        let found = spooled.get(index).unwrap();
        found.map(|(text, rank)| (String::from_utf8(text.to_vec()).unwrap(), rank))
    }

    #[test]
    fn texts_come_in_any_order_and_are_read_in_theirs() {
        let mut spool = spool();
        for (index, text) in [(3, "three"), (0, "zero and longer"), (1, "1")] {
            spool.put(index, text.as_bytes(), 0).unwrap();
        }
        let mut spooled = spool.read().unwrap();
        let texts: Vec<_> = (0..5).map(|index| text(&mut spooled, index).map(|(text, _)| text)).collect();
        let expected = [Some("zero and longer"), Some("1"), None, Some("three"), None];
        assert_eq!(texts, expected.map(|text| text.map(str::to_owned)));
    }

    #[test]
    fn places_are_found_again_beyond_what_memory_holds() {
        let mut spool = spool();
        let indexes: Vec<usize> = (0..9).map(|number| (number * 7 % 9) * BLOCK_PLACES + number).collect();
        for index in &indexes {
            spool.put(*index, index.to_string().as_bytes(), 1).unwrap();
        }
        let mut spooled = spool.read().unwrap();
        for index in &indexes {
            assert_eq!(text(&mut spooled, *index), Some((index.to_string(), 1)));
            assert_eq!(text(&mut spooled, index + 10), None);
        }
    }

    #[test]
    fn of_two_texts_for_a_place_the_higher_rank_stays_and_among_equals_the_last() {
        let mut spool = spool();
        for (word, rank) in [("a", 2), ("b", 1), ("c", 2), ("d", 0)] {
            spool.put(7, word.as_bytes(), rank).unwrap();
        }
        assert_eq!(text(&mut spool.read().unwrap(), 7), Some(("c".to_owned(), 2)));
    }
}
