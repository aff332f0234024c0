//! The terminal: taken over as a whole, and given back as it was, whatever ends the command.

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

/// The terminal. Dropped, it is as it was before.
pub(super) struct Screen(Terminal<CrosstermBackend<Stdout>>);

impl Screen {
    /// Takes the terminal over. A panic is told on the terminal as it was before.
    pub(super) fn open() -> io::Result<Self> {
        let told = Arc::new(panic::take_hook());
        panic::set_hook(Box::new(move |panic| {
            give_back();
            told(panic);
        }));
        enable_raw_mode()?;
        let opened = execute!(stdout(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        // Where it fails halfway, nothing is left to be dropped.
        opened.map(Self).inspect_err(|_| give_back())
    }

    /// Draws all of it; on a terminal of another size than before too.
    pub(super) fn draw(&mut self, view: &mut View) -> io::Result<()> {
        self.0.draw(|frame| drawing::draw(frame, view)).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Nobody can be told where that fails: the terminal is gone.
fn give_back() {
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
}

/// Keys, and other sizes of the terminal. They end when the terminal is gone.
pub(super) fn events() -> UnboundedReceiver<Event> {
    let (tell, told) = unbounded_channel();
    // It waits in a call that nothing ends but the end of the process.
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if tell.send(event).is_err() {
                return;
            }
        }
    });
    told
}
