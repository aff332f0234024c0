//! Texts that come in any order and are passed on in theirs. They are in nameless files, and so is where each one stands: memory holds
//! 3 MiB of places and a piece of the texts, however many there are.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

/// What is written at once, and read at once where texts follow each other.
const BUFFER_BYTES: usize = 256 << 10;

/// What is read at once where they do not. The next text is likely to be elsewhere.
const FAR_BYTES: usize = 4 << 10;

/// A place as it is kept: where the text ends, how long it is, and its rank.
const PLACE_BYTES: usize = 24;

/// Places that are read and written at once.
const BLOCK_PLACES: usize = 4_096;

/// Blocks that memory holds: 131,072 places, so that those of a whole batch stay where its records come in any order.
const BLOCKS_HELD: usize = 32;

/// Texts on their way in.
pub(crate) struct Spool {
    out: BufWriter<File>,
    end: u64,
    places: Places,
}

/// Texts on their way out, in their order.
pub(crate) struct Spooled {
    texts: Window,
    places: Places,
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

/// A piece of the texts.
struct Window {
    file: File,
    /// Where the piece begins in the file.
    begins: u64,
    piece: Vec<u8>,
    /// How much was read last time: more and more while texts follow each other.
    ahead: usize,
}

impl Window {
    const fn new(file: File) -> Self {
        Self { file, begins: 0, piece: Vec::new(), ahead: BUFFER_BYTES / 2 }
    }

    /// The text that stands there, which is in the file as a whole.
    fn read(&mut self, at: u64, bytes: usize) -> io::Result<&[u8]> {
        let held = self.begins..=self.begins + self.piece.len() as u64;
        if !(held.contains(&at) && held.contains(&(at + bytes as u64))) {
            // A text that begins in the piece, or right behind it, is the next one.
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

/// The places in their file, of which memory holds some blocks.
struct Places {
    file: File,
    /// Each block in the slot that its number leads to, so that blocks behind each other never take each other's.
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

    /// The block of a place, and where in it the place stands.
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
        // Behind the end of the file there is nothing yet.
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
