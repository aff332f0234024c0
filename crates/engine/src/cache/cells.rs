//! The cells of the key-value cache: which are free, and how many sequences share each.

/// Counts the sequences that hold each cell, and the running ones among them.
#[derive(Debug)]
pub(super) struct Cells {
    holders: Vec<u16>,
    runners: Vec<u16>,
    free: Vec<usize>,
    busy_count: usize,
}

impl Cells {
    #[must_use]
    pub(super) fn new(total: usize) -> Self {
        Self {
            holders: vec![0; total],
            runners: vec![0; total],
            free: (0..total).rev().collect(),
            busy_count: 0,
        }
    }

    #[must_use]
    pub(super) fn total(&self) -> usize {
        self.holders.len()
    }

    /// Cells of running sequences; all others are free or can be freed.
    #[must_use]
    pub(super) fn busy_count(&self) -> usize {
        self.busy_count
    }

    #[must_use]
    pub(super) fn free_count(&self) -> usize {
        self.free.len()
    }

    /// Takes a free cell for a running sequence; `None` if there is none.
    pub(super) fn take(&mut self) -> Option<usize> {
        let cell = self.free.pop()?;
        self.share(cell);
        Some(cell)
    }

    /// Another running sequence holds the cell.
    pub(super) fn share(&mut self, cell: usize) {
        self.holders[cell] += 1;
        self.runners[cell] += 1;
        self.busy_count += usize::from(self.runners[cell] == 1);
    }

    /// A sequence that holds the cell stops running.
    pub(super) fn rest(&mut self, cell: usize) {
        self.runners[cell] -= 1;
        self.busy_count -= usize::from(self.runners[cell] == 0);
    }

    /// Releases a cell of a sequence that does not run; the cell is free once no sequence holds it.
    pub(super) fn give_back(&mut self, cell: usize) {
        self.holders[cell] -= 1;
        if self.holders[cell] == 0 {
            self.free.push(cell);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cells;

    #[test]
    fn a_shared_cell_is_free_after_its_last_holder_left() {
        let mut cells = Cells::new(2);
        let cell = cells.take().expect("a free cell");
        cells.share(cell);
        cells.rest(cell);
        cells.give_back(cell);
        assert_eq!((cells.free_count(), cells.busy_count()), (1, 1));
        cells.rest(cell);
        assert_eq!((cells.free_count(), cells.busy_count()), (1, 0));
        cells.give_back(cell);
        assert_eq!(cells.free_count(), 2);
    }

    #[test]
    fn no_cell_is_taken_beyond_the_total() {
        let mut cells = Cells::new(1);
        assert!(cells.take().is_some());
        assert!(cells.take().is_none());
    }
}
