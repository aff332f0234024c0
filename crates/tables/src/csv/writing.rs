//! Records on their way into a CSV file.

use std::io::{self, Write};

use super::parts::Part;

/// Writes a record; what needs quotes gets them.
pub(crate) fn write_record<'a>(
    out: &mut impl Write,
    part: Part,
    fields: impl IntoIterator<Item = &'a str>,
) -> io::Result<()> {
    let mut count = 0;
    let mut is_blank = false;
    for field in fields {
        if count > 0 {
            out.write_all(&[part.byte()])?;
        }
        is_blank = count == 0 && field.is_empty();
        count += 1;
        if field.contains([char::from(part.byte()), '"', '\n', '\r']) {
            write!(out, "\"{}\"", field.replace('"', "\"\""))?;
        } else {
            out.write_all(field.as_bytes())?;
        }
    }
    // A blank line would be no record.
    out.write_all(if is_blank && count == 1 { b"\"\"\n" } else { b"\n" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::CsvReader;

    #[test]
    fn what_is_written_is_read_again() {
        let records = [vec!["a", "b, \"c\"", "d\r\ne\n"], vec!["", "", ""], vec![" x\t", "ü", "'"]];
        for part in [Part::Comma, Part::Tab] {
            let mut text = Vec::new();
            for record in &records {
                write_record(&mut text, part, record.iter().copied()).unwrap();
            }
            write_record(&mut text, part, [""]).unwrap();
            let mut reader = CsvReader::new(Box::new(io::Cursor::new(text)), part);
            let mut fields = Vec::new();
            for record in &records {
                assert!(reader.read(&mut fields).unwrap().is_some());
                assert_eq!(&fields, record);
            }
            assert!(reader.read(&mut fields).unwrap().is_some());
            assert_eq!(fields, [""]);
            assert!(reader.read(&mut fields).unwrap().is_none());
        }
    }
}
