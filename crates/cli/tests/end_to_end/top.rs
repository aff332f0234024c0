//! `overnight top` with and without a terminal.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use overnight_testkit::postgres::Cluster;

use crate::support::{World, chats, wait_until};

/// The program on a terminal of 80 by 24, in a shell that then reports the state of both.
struct Terminal {
    process: Child,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn start(world: &World, environment: &str) -> Self {
        let program = env!("CARGO_BIN_EXE_overnight");
        let top = format!("echo \"process $$.\"; {environment} exec {program} top --every 200ms");
        let line = format!(
            "stty rows 24 cols 80; echo \"terminal $(tty).\"; sh -c '{top}'; echo \"code $?.\"; stty -a; echo end."
        );
        let mut command = Command::new("script");
        command
            .args(["--quiet", "--flush", "--command", &line, "/dev/null"])
            .current_dir(world.folder.path());
        command.env("SHELL", "/bin/sh").env("TERM", "xterm-256color").env_remove("NO_COLOR");
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (mut out, kept) = (process.stdout.take().unwrap(), Arc::clone(&seen));
        thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                kept.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Self { process, seen }
    }

    fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    fn screen(&self) -> String {
        let seen = self.seen();
        seen.rsplit_once("\x1b[?1049h").map_or_else(String::new, |(_, drawn)| interpreted(drawn))
    }

    fn wait_for(&self, words: &str) {
        wait_until(words, || self.screen().contains(words));
    }

    /// The text between a word and a full stop.
    fn word(&self, before: &str) -> String {
        wait_until(before, || self.seen().split_once(before).is_some_and(|(_, rest)| rest.contains('.')));
        let seen = self.seen();
        seen.split_once(before).unwrap().1.split('.').next().unwrap().to_owned()
    }

    /// Resizes the terminal, which redraws everything.
    fn resize(&self, rows: u32, columns: u32) {
        let (terminal, rows, columns) = (self.word("terminal "), rows.to_string(), columns.to_string());
        let line = ["-F", &terminal, "rows", &rows, "cols", &columns];
        assert!(Command::new("stty").args(line).status().unwrap().success());
    }

    fn press(&mut self, key: &str) {
        self.process.stdin.as_mut().unwrap().write_all(key.as_bytes()).unwrap();
    }

    /// Waits for its end, which must restore the terminal.
    fn end(mut self, code: i32) -> String {
        wait_until("it ends", || self.seen().contains("end."));
        let seen = self.seen();
        let (drawn, after) = seen.rsplit_once("\x1b[?1049l").expect("it leaves the screen that it drew on");
        assert!(after.contains("\x1b[?25h") && after.contains(&format!("code {code}.")), "{after}");
        assert!(
            after.contains(" icanon") && !after.contains("-icanon") && after.contains(" echo "),
            "{after}"
        );
        let drawn = drawn.to_owned();
        self.process.wait().unwrap();
        drawn
    }
}

/// A screen of 30 by 100 after this output, which has only the few sequences that the program writes.
fn interpreted(written: &str) -> String {
    let mut screen = vec![vec![' '; 100]; 30];
    let (mut row, mut column) = (0, 0);
    let mut rest = written.chars();
    while let Some(character) = rest.next() {
        if character != '\x1b' {
            if let Some(place) = screen.get_mut(row).and_then(|row: &mut Vec<char>| row.get_mut(column)) {
                *place = character;
            }
            column += 1;
            continue;
        }
        let mut sequence = String::new();
        for character in rest.by_ref() {
            sequence.push(character);
            if character.is_ascii_alphabetic() {
                break;
            }
        }
        let (numbers, kind) = sequence.trim_start_matches('[').split_at(sequence.len().saturating_sub(2));
        match kind {
            "H" => {
                let mut places = numbers.split(';').map(|number| number.parse::<usize>().unwrap_or(1) - 1);
                (row, column) = (places.next().unwrap_or(0), places.next().unwrap_or(0));
            }
            "J" => screen.iter_mut().for_each(|row| row.fill(' ')),
            _ => {}
        }
    }
    screen.into_iter().map(|row| row.into_iter().collect::<String>() + "\n").collect()
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn requests_are_seen_to_pass_and_the_terminal_is_given_back() {
    let world = World::new();
    let _serving = world.serve();
    let mut terminal = Terminal::start(&world, "");
    terminal.wait_for("q quit");
    let first = terminal.screen();
    for words in ["0 waiting, 0 with engines   done 0/h", "ENGINE", "no account has requests in a queue"] {
        assert!(first.contains(words), "{words}: {first}");
    }
    terminal.wait_for("ready");
    assert!(terminal.seen().contains("\x1b[38;5;"), "there are colours");
    world.write("prompts.jsonl", &chats(5));
    world.json("submit prompts.jsonl --wait");
    wait_until("what ended is counted", || {
        let screen = terminal.screen();
        screen.contains("0 waiting, 0 with engines   done ") && !screen.contains("done 0/h")
    });
    let is_in_row =
        |row: usize| terminal.screen().lines().nth(row - 1).is_some_and(|line| line.starts_with("q quit"));
    assert!(is_in_row(24));
    terminal.resize(30, 100);
    wait_until("it fills the larger terminal", || is_in_row(30) && !is_in_row(24));
    terminal.press("q");
    terminal.end(0);
}

#[test]
fn a_signal_or_ctrl_c_ends_it_and_the_terminal_is_given_back() {
    let world = World::answered();
    let terminal = Terminal::start(&world, "NO_COLOR=1");
    terminal.wait_for("q quit");
    let process = terminal.word("process ");
    assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    let drawn = terminal.end(130);
    assert!(!drawn.contains("\x1b[38;5;") && !drawn.contains("\x1b[31m"), "{drawn}");
    let mut terminal = Terminal::start(&world, "");
    terminal.wait_for("q quit");
    terminal.press("\x03");
    terminal.end(130);
}

#[test]
fn without_a_terminal_one_picture_is_printed_where_it_is_asked_for() {
    let world = World::answered();
    let refused = world.run("top");
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
    assert!(refused.stderr.contains("`overnight top --once`"), "{refused:?}");
    let once = world.run("top --once");
    assert_eq!(once.code, 0, "{once:?}");
    for words in [
        "overnight data ",
        "0 waiting, 0 with engines",
        "ENGINE",
        "MODEL",
        "ACCOUNT",
        "LAST ERRORS",
        "GiB free",
    ] {
        assert!(once.stdout.contains(words), "{words}: {once:?}");
    }
    assert!(!once.stdout.contains('\x1b') && !once.stdout.contains("done 0/h"), "{once:?}");
    let told = world.json("top");
    assert!(
        told["per_hour"]["completed"].as_i64().unwrap() > 0 && told["models"][0]["name"] == "m",
        "{told}"
    );
    assert_eq!(world.run("top --every 1ms").code, 2);
}

#[test]
fn a_postgresql_is_shown_as_a_folder_is() {
    let world = World::new();
    let url = Cluster::shared().database("top").unwrap();
    let settings = world.read("overnight.toml");
    world.write("overnight.toml", &format!("database_url = \"{url}\"\n{settings}"));
    let _serving = world.serve();
    world.write("prompts.jsonl", &chats(5));
    world.json("submit prompts.jsonl --wait");
    wait_until("the engine is reported", || world.json("top")["engines"][0]["name"] == "sim");
    let once = world.run("top --once");
    assert!(once.stdout.contains("postgres") && !once.stdout.contains("done 0/h"), "{once:?}");
    assert!(!once.stdout.contains(" GiB free"), "the disk is another machine's: {once:?}");
}
