//! Pictures of a busy service, on terminals of several sizes.

use overnight_app::engines::{EnginePause, EngineRates, EngineReport, EngineState, PrefixCacheState};
use overnight_app::snapshot::{AccountLine, HourlyRates, ModelLine};
use overnight_app::webhooks::WaitingEvents;
use overnight_domain::records::FailedAttempt;
use overnight_store::DiskSpace;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use super::super::view::Next;
use super::*;

/// 27 November 2026, 02:00 UTC.
const NOW: i64 = 1_795_744_800_000;
const HOUR: i64 = 3_600_000;

fn engine(name: &str, in_flight: i64, pause: Option<&str>) -> EngineReport {
    let pause = pause.map(|reason| EnginePause { until: Some(NOW + 60_000), reason: reason.to_owned() });
    let engine = EngineState {
        name: name.to_owned(),
        models: vec!["m".to_owned()],
        is_driven: true,
        in_flight,
        max_concurrency: 64,
        pause,
        closed_until: None,
        models_out: Vec::new(),
        rates: EngineRates { tokens_per_second: Some(4_200), cache_hit_percent: Some(83) },
        prefix_cache: PrefixCacheState::default(),
        process: None,
    };
    EngineReport { node: "a".to_owned(), reported_at: NOW, engine }
}

fn account(name: &str, waiting: i64) -> AccountLine {
    AccountLine { name: name.to_owned(), waiting, leased: 1, next_deadline: NOW + 21 * HOUR }
}

fn snapshot(accounts: usize) -> Snapshot {
    let accounts =
        (0..accounts).map(|number| account(&format!("account {number:02}"), 1_000 - number as i64));
    Snapshot {
        at: NOW,
        gathering: 45,
        next_deadline: Some(NOW + 21 * HOUR),
        rates: HourlyRates {
            completed: 6_000,
            failed: 3,
            cancelled: 0,
            tokens: 9_000_000,
            amount: 12_340_000_000,
            is_settled: true,
        },
        models: vec![ModelLine { name: "m".to_owned(), waiting: 12_300, leased: 64, hindrance: None }],
        accounts: accounts.collect(),
        engines: vec![
            engine("gpu-0", 64, None),
            engine("gpu-1", 0, Some("status 503: \x1b[31mno\x1b[0m memory")),
        ],
        webhooks: WaitingEvents { waiting: 7, failing: 2, failing_since: Some(NOW - HOUR) },
        disk: Some(DiskSpace { free: 34 << 30, reserve: 1 << 30 }),
        attempts: vec![FailedAttempt {
            at: NOW - 61_000,
            status: Some(500),
            message: "out of blocks".to_owned(),
            engine: Some("gpu-0".to_owned()),
        }],
    }
}

fn view(accounts: usize) -> View {
    let mut view = View::new("overnight-data".to_owned(), false);
    view.take_in(Ok(snapshot(accounts)));
    view
}

fn press(view: &mut View, code: KeyCode) -> Next {
    view.answer(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

#[test]
fn everything_stands_on_a_small_terminal() {
    let lines = lines(&picture(&mut view(3), 80, 24));
    let text = lines.join("\n");
    for words in [
        "overnight overnight-data   2026-11-27T02:00:00Z",
        "queue  12,345 waiting, 64 with engines   done 6,000/h, failed 3/h",
        "oldest 3h 0m   next deadline in 21h 0m   done by 04:04Z (in 2h 4m)",
        "tokens 9,000,000/h   credits 12.34/h",
        "disk 34.0 GiB free   webhooks 7 to send, 2 failing since 01:00Z",
        "ENGINE",
        "64/64     4,200    83 %",
        "paused for 1m: status 50",
        "account 00",
        "23:00Z (in 21h 0m)",
        "status 503:  [31mno [0m memory",
        "500: out of blocks",
        "q quit",
    ] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    assert_eq!(lines.len(), 24);
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn no_size_of_a_terminal_is_too_small_and_tables_share_what_there_is() {
    for (width, height) in [(1, 1), (20, 5), (40, 10), (80, 24), (200, 60), (300, 4)] {
        let picture = picture(&mut view(100), width, height);
        assert_eq!((picture.area.width, picture.area.height), (width, height));
    }
    let text = lines(&picture(&mut view(100), 80, 24)).join("\n");
    assert!(text.contains("ACCOUNT 1-") && text.contains(" of 100"), "{text}");
    for title in ["ENGINE", "MODEL", "LAST ERRORS"] {
        assert!(text.contains(title), "{title}:\n{text}");
    }
    assert_eq!(heights([2, 1, 100, 3], 19), [4, 3, 7, 5]);
    assert_eq!(heights([2, 1, 100, 3], 5), [3, 2, 0, 0]);
    assert_eq!(heights([0, 0, 0, 0], 40), [3, 3, 3, 3]);
}

#[test]
fn keys_scroll_and_sort_the_chosen_table() {
    let mut view = view(100);
    let shows = |view: &mut View, words: &str| lines(&picture(view, 80, 24)).join("\n").contains(words);
    assert!(shows(&mut view, "account 00"));
    assert_eq!([press(&mut view, KeyCode::Tab), press(&mut view, KeyCode::Tab)], [Next::Draw, Next::Draw]);
    press(&mut view, KeyCode::Down);
    assert!(shows(&mut view, "ACCOUNT 2-") && !shows(&mut view, "account 00"));
    for _ in 0..300 {
        press(&mut view, KeyCode::Char('j'));
    }
    drop(picture(&mut view, 80, 24));
    assert!(shows(&mut view, "account 99"), "it ends with the last row");
    press(&mut view, KeyCode::Up);
    assert!(!shows(&mut view, "account 99"), "one step back is seen at once");
    press(&mut view, KeyCode::Home);
    assert!(shows(&mut view, "account 00"));
    assert_eq!(press(&mut view, KeyCode::Char(' ')), Next::Look);
    assert_eq!(press(&mut view, KeyCode::Char('q')), Next::Quit);
    let interrupt = Event::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
    assert_eq!(view.answer(&interrupt), Next::Interrupt);
    view.chosen = 0;
    assert!(lines(&picture(&mut view, 80, 24))[6].starts_with("gpu-0"));
    view.take_in(Ok(Snapshot { engines: vec![engine("a", 1, None), engine("b", 2, None)], ..snapshot(1) }));
    assert!(lines(&picture(&mut view, 80, 24))[6].starts_with('b'), "the one with the most in flight");
    press(&mut view, KeyCode::Char('s'));
    assert!(lines(&picture(&mut view, 80, 24))[6].starts_with('a'));
}

#[test]
fn a_look_that_fails_is_told_and_what_was_known_stays() {
    let mut view = View::new("x".to_owned(), true);
    view.take_in(Err("the server is gone\x07".to_owned()));
    assert_eq!(lines(&picture(&mut view, 40, 3))[0], "the server is gone");
    view.take_in(Ok(snapshot(1)));
    view.take_in(Err("the server is gone".to_owned()));
    let text = lines(&picture(&mut view, 80, 24)).join("\n");
    assert!(text.contains("12,345 waiting") && text.contains("cannot be read: the server is gone"), "{text}");
}

#[test]
fn colours_are_there_only_where_they_are_wanted() {
    let has_colours = |is_coloured| {
        let mut view = View { is_coloured, ..view(1) };
        picture(&mut view, 80, 24)
            .content
            .iter()
            .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert_eq!([has_colours(true), has_colours(false)], [true, false]);
}

#[test]
fn plain_text_has_every_row_and_no_keys() {
    let text = as_text(&snapshot(100), "d".to_owned());
    assert!(text.contains("account 99") && !text.contains("q quit"), "{text}");
    let wide = Snapshot { accounts: vec![account("夜の仕事", 5)], ..snapshot(1) };
    assert!(as_text(&wide, "d".to_owned()).contains("夜の仕事 "));
}
