//! What is left on a page of a table or index between its cells.
//!
//! With `secure_delete` SQLite overwrites what it deletes. But where it moves cells between pages to balance a tree, it lays the
//! cells of a page out anew and leaves what stood before them (`rebuildPage`): a copy of a row that lives on, on this page or
//! another, and that nothing overwrites when the row is deleted. This finds such bytes by the format of pages
//! (<https://www.sqlite.org/fileformat2.html#b_tree_pages>) and overwrites them.

/// From so many pages on, the number of a page may begin as the type of a tree's page does, so that a page of another kind may
/// look like one: 128 GiB of pages of 4 KiB.
pub(in crate::store) const PAGES_MAX: u32 = 0x0200_0000;

/// The first page begins with the header of the file.
const FILE_HEADER_BYTES: usize = 100;

/// The types of pages of a tree: within it, with the number of one more child, and leaves.
const INTERIORS: [u8; 2] = [2, 5];
const LEAVES: [u8; 2] = [10, 13];

/// Overwrites with zeros what no cell of this page holds, and says whether anything was there. A page that is no page of a tree, or is
/// not as it should be, stays as it is. `number` is that of the page, the first one 1.
pub(in crate::store) fn clear(page: &mut [u8], number: u32) -> bool {
    let parts = parts_without_cells(page, number).unwrap_or_default();
    let mut had_some = false;
    for (from, to) in parts {
        had_some |= page[from..to].iter().any(|byte| *byte != 0);
        page[from..to].fill(0);
    }
    had_some
}

/// Whether [`clear`] would change this page.
pub(in crate::store) fn has_some(page: &[u8], number: u32) -> bool {
    let parts = parts_without_cells(page, number).unwrap_or_default();
    parts.into_iter().any(|(from, to)| page[from..to].iter().any(|byte| *byte != 0))
}

/// The parts of a page that belong to no cell: between the array of its cells and the first of them, and the free blocks behind
/// their heads of four bytes. `None` where it is no page of a tree.
fn parts_without_cells(page: &[u8], number: u32) -> Option<Vec<(usize, usize)>> {
    let head = if number == 1 { FILE_HEADER_BYTES } else { 0 };
    let kind = *page.get(head)?;
    let head_bytes = match kind {
        _ if INTERIORS.contains(&kind) => 12,
        _ if LEAVES.contains(&kind) => 8,
        _ => return None,
    };
    let cells = two_bytes(page, head + 3)?;
    let array = head + head_bytes;
    let array_end = array + 2 * cells;
    // On a page of 64 KiB the end does not fit into two bytes.
    let content = match two_bytes(page, head + 5)? {
        0 => 1 << 16,
        content => content,
    };
    if content < array_end || content > page.len() {
        return None;
    }
    for cell in 0..cells {
        let place = two_bytes(page, array + 2 * cell)?;
        if place < content || place >= page.len() {
            return None;
        }
    }
    let mut parts = vec![(array_end, content)];
    let mut block = two_bytes(page, head + 1)?;
    let mut behind = content;
    while block != 0 {
        let (next, length) = (two_bytes(page, block)?, two_bytes(page, block + 2)?);
        // They stand in order, each at least as long as its head.
        if block < behind || length < 4 || block + length > page.len() {
            return None;
        }
        parts.push((block + 4, block + length));
        (block, behind) = (next, block + length);
    }
    Some(parts)
}

fn two_bytes(page: &[u8], at: usize) -> Option<usize> {
    let bytes = page.get(at..at + 2)?;
    Some(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    /// A leaf of 64 bytes with a cell of eight at its end, four bytes of another before it, and a free block.
    fn leaf() -> Vec<u8> {
        let mut page = vec![0; 64];
        page[..10].copy_from_slice(&[13, 0, 44, 0, 1, 0, 36, 0, 0, 56]);
        page[30..34].copy_from_slice(b"left");
        page[44..56].copy_from_slice(&[0, 0, 0, 12, b'f', b'r', b'e', b'e', 0, 0, 0, 0]);
        page[56..].copy_from_slice(b"the cell");
        page
    }

    #[test]
    fn what_no_cell_holds_is_overwritten_and_cells_stay() {
        let mut page = leaf();
        assert!(has_some(&page, 2));
        assert!(clear(&mut page, 2));
        let mut expected = leaf();
        expected[30..34].fill(0);
        expected[48..52].fill(0);
        assert_eq!(page, expected);
        assert!(!has_some(&page, 2) && !clear(&mut page, 2));
    }

    #[test]
    fn a_page_without_cells_is_overwritten_up_to_its_end() {
        let mut page = vec![0; 64];
        page[..8].copy_from_slice(&[13, 0, 0, 0, 0, 0, 64, 0]);
        page[60..].copy_from_slice(b"left");
        assert!(has_some(&page, 2) && clear(&mut page, 2));
        assert_eq!(page[8..], [0; 56]);
    }

    #[test]
    fn a_free_block_of_nothing_but_its_head_and_one_up_to_the_end_are_parts_like_others() {
        let with = |at: usize, bytes: &[u8]| {
            let mut page = leaf();
            page[30..34].fill(0);
            page[at..at + bytes.len()].copy_from_slice(bytes);
            parts_without_cells(&page, 2)
        };
        assert_eq!(with(46, &[0, 4]), Some(vec![(10, 36), (48, 48)]));
        assert_eq!(with(46, &[0, 20]), Some(vec![(10, 36), (48, 64)]));
        assert_eq!(with(46, &[0, 21]), None);
        assert_eq!(with(44, &[0, 55]), None, "the next block is in this one");
    }

    #[test]
    fn what_is_no_page_of_a_tree_stays() {
        let changes: [(usize, &[u8]); 9] = [
            (0, &[0]),
            (0, &[1]),
            (4, &[20]),
            (5, &[0, 9]),
            (5, &[0, 65]),
            (8, &[0, 20]),
            (8, &[0, 64]),
            (1, &[0, 20]),
            (47, &[3]),
        ];
        for (at, bytes) in changes {
            let mut page = leaf();
            page[at..at + bytes.len()].copy_from_slice(bytes);
            let before = page.clone();
            assert!(!has_some(&page, 2) && !clear(&mut page, 2), "{at}: {bytes:?}");
            assert_eq!(page, before, "{at}: {bytes:?}");
        }
        assert!(!clear(&mut [], 2) && !clear(&mut [13, 0], 2));
    }

    /// SQLite leaves copies here: without this test nobody would know when it no longer does.
    #[test]
    fn sqlite_leaves_copies_of_rows_between_the_cells_and_they_are_found() {
        let connection = Connection::open_in_memory().expect("a database");
        connection
            .execute_batch(
                "PRAGMA secure_delete = on; CREATE TABLE t (k BLOB PRIMARY KEY, b BLOB) WITHOUT ROWID",
            )
            .expect("a table");
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let mut keys = Vec::new();
        for round in 0..4_000i64 {
            let (key, length) = (random().to_be_bytes(), random().cast_signed() % 1_200);
            let insert = "INSERT INTO t VALUES (?, printf('mark%08d%*s', ?, ?, ''))";
            connection.execute(insert, (key, round, length)).expect("a row");
            keys.push(key);
            if round % 3 == 2 {
                let key = keys.swap_remove(usize::try_from(random()).expect("31 bits") % keys.len());
                connection.execute("DELETE FROM t WHERE k = ?", [key]).expect("a deletion");
            }
        }
        let read = "SELECT pgno, data FROM sqlite_dbpage";
        let mut pages = connection.prepare(read).expect("pages");
        let pages =
            pages.query_map([], |row| Ok((row.get::<_, u32>(0)?, row.get::<_, Vec<u8>>(1)?))).expect("pages");
        let pages: Vec<_> = pages.map(|page| page.expect("a page")).collect();
        let left: Vec<_> = pages.into_iter().filter(|(number, page)| has_some(page, *number)).collect();
        assert!(!left.is_empty(), "SQLite leaves nothing any more");
        for (number, mut page) in left {
            assert!(clear(&mut page, number));
            connection
                .execute("UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?", (page, number))
                .expect("a page");
        }
        let rows: i64 = connection
            .query_row("SELECT count(*) FROM t WHERE substr(b, 1, 4) = 'mark'", [], |row| row.get(0))
            .expect("rows");
        let check: String =
            connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a check");
        assert_eq!((rows, check.as_str()), (keys.len() as i64, "ok"));
    }
}
