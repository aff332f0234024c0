//! Counts in the pages of a Parquet file that the library takes for granted: a few bytes may claim billions of values.

use parquet::basic::Encoding;
use parquet::errors::{ParquetError, Result};

/// Counts the values of rows by repetition levels, of which 0 begins a row.
pub(super) struct RowValues {
    bits: u32,
    /// The number of the current row in its file, from 0 before the first.
    pub(super) row: u64,
    values: usize,
    /// The maximum number of values of a row in the current page.
    pub(super) most: usize,
}

impl RowValues {
    /// Of a column with this highest repetition level, behind so many rows.
    pub(super) fn new(highest: i16, rows: u64) -> Self {
        Self { bits: i16::BITS - highest.leading_zeros(), row: rows, values: 0, most: 0 }
    }

    /// Reads `left` levels of a page, in runs of equal ones and of packed ones. Returns `false` at a row of more than `max` values.
    pub(super) fn count(&mut self, mut levels: &[u8], mut left: usize, max: usize) -> Result<bool> {
        self.most = 0;
        while left > 0 {
            let head = number(&mut levels)?;
            let length = usize::try_from(head >> 1).map_err(|_| broken())?;
            if head & 1 == 0 {
                let run = length.min(left);
                let level = take(&mut levels, self.bits.div_ceil(8) as usize)?;
                if level.iter().any(|byte| *byte != 0) {
                    self.values = self.values.saturating_add(run);
                } else if run > 0 {
                    self.row += run as u64;
                    self.values = 1;
                }
                left -= run;
            } else {
                // The padding of the last run may be missing.
                let bytes = length.saturating_mul(self.bits as usize).min(levels.len());
                let packed = take(&mut levels, bytes)?;
                let run = (bytes * 8 / self.bits as usize).min(left);
                for place in 0..run {
                    let first_bit = place * self.bits as usize;
                    let bits = first_bit..first_bit + self.bits as usize;
                    let is_zero = bits.into_iter().all(|bit| packed[bit / 8] >> (bit % 8) & 1 == 0);
                    self.row += u64::from(is_zero);
                    self.values = if is_zero { 1 } else { self.values + 1 };
                    self.most = self.most.max(self.values);
                }
                if run == 0 {
                    return Err(broken());
                }
                left -= run;
            }
            self.most = self.most.max(self.values);
            if self.most > max {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Checks that the lengths in a page's values are as many as its values at most: memory for all of them is taken.
pub(super) fn check_lengths(mut values: &[u8], encoding: Encoding, max: usize) -> Result<()> {
    let streams = match encoding {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => 0,
    };
    for _ in 0..streams {
        skip_deltas(&mut values, max as u64)?;
    }
    Ok(())
}

/// Skips numbers in the encoding `DELTA_BINARY_PACKED`.
fn skip_deltas(data: &mut &[u8], max: u64) -> Result<()> {
    let (block, parts, total) = (number(data)?, number(data)?, number(data)?);
    let _first = number(data)?;
    if total > max || parts == 0 {
        return Err(broken());
    }
    let mut left = total.saturating_sub(1);
    while left > 0 {
        let _least = number(data)?;
        let widths = take(data, usize::try_from(parts).map_err(|_| broken())?)?;
        if block < parts {
            return Err(broken());
        }
        for width in widths {
            let bytes = (block / parts).saturating_mul(u64::from(*width)) / 8;
            take(data, usize::try_from(bytes).map_err(|_| broken())?)?;
            left = left.saturating_sub(block / parts);
            if left == 0 {
                break;
            }
        }
    }
    Ok(())
}

/// A number in groups of seven bits.
fn number(data: &mut &[u8]) -> Result<u64> {
    let mut read = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(data, 1)?[0];
        read |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(read);
        }
    }
    Err(broken())
}

pub(super) fn take<'a>(data: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    let (taken, rest) = data.split_at_checked(length).ok_or_else(broken)?;
    *data = rest;
    Ok(taken)
}

pub(super) fn broken() -> ParquetError {
    ParquetError::General("its pages are broken".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_over_pages_in_both_kinds_of_runs() {
        let mut rows = RowValues::new(1, 7);
        // A row of five values: 0, then four times 1.
        assert!(rows.count(&[2, 0, 8, 1], 5, 5).unwrap());
        assert_eq!((rows.row, rows.values), (8, 5));
        // It ends in the next page, in a packed run: 1 1 0 1 0 0 0 0.
        assert!(rows.count(&[3, 0b0000_1011], 8, 7).unwrap());
        assert_eq!((rows.row, rows.values), (13, 1));
        assert!(!rows.count(&[3, 0b0111_1111], 8, 7).unwrap());
        // Millions in six bytes.
        let mut rows = RowValues::new(3, 0);
        assert!(!rows.count(&[2, 0, 0x80, 0x84, 0xaf, 0x5f, 3], 100_000_000, 1 << 20).unwrap());
        assert_eq!(rows.row, 1);
        for cut in [&[][..], &[8], &[3], &[0xff; 11]] {
            assert!(RowValues::new(1, 0).count(cut, 9, 9).is_err(), "{cut:?}");
        }
    }

    #[test]
    fn lengths_beyond_the_values_of_a_page_are_refused() {
        // 128 in a block of 4 parts; 3 lengths, of which two are in a part of 2 bits each.
        let stream = [128, 1, 4, 3, 0, 0, 2, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        let twice = [stream, stream].concat();
        check_lengths(&stream, Encoding::DELTA_LENGTH_BYTE_ARRAY, 3).unwrap();
        check_lengths(&twice, Encoding::DELTA_BYTE_ARRAY, 3).unwrap();
        check_lengths(&[], Encoding::PLAIN, 3).unwrap();
        for (values, encoding, max) in [
            (&stream[..], Encoding::DELTA_LENGTH_BYTE_ARRAY, 2),
            (&stream, Encoding::DELTA_BYTE_ARRAY, 3),
            (&twice[..20], Encoding::DELTA_BYTE_ARRAY, 3),
        ] {
            assert!(check_lengths(values, encoding, max).is_err());
        }
    }
}
