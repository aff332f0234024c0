//! Texts that arrive in any order and are read in order. They are in nameless files, as are their places: memory holds 3 MiB of places and
//! a window of the texts, regardless of their number.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

/// Bytes of one write, and of one read if texts follow each other.
const BUFFER_BYTES: usize = 256 << 10;

/// Bytes of one read otherwise, because the next text is likely to be elsewhere.
const FAR_BYTES: usize = 4 << 10;

/// A stored place: the text's end, its length, and its rank.
const PLACE_BYTES: usize = 24;

/// Places that are read and written together.
const BLOCK_PLACES: usize = 4_096;

/// Blocks in memory: 131,072 places, enough for a whole batch whose records arrive in any order.
const BLOCKS_HELD: usize = 32;

/// Texts being written.
pub(crate) struct Spool {
    out: BufWriter<File>,
    end: u64,
    places: Places,
}

/// Texts being read, in order.
pub(crate) struct Spooled {
    texts: Window,
    places: Places,
}

/// The position of a text. No text ends at 0, because none is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    end: u64,
    bytes: u64,
    rank: u64,
}

impl Spool {
    /// Begins empty, in two files without other users.
    pub(crate) fn new(texts: File, places: File) -> Self {
        let out = BufWriter::with_capacity(BUFFER_BYTES, texts);
        Self { out, end: 0, places: Places::new(places) }
    }

    /// Stores the text of this place, which must not be empty, unless there is one of a higher rank.
    pub(crate) fn put(&mut self, index: usize, text: &[u8], rank: u64) -> io::Result<()> {
        if self.places.get(index)?.is_some_and(|there| there.rank > rank) {
            return Ok(());
        }
        self.out.write_all(text)?;
        let bytes = text.len() as u64;
        self.end += bytes;
        self.places.set(index, Place { end: self.end, bytes, rank })
    }

    pub(crate) fn read(self) -> io::Result<Spooled> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Spooled { texts: Window::new(file), places: self.places })
    }
}

impl Spooled {
    /// The text of a place and its rank; fastest in order.
    pub(crate) fn get(&mut self, index: usize) -> io::Result<Option<(&[u8], u64)>> {
        let Some(Place { end, bytes, rank }) = self.places.get(index)? else { return Ok(None) };
        let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
        Ok(Some((self.texts.read(end - bytes as u64, bytes)?, rank)))
    }
}

/// A window of the texts.
struct Window {
    file: File,
    /// Its offset in the file.
    begins: u64,
    piece: Vec<u8>,
    /// The length of the last read, which grows while texts follow each other.
    ahead: usize,
}

impl Window {
    const fn new(file: File) -> Self {
        Self { file, begins: 0, piece: Vec::new(), ahead: BUFFER_BYTES / 2 }
    }

    /// The text at this offset, which is completely in the file.
    fn read(&mut self, at: u64, bytes: usize) -> io::Result<&[u8]> {
        let held = self.begins..=self.begins + self.piece.len() as u64;
        if !(held.contains(&at) && held.contains(&(at + bytes as u64))) {
            // A text that begins in the window, or directly after it, is the next one.
            self.ahead = if held.contains(&at) { (self.ahead * 2).min(BUFFER_BYTES) } else { FAR_BYTES };
            self.file.seek(SeekFrom::Start(at))?;
            self.begins = at;
            self.piece.clear();
            (&mut self.file).take(self.ahead.max(bytes) as u64).read_to_end(&mut self.piece)?;
        }
        let from = usize::try_from(at - self.begins).map_err(io::Error::other)?;
        self.piece.get(from..from + bytes).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// The places in their file, with some blocks in memory.
struct Places {
    file: File,
    /// Each block's slot follows from its number, so that consecutive blocks never share a slot.
    slots: Vec<Option<Block>>,
}

struct Block {
    number: usize,
    places: Vec<u8>,
    is_changed: bool,
}

impl Places {
    fn new(file: File) -> Self {
        Self { file, slots: std::iter::repeat_with(|| None).take(BLOCKS_HELD).collect() }
    }

    fn get(&mut self, index: usize) -> io::Result<Option<Place>> {
        let (block, at) = self.block_of(index)?;
        let place = &block.places[at..at + PLACE_BYTES];
        let number =
            |at: usize| place[at..].first_chunk().map_or(0, |bytes: &[u8; 8]| u64::from_le_bytes(*bytes));
        let place = Place { end: number(0), bytes: number(8), rank: number(16) };
        Ok((place.end > 0).then_some(place))
    }

    fn set(&mut self, index: usize, place: Place) -> io::Result<()> {
        let Place { end, bytes, rank } = place;
        let numbers = [end, bytes, rank].into_iter().flat_map(u64::to_le_bytes);
        let (block, at) = self.block_of(index)?;
        block.places[at..at + PLACE_BYTES].iter_mut().zip(numbers).for_each(|(byte, of)| *byte = of);
        block.is_changed = true;
        Ok(())
    }

    /// The block of a place, and the place's index in it.
    fn block_of(&mut self, index: usize) -> io::Result<(&mut Block, usize)> {
        let (number, at) = (index / BLOCK_PLACES, index % BLOCK_PLACES * PLACE_BYTES);
        let slot = &mut self.slots[number % BLOCKS_HELD];
        let held = match slot.take() {
            Some(block) if block.number == number => block,
            Some(mut other) => {
                other.turn_to(number, &mut self.file)?;
                other
            }
            None => Block::read(number, &mut self.file)?,
        };
        Ok((slot.insert(held), at))
    }
}

impl Block {
    fn read(number: usize, file: &mut File) -> io::Result<Self> {
        let mut block =
            Self { number, places: Vec::with_capacity(BLOCK_PLACES * PLACE_BYTES), is_changed: false };
        block.turn_to(number, file)?;
        Ok(block)
    }

    fn turn_to(&mut self, number: usize, file: &mut File) -> io::Result<()> {
        let bytes = BLOCK_PLACES * PLACE_BYTES;
        let begins = |number: usize| SeekFrom::Start(number as u64 * bytes as u64);
        if self.is_changed {
            file.seek(begins(self.number))?;
            file.write_all(&self.places)?;
            self.is_changed = false;
        }
        file.seek(begins(number))?;
        self.number = number;
        self.places.clear();
        file.take(bytes as u64).read_to_end(&mut self.places)?;
        // After the end of the file there are no places yet.
        self.places.resize(bytes, 0);
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
        let held = BLOCKS_HELD * BLOCK_PLACES;
        let indexes: Vec<usize> = (0..9).map(|number| (number * 7 % 9) * held + number).collect();
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
    fn texts_of_any_length_are_read_near_and_far() {
        let mut spool = spool();
        let text_of = |index: usize| "ab".repeat(1 + index * 7_919 % 60_000);
        let places: Vec<usize> = (0..97).chain((97..200).rev()).collect();
        for index in &places {
            spool.put(*index, text_of(*index).as_bytes(), 0).unwrap();
        }
        let mut spooled = spool.read().unwrap();
        for index in (0..200).chain((0..200).map(|number| number * 83 % 200)) {
            assert!(text(&mut spooled, index) == Some((text_of(index), 0)), "{index}");
        }
        assert!(spooled.texts.piece.capacity() <= 2 * BUFFER_BYTES, "{}", spooled.texts.piece.capacity());
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
