use std::fs;

use super::*;
use crate::prompts::{Input, Prompts, Source};

const FIRST: &str = "req_01jz8m3v6qf8jbk2w5n7y9t0xd";
const SECOND: &str = "req_01jz8m3v6rf1t8c0a4m2d6h3pz";

const HERE: Of<'_> = Of { service: "here", part_lines: PART_LINES, run: None };

struct Case {
    folder: tempfile::TempDir,
}

impl Case {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("results.jsonl.run")
    }

    fn open(&self, models: &[&str]) -> Result<(Journal, Prompts), CliError> {
        let file = self.folder.path().join("prompts.jsonl");
        let lines = models.iter().map(|model| format!("{{\"model\":\"{model}\",\"messages\":[]}}\n"));
        fs::write(&file, lines.collect::<String>()).unwrap();
        let input = Input::check(Source::open(&file, None, self.folder.path())?, None, None, PART_LINES)?;
        let prompts = input.read()?.next()?.unwrap();
        Ok((Journal::open(&self.path(), HERE, prompts.lines())?, prompts))
    }
}

fn asked(index: usize, id: &str) -> Asked {
    Asked { index, id: id.to_owned(), created_at: 1_000 + i64::try_from(index).unwrap() }
}

fn is_asked(journal: &Journal) -> Vec<bool> {
    journal.asked().iter().map(Option::is_some).collect()
}

#[test]
fn what_was_asked_is_known_again_and_a_changed_line_is_missing() {
    let case = Case::new();
    let (mut journal, prompts) = case.open(&["a", "b", "c"]).unwrap();
    assert!(!journal.is_resumed());
    journal.key_to_send();
    journal.record_asked(prompts.lines(), &[asked(0, FIRST), asked(1, SECOND)]).unwrap();
    journal.record_batch("batch_1").unwrap();
    drop(journal);
    let (journal, _) = case.open(&["a", "changed", "c", "d"]).unwrap();
    assert!(journal.is_resumed());
    assert_eq!(is_asked(&journal), [true, false, false, false]);
    assert_eq!(journal.missing(), [1, 2, 3]);
    assert_eq!(journal.batches(), ["batch_1"]);
}

#[test]
fn a_step_that_was_cut_short_did_not_happen() {
    let case = Case::new();
    let (mut journal, prompts) = case.open(&["a", "b"]).unwrap();
    journal.key_to_send();
    journal.record_asked(prompts.lines(), &[asked(0, FIRST)]).unwrap();
    journal.record_asked(prompts.lines(), &[asked(1, SECOND)]).unwrap();
    drop(journal);
    let text = fs::read(case.path()).unwrap();
    fs::write(case.path(), &text[..text.len() - 10]).unwrap();
    let (mut journal, prompts) = case.open(&["a", "b"]).unwrap();
    assert_eq!(is_asked(&journal), [true, false]);
    journal.record_asked(prompts.lines(), &[asked(1, SECOND)]).unwrap();
    drop(journal);
    assert_eq!(fs::read(case.path()).unwrap(), text);
}

#[test]
fn a_line_that_failed_is_asked_again() {
    let case = Case::new();
    let (mut journal, prompts) = case.open(&["a", "b"]).unwrap();
    journal.key_to_send();
    journal.record_asked(prompts.lines(), &[asked(0, FIRST), asked(1, SECOND)]).unwrap();
    journal.record_failed(&[0]).unwrap();
    drop(journal);
    let (mut journal, prompts) = case.open(&["a", "b"]).unwrap();
    assert_eq!(journal.missing(), [0]);
    journal.record_asked(prompts.lines(), &[asked(0, SECOND)]).unwrap();
    drop(journal);
    assert_eq!(case.open(&["a", "b"]).unwrap().0.missing(), [0; 0]);
}

#[test]
fn a_journal_in_use_of_another_service_or_damaged_is_refused() {
    let case = Case::new();
    let (mut journal, prompts) = case.open(&["a"]).unwrap();
    journal.key_to_send();
    let open = |service| Journal::open(&case.path(), Of { service, ..HERE }, prompts.lines());
    assert!(open("here").unwrap_err().message().starts_with("another run is using"));
    drop(journal);
    assert!(open("there").unwrap_err().message().ends_with("belongs to a submission to here"));
    fs::write(case.path(), "{}\n").unwrap();
    assert!(open("here").unwrap_err().message().contains("is damaged"));
}

#[test]
fn the_key_stays_until_every_line_that_was_sent_has_its_answer() {
    let case = Case::new();
    let (mut journal, prompts) = case.open(&["a", "b"]).unwrap();
    let key = journal.key_to_send();
    journal.record_asked(prompts.lines(), &[asked(0, FIRST)]).unwrap();
    assert!(!journal.is_key_forgotten());
    drop(journal);
    // Requests of 1970 may have been sent with lines whose answers were lost.
    let (mut journal, _) = case.open(&["a", "changed"]).unwrap();
    assert!(journal.key() == key && journal.is_key_forgotten());
    journal.record_sent().unwrap();
    let next = journal.key();
    assert_ne!(next, key);
    drop(journal);
    let (journal, _) = case.open(&["a", "b"]).unwrap();
    assert!(journal.key() == next && !journal.is_key_forgotten());
    let other = Case::new();
    assert_ne!(other.open(&["a", "b"]).unwrap().0.key(), key);
}

#[test]
fn a_journal_of_other_parts_is_refused_and_one_of_another_run_begins_anew() {
    let case = Case::new();
    let (mut journal, prompts) = case.open(&["a"]).unwrap();
    journal.key_to_send();
    journal.record_asked(prompts.lines(), &[asked(0, FIRST)]).unwrap();
    let run = journal.run().to_owned();
    drop(journal);
    let open = |of| Journal::open(&case.path(), of, prompts.lines());
    let error = open(Of { part_lines: 7, ..HERE }).unwrap_err();
    assert!(error.message().ends_with("is of a run with --batch-lines 100000"), "{}", error.message());
    assert_eq!(is_asked(&open(Of { run: Some(&run), ..HERE }).unwrap()), [true]);
    let other = open(Of { run: Some("another-1"), ..HERE }).unwrap();
    assert_eq!((is_asked(&other), other.run(), other.is_resumed()), (vec![false], "another-1", false));
}

#[test]
fn a_journal_under_which_nothing_was_sent_leaves_no_file() {
    let case = Case::new();
    drop(case.open(&["a"]).unwrap());
    assert!(!case.path().exists());
    let (mut journal, _) = case.open(&["a"]).unwrap();
    journal.key_to_send();
    drop(journal);
    // Sent lines may have been accepted without an answer: their key is needed.
    let (journal, _) = case.open(&["a"]).unwrap();
    assert!(journal.is_resumed());
    drop(journal);
    assert!(case.path().exists());
}
