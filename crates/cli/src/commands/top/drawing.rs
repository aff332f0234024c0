//! The layout of the screen.

use overnight_app::snapshot::Snapshot;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table};
use ratatui::{Frame, Terminal};

use super::grids::{self, Column, Grid};
use super::texts::clean;
use super::view::{TABLES, View};
use crate::output::Tone;
use crate::times;

const KEYS: &str = "q quit   Tab next table   \u{2191}\u{2193} scroll   s sort   Space look again";
/// Rows above and below the tables.
const ABOVE: u16 = 5;
const BELOW: u16 = 1;
const WIDTH: u16 = 110;

pub(super) fn draw(frame: &mut Frame<'_>, view: &mut View) {
    let [above, tables, below] =
        Layout::vertical([Constraint::Length(ABOVE), Constraint::Min(0), Constraint::Length(BELOW)])
            .areas(frame.area());
    let Some(snapshot) = &view.snapshot else {
        let words = view.failure.as_deref().map_or_else(|| "looking".to_owned(), clean);
        return frame.render_widget(Paragraph::new(words), frame.area());
    };
    let seen = times::utc(snapshot.at / 1_000);
    let title = Line::styled(format!("overnight {}   {seen}", clean(&view.place)), bold());
    let lines = std::iter::once(title).chain(grids::summary(snapshot).into_iter().map(Line::raw));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), above);
    let grids = grids::of(snapshot, &view.tables);
    draw_tables(frame, tables, view, &grids);
    let (words, style) = match &view.failure {
        Some(failure) => (
            format!("the store cannot be read: {}", clean(failure)),
            toned(Some(Tone::Bad), view.is_coloured),
        ),
        None => (KEYS.to_owned(), Style::new().add_modifier(Modifier::DIM)),
    };
    frame.render_widget(Paragraph::new(words).style(style), below);
}

/// Draws the tables, and limits scrolling to the last row.
fn draw_tables(frame: &mut Frame<'_>, area: Rect, view: &mut View, grids: &[Grid; TABLES]) {
    let heights = heights(grids.each_ref().map(|grid| grid.rows.len()), area.height);
    let mut top = area.y;
    for (place, (grid, height)) in grids.iter().zip(heights).enumerate() {
        let area = Rect { y: top, height, ..area };
        top += height;
        if height > 0 {
            // The empty line after a table is dropped first.
            let room = usize::from(height - 1);
            let scrolled = &mut view.tables[place].scrolled;
            *scrolled = (*scrolled).min(grid.rows.len().saturating_sub(room));
            frame.render_widget(table(grid, room, view, place), area);
        }
    }
}

/// The height of each table: a line of titles, its rows, and an empty line. If there is too little room, tables get rows in turn.
fn heights(rows: [usize; TABLES], available: u16) -> [u16; TABLES] {
    let wanted = rows.map(|rows| u16::try_from(rows.max(1) + 2).unwrap_or(u16::MAX));
    let (mut heights, mut left) = ([0; TABLES], available);
    // A table without room for its titles and a row is left out.
    for (height, wanted) in heights.iter_mut().zip(wanted) {
        if left >= 2 {
            *height = wanted.min(2);
            left -= *height;
        }
    }
    while left > 0 {
        let before = left;
        for (height, wanted) in heights.iter_mut().zip(wanted) {
            if left > 0 && *height > 0 && *height < wanted {
                *height += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    heights
}

fn table<'a>(grid: &'a Grid, room: usize, view: &View, place: usize) -> Table<'a> {
    let scrolled = view.tables[place].scrolled;
    let rows = grid.rows.iter().skip(scrolled).take(room).map(|line| {
        let cells =
            line.cells.iter().zip(grid.columns).map(|(text, column)| cell(text.as_str(), column.is_figure));
        Row::new(cells).style(toned(line.tone, view.is_coloured))
    });
    let mut rows: Vec<Row<'_>> = rows.collect();
    if grid.rows.is_empty() {
        rows.push(Row::new([Cell::new(grid.nothing)]).style(Style::new().add_modifier(Modifier::DIM)));
    }
    let is_cut = grid.rows.len() > room;
    let titles = grid.columns.iter().enumerate().map(|(number, Column { title, is_figure, .. })| {
        let range = format!("{title} {}-{} of {}", scrolled + 1, scrolled + room, grid.rows.len());
        cell(if number == 0 && is_cut { range } else { (*title).to_owned() }, *is_figure)
    });
    let chosen = if place == view.chosen { Modifier::REVERSED } else { Modifier::UNDERLINED };
    let widths = grid.columns.iter().map(|column| match column.width {
        0 => Constraint::Fill(1),
        width => Constraint::Length(width),
    });
    Table::new(rows, widths).column_spacing(2).header(Row::new(titles).style(bold().add_modifier(chosen)))
}

fn cell<'a>(text: impl Into<Text<'a>>, is_figure: bool) -> Cell<'a> {
    let alignment = if is_figure { Alignment::Right } else { Alignment::Left };
    Cell::new(text.into().alignment(alignment))
}

const fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// The style of a row; without colours, faults are bold.
fn toned(tone: Option<Tone>, is_coloured: bool) -> Style {
    match (tone, is_coloured) {
        (Some(Tone::Good), true) => Style::new().fg(Color::Green),
        (Some(Tone::Doubtful), true) => Style::new().fg(Color::Yellow),
        (Some(Tone::Bad), true) => Style::new().fg(Color::Red),
        (Some(Tone::Bad), false) => bold(),
        _ => Style::new(),
    }
}

/// The same as plain text, with all rows.
pub(super) fn as_text(snapshot: &Snapshot, place: String) -> String {
    let mut view = View::new(place, false);
    let rows = grids::of(snapshot, &view.tables).iter().map(|grid| grid.rows.len().max(1) + 2).sum::<usize>();
    view.take_in(Ok(snapshot.clone()));
    let height = u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(ABOVE + BELOW);
    let lines = lines(&picture(&mut view, WIDTH, height));
    // The last line lists keys.
    lines[..lines.len() - usize::from(BELOW)].join("\n").trim_end().to_owned()
}

fn picture(view: &mut View, width: u16, height: u16) -> Buffer {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let Ok(_) = terminal.draw(|frame| draw(frame, view));
    terminal.backend().buffer().clone()
}

/// The lines of a picture, without trailing blanks.
fn lines(picture: &Buffer) -> Vec<String> {
    let rows = picture.content.chunks(usize::from(picture.area.width.max(1)));
    let line = |row: &[ratatui::buffer::Cell]| {
        let mut text = String::new();
        let mut covered = 0;
        for cell in row {
            // A wide character covers the following cells.
            if covered > 0 {
                covered -= 1;
                continue;
            }
            covered = console::measure_text_width(cell.symbol()).saturating_sub(1);
            text.push_str(cell.symbol());
        }
        text.trim_end().to_owned()
    };
    rows.map(line).collect()
}

#[cfg(test)]
mod tests;
