//! The tables and their cells.

use overnight_app::engines::{EngineReport, EngineState};
use overnight_app::snapshot::{AccountLine, ModelLine, Snapshot};
use overnight_domain::records::FailedAttempt;
use overnight_store::DiskSpace;

use super::texts::{ahead, clean, count, credits, minute, span};
use super::view::{Shown, TABLES};
use crate::output::Tone;
use crate::times;

/// A table before it is drawn. Its first columns take the remaining width.
pub(super) struct Grid {
    pub(super) columns: &'static [Column],
    pub(super) rows: Vec<Line>,
    /// The text of an empty table.
    pub(super) nothing: &'static str,
}

pub(super) struct Column {
    pub(super) title: &'static str,
    /// 0 for a column that takes the remaining width.
    pub(super) width: u16,
    pub(super) is_figure: bool,
}

const fn text(title: &'static str, width: u16) -> Column {
    Column { title, width, is_figure: false }
}

const fn figure(title: &'static str, width: u16) -> Column {
    Column { title, width, is_figure: true }
}

pub(super) struct Line {
    pub(super) cells: Vec<String>,
    pub(super) tone: Option<Tone>,
}

const ENGINES: &[Column] = &[
    text("ENGINE", 0),
    text("STATE", 0),
    figure("IN FLIGHT", 9),
    figure("TOKENS/S", 8),
    figure("CACHED", 6),
];
const MODELS: &[Column] =
    &[text("MODEL", 0), text("ITS REQUESTS", 0), figure("WAITING", 11), figure("LEASED", 7)];
const ACCOUNTS: &[Column] =
    &[text("ACCOUNT", 0), figure("WAITING", 11), figure("LEASED", 7), figure("NEXT DEADLINE", 20)];
const ERRORS: &[Column] = &[text("LAST ERRORS", 11), text("ENGINE", 14), text("", 0)];

/// The tables in their order, each sorted for display.
pub(super) fn of(snapshot: &Snapshot, shown: &[Shown; TABLES]) -> [Grid; TABLES] {
    let [engines, models, accounts, _] = shown;
    [
        engine_grid(&snapshot.engines, snapshot.at, *engines),
        model_grid(&snapshot.models, *models),
        account_grid(&snapshot.accounts, snapshot.at, *accounts),
        error_grid(snapshot),
    ]
}

fn engine_grid(engines: &[EngineReport], now: i64, shown: Shown) -> Grid {
    let mut sorted: Vec<&EngineReport> = engines.iter().collect();
    if !shown.by_name {
        sorted.sort_by_key(|report| std::cmp::Reverse(report.engine.in_flight));
    }
    let rows = sorted.into_iter().map(|EngineReport { engine, .. }| {
        let (state, tone) = state_of(engine, now);
        let percent = engine.rates.cache_hit_percent.map_or_else(dash, |percent| format!("{percent} %"));
        let tokens = engine.rates.tokens_per_second.map_or_else(dash, count);
        let in_flight = format!("{}/{}", engine.in_flight, engine.max_concurrency);
        Line { cells: vec![clean(&engine.name), clean(&state), in_flight, tokens, percent], tone }
    });
    Grid { columns: ENGINES, rows: rows.collect(), nothing: "none is reported" }
}

fn state_of(engine: &EngineState, now: i64) -> (String, Option<Tone>) {
    let until = |at: Option<i64>| at.map_or_else(String::new, |at| until(at, now));
    if let Some(at) = engine.closed_until {
        return (format!("outside its hours{}", until(Some(at))), Some(Tone::Doubtful));
    }
    if let Some(pause) = &engine.pause {
        return (format!("paused{}: {}", until(pause.until), pause.reason), Some(Tone::Bad));
    }
    if !engine.is_driven {
        return ("driven by no node".to_owned(), Some(Tone::Doubtful));
    }
    if let Some(process) = engine.process.filter(|process| !process.is_running()) {
        return (process.words().to_owned(), Some(Tone::Doubtful));
    }
    match engine.models_out.first() {
        Some(out) => {
            let reason = out.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
            let state = format!("{} {}{}{reason}", out.model, out.state(), until(out.until));
            (state, Some(Tone::Doubtful))
        }
        None => ("ready".to_owned(), Some(Tone::Good)),
    }
}

/// The end of a state: a duration if it is near, else a time; empty if it is imminent or never.
fn until(at: i64, now: i64) -> String {
    match at.saturating_sub(now) {
        ..1_000 => String::new(),
        left @ ..3_600_000 => format!(" for {}", span(left)),
        _ if at == i64::MAX => String::new(),
        _ => format!(" until {}", ahead(at, now)),
    }
}

fn model_grid(models: &[ModelLine], shown: Shown) -> Grid {
    let mut sorted: Vec<&ModelLine> = models.iter().collect();
    match shown.by_name {
        true => sorted.sort_by(|one, other| one.name.cmp(&other.name)),
        false => sorted.sort_by_key(|model| std::cmp::Reverse(model.waiting + model.leased)),
    }
    let rows = sorted.into_iter().map(|ModelLine { name, waiting, leased, hindrance }| {
        let (words, tone) = match hindrance {
            None => ("are sent".to_owned(), None),
            Some(reason) => {
                (format!("each {reason}"), Some(if reason.is_fault() { Tone::Bad } else { Tone::Doubtful }))
            }
        };
        Line { cells: vec![clean(name), clean(&words), count(*waiting), count(*leased)], tone }
    });
    Grid { columns: MODELS, rows: rows.collect(), nothing: "" }
}

fn account_grid(accounts: &[AccountLine], now: i64, shown: Shown) -> Grid {
    let mut sorted: Vec<&AccountLine> = accounts.iter().collect();
    if shown.by_name {
        sorted.sort_by(|one, other| one.name.cmp(&other.name));
    }
    let rows = sorted.into_iter().map(|AccountLine { name, waiting, leased, next_deadline }| {
        let deadline = ahead(*next_deadline, now);
        Line { cells: vec![clean(name), count(*waiting), count(*leased), deadline], tone: None }
    });
    Grid { columns: ACCOUNTS, rows: rows.collect(), nothing: "no account has requests in a queue" }
}

/// Reasons for current pauses, and the last failures.
fn error_grid(snapshot: &Snapshot) -> Grid {
    let line = |time: String, engine: &str, message: &str, tone| Line {
        cells: vec![time, clean(engine), clean(message)],
        tone,
    };
    let paused = snapshot.engines.iter().filter_map(|EngineReport { engine, .. }| {
        let pause = engine.pause.as_ref()?;
        Some(line("paused".to_owned(), &engine.name, &pause.reason, Some(Tone::Bad)))
    });
    let failed = snapshot.attempts.iter().map(|FailedAttempt { at, status, message, engine }| {
        let status = status.map_or_else(String::new, |status| format!("{status}: "));
        let time = times::of_day(at / 1_000);
        line(time, engine.as_deref().unwrap_or("-"), &format!("{status}{message}"), None)
    });
    Grid { columns: ERRORS, rows: paused.chain(failed).collect(), nothing: "none" }
}

fn dash() -> String {
    "-".to_owned()
}

/// The lines above the tables: at most 80 columns wide.
pub(super) fn summary(snapshot: &Snapshot) -> [String; 4] {
    let Snapshot { rates, webhooks, .. } = snapshot;
    let mut queue = vec![format!(
        "{} waiting, {} with engines   done {}/h, failed {}/h",
        count(snapshot.waiting()),
        count(snapshot.leased()),
        count(rates.completed),
        count(rates.failed)
    )];
    queue.extend((rates.cancelled > 0).then(|| format!("cancelled {}/h", count(rates.cancelled))));
    let mut spent = vec![format!("tokens {}/h", count(rates.tokens))];
    spent.extend((rates.amount > 0).then(|| format!("credits {}/h", credits(rates.amount))));
    let events = match webhooks.failing_since {
        Some(since) => format!("{} failing since {}", count(webhooks.failing), minute(since)),
        None => "none failing".to_owned(),
    };
    let events = format!("webhooks {} to send, {events}", count(webhooks.waiting));
    let disk = snapshot.disk.map(|DiskSpace { free, reserve }| {
        let below = if free < reserve { ", below its reserve" } else { "" };
        format!("disk {:.1} GiB free{below}", free as f64 / f64::from(1 << 30))
    });
    let line = |name: &str, parts: Vec<String>| format!("{name:<7}{}", parts.join("   "));
    [
        line("queue", queue),
        line("time", times_of(snapshot)),
        line("spent", spent),
        line("store", disk.into_iter().chain([events]).collect()),
    ]
}

fn times_of(snapshot: &Snapshot) -> Vec<String> {
    let now = snapshot.at;
    let oldest = snapshot.oldest().map(|since| format!("oldest {}", span(now - since)));
    let next = snapshot.next_deadline.map(|next| format!("next deadline in {}", span(next - now)));
    let done = match snapshot.done_at() {
        Some(done) => format!("done by {}", ahead(done, now)),
        None if snapshot.waiting() + snapshot.leased() == 0 => "nothing waits".to_owned(),
        None if snapshot.rates.completed + snapshot.rates.failed == 0 => {
            "nothing ended in the last hour".to_owned()
        }
        None => "the end is known in some minutes".to_owned(),
    };
    oldest.into_iter().chain(next).chain([done]).collect()
}
