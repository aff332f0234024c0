//! The view of the last snapshot: the selected table, scrolling and sorting.

use overnight_app::snapshot::Snapshot;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

pub(super) const TABLES: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Draw,
    Look,
    Quit,
    Interrupt,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// Rows above the visible ones.
    pub(super) scrolled: usize,
    /// Whether it is sorted by name instead of by quantity.
    pub(super) by_name: bool,
}

#[derive(Debug)]
pub(super) struct View {
    pub(super) place: String,
    pub(super) is_coloured: bool,
    /// `None` before the first snapshot.
    pub(super) snapshot: Option<Snapshot>,
    pub(super) failure: Option<String>,
    pub(super) chosen: usize,
    pub(super) tables: [Shown; TABLES],
}

impl View {
    pub(super) fn new(place: String, is_coloured: bool) -> Self {
        Self { place, is_coloured, snapshot: None, failure: None, chosen: 0, tables: Default::default() }
    }

    /// Takes a new snapshot. After a failure, the previous one stays.
    pub(super) fn take_in(&mut self, taken: Result<Snapshot, String>) {
        match taken {
            Ok(snapshot) => (self.snapshot, self.failure) = (Some(snapshot), None),
            Err(failure) => self.failure = Some(failure),
        }
    }

    pub(super) fn answer(&mut self, event: &Event) -> Next {
        let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return Next::Draw };
        if *kind == KeyEventKind::Release {
            return Next::Draw;
        }
        let chosen = &mut self.tables[self.chosen];
        match code {
            KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => return Next::Interrupt,
            KeyCode::Char('q') | KeyCode::Esc => return Next::Quit,
            KeyCode::Char(' ') => return Next::Look,
            KeyCode::Char('s') => chosen.by_name = !chosen.by_name,
            // Drawing limits the position.
            KeyCode::Down | KeyCode::Char('j') => chosen.scrolled += 1,
            KeyCode::Up | KeyCode::Char('k') => chosen.scrolled = chosen.scrolled.saturating_sub(1),
            KeyCode::Home => chosen.scrolled = 0,
            KeyCode::Tab => self.chosen = (self.chosen + 1) % TABLES,
            KeyCode::BackTab => self.chosen = (self.chosen + TABLES - 1) % TABLES,
            _ => {}
        }
        Next::Draw
    }
}
