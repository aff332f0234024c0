//! What is shown of the last snapshot: which table is chosen, how far each is scrolled, and how it is sorted.

use overnight_server::app::snapshot::Snapshot;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// The tables, in the order in which they stand.
pub(super) const TABLES: usize = 4;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Draw,
    Look,
    Quit,
    Interrupt,
}

/// How one table is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// How many rows are above.
    pub(super) scrolled: usize,
    /// Whether it is sorted by name, and not by what there is most of.
    pub(super) by_name: bool,
}

/// What is shown, and how.
#[derive(Debug)]
pub(super) struct View {
    /// Which service.
    pub(super) place: String,
    pub(super) is_coloured: bool,
    /// `None` until the first look has come back.
    pub(super) snapshot: Option<Snapshot>,
    /// Why the last look brought nothing.
    pub(super) failure: Option<String>,
    /// The table that keys scroll and sort.
    pub(super) chosen: usize,
    pub(super) tables: [Shown; TABLES],
}

impl View {
    /// Nothing is known yet.
    pub(super) fn new(place: String, is_coloured: bool) -> Self {
        Self { place, is_coloured, snapshot: None, failure: None, chosen: 0, tables: Default::default() }
    }

    /// What a look came to. Where it failed, what was known before stays.
    pub(super) fn take_in(&mut self, taken: Result<Snapshot, String>) {
        match taken {
            Ok(snapshot) => (self.snapshot, self.failure) = (Some(snapshot), None),
            Err(failure) => self.failure = Some(failure),
        }
    }

    /// Does what a key says.
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
            // How far it can be scrolled is known where it is drawn.
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
