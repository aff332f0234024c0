//! `overnight top`: the whole service in a terminal, updated continuously.

mod drawing;
mod grids;
mod json;
mod screen;
mod texts;
mod view;

use std::io::{IsTerminal, stdin, stdout};

use clap::Args;
use overnight_app::Services;
use overnight_app::snapshot;
use overnight_config::{Config, Database, Millis};
use ratatui::crossterm::event::Event;
use tokio::sync::mpsc::UnboundedReceiver;

use self::screen::Screen;
use self::view::{Next, View};
use super::operator;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::times;

/// The interval of snapshots is at least this multiple of their duration, to limit the load on the database.
const RARELY: i64 = 20;

#[derive(Debug, Args)]
#[command(after_help = "\
It reads the store of the settings, beside a running service, so it works where the operator's other commands do: on the machine of
the data folder, also over ssh, and on any that reaches the PostgreSQL.

Keys: q ends it; Tab chooses a table, the arrows scroll it, s sorts it; Space looks again at once.")]
pub(crate) struct Arguments {
    /// Print one picture as text, and end.
    #[arg(long)]
    once: bool,
    /// How often it looks; more rarely where a look takes long.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = every)]
    every: Millis,
}

fn every(text: &str) -> Result<Millis, String> {
    let every: Millis = text.parse()?;
    if every.0 < 200 { Err("at least 200ms".to_owned()) } else { Ok(every) }
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let is_once = arguments.once || output.is_json;
    let has_terminal = stdin().is_terminal() && stdout().is_terminal();
    if !is_once && !has_terminal {
        return Err(CliError::unusable("there is no terminal to draw on")
            .with_hint("`overnight top --once` prints one picture as text"));
    }
    let services = operator::open_to_read(globals).await?;
    let place = place(&services.config());
    if is_once {
        let taken = snapshot::take(&services).await?;
        if output.is_json {
            output.object(&json::of(&taken))?;
        } else {
            output.line(&drawing::as_text(&taken, place))?;
        }
        return Ok(Exit::Done);
    }
    live(&services, View::new(place, output.is_coloured()), arguments.every).await
}

/// The name of the service, without its database's password.
fn place(config: &Config) -> String {
    match &config.database {
        Database::Sqlite => config.data_dir.display().to_string(),
        Database::Postgres(url) => url.to_string(),
    }
}

async fn live(services: &Services, mut view: View, every: Millis) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen()?;
    let mut screen = Screen::open().map_err(|error| CliError::stdout(&error))?;
    let mut events = screen::events();
    loop {
        let begun = times::now();
        let taken = tokio::select! {
            () = interrupt.raised() => return Ok(Exit::Interrupted),
            taken = snapshot::take(services) => taken,
        };
        let took_ms = times::now().saturating_sub(begun);
        view.take_in(taken.map_err(|error| error.to_string()));
        let until = begun.saturating_add(every.0.max(took_ms.saturating_mul(RARELY)));
        let ended = tokio::select! {
            () = interrupt.raised() => Some(Exit::Interrupted),
            ended = wait(&mut screen, &mut view, &mut events, until) => ended?,
        };
        if let Some(exit) = ended {
            return Ok(exit);
        }
    }
}

/// Draws and handles keys until the next snapshot is due. Returns the exit code if the user ends it.
async fn wait(
    screen: &mut Screen,
    view: &mut View,
    events: &mut UnboundedReceiver<Event>,
    until: i64,
) -> Result<Option<Exit>, CliError> {
    loop {
        screen.draw(view).map_err(|error| CliError::stdout(&error))?;
        let event = tokio::select! {
            () = times::pause(until.saturating_sub(times::now())) => return Ok(None),
            event = events.recv() => event,
        };
        match event.map_or(Next::Quit, |event| view.answer(&event)) {
            Next::Draw => {}
            Next::Look => return Ok(None),
            Next::Quit => return Ok(Some(Exit::Done)),
            Next::Interrupt => return Ok(Some(Exit::Interrupted)),
        }
    }
}
