//! Takes over the whole terminal, and restores it however the command ends.

use std::io::{self, Stdout, stdout};
use std::panic;
use std::sync::Arc;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::drawing;
use super::view::View;

/// Dropping it restores the terminal.
pub(super) struct Screen(Terminal<CrosstermBackend<Stdout>>);

impl Screen {
    /// Takes over the terminal. A panic restores it before its message.
    pub(super) fn open() -> io::Result<Self> {
        let told = Arc::new(panic::take_hook());
        panic::set_hook(Box::new(move |panic| {
            give_back();
            told(panic);
        }));
        enable_raw_mode()?;
        let opened = execute!(stdout(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        // After a partial failure, there is no value to drop.
        opened.map(Self).inspect_err(|_| give_back())
    }

    /// Draws the whole screen, also after a change of the terminal's size.
    pub(super) fn draw(&mut self, view: &mut View) -> io::Result<()> {
        self.0.draw(|frame| drawing::draw(frame, view)).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// A failure cannot be reported: the terminal is gone.
fn give_back() {
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
}

/// Keys, and changes of the terminal's size. The stream ends when the terminal is gone.
pub(super) fn events() -> UnboundedReceiver<Event> {
    let (tell, told) = unbounded_channel();
    // The thread blocks in a call until the process ends.
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if tell.send(event).is_err() {
                return;
            }
        }
    });
    told
}
