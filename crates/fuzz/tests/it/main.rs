//! Stored inputs and random changes of them break no property. The programs of `scripts/fuzz` search further.

use std::collections::BTreeSet;
use std::panic::catch_unwind;

use overnight_fuzz::{TARGETS, Target, corpus};
use overnight_testkit::proof;

const CHANGED: usize = 1_000;

/// The longest changed input, in bytes.
const CHANGED_BYTES_MAX: usize = 4 << 10;

/// People read the corpus, so it has no long inputs.
const CORPUS_BYTES_MAX: usize = 120_000;

/// Random numbers from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `end`; 0 if `end` is 0.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end.max(1) as u64)).expect("a small number")
    }

    fn part<'t>(&mut self, text: &'t [u8]) -> &'t [u8] {
        let start = self.below(text.len());
        let length = self.below((text.len() - start).min(64) + 1);
        &text[start..start + length]
    }
}

/// An input of a corpus after some changes: bytes replaced; parts removed, repeated or taken from another input.
fn changed(random: &mut Random, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut input = inputs[random.below(inputs.len())].clone();
    for _ in 0..=random.below(4) {
        let place = random.below(input.len());
        match random.below(4) {
            0 if !input.is_empty() => input[place] = random.next().to_le_bytes()[0],
            1 if !input.is_empty() => {
                let end = (place + 1 + random.below(16)).min(input.len());
                input.drain(place..end);
            }
            2 => {
                let part = random.part(&input).to_vec();
                input.splice(place..place, part);
            }
            _ => {
                let other = random.below(inputs.len());
                let part = random.part(&inputs[other]).to_vec();
                input.splice(place..place, part);
            }
        }
    }
    input.truncate(CHANGED_BYTES_MAX);
    input
}

#[track_caller]
fn try_input(target: &Target, input: &[u8]) {
    let (name, check) = (target.name, target.check);
    let line = || corpus::encode(input);
    assert!(catch_unwind(|| check(input)).is_ok(), "{name} is broken by {}", line());
}

#[test]
fn no_kept_input_and_no_change_of_one_breaks_a_property() {
    let mut tried = 0;
    for (place, target) in TARGETS.iter().enumerate() {
        let inputs = corpus::read(target.name);
        inputs.iter().for_each(|input| try_input(target, input));
        let mut random = Random(place as u64);
        (0..CHANGED).for_each(|_| try_input(target, &changed(&mut random, &inputs)));
        tried += inputs.len() + CHANGED;
    }
    proof::record(
        "fuzz",
        &format!("{} targets, {tried} inputs tried without a search; no finding", TARGETS.len()),
    );
}

#[test]
fn a_corpus_is_short_and_has_each_input_once() {
    for Target { name, .. } in &TARGETS {
        let inputs = corpus::read(name);
        let text: String = inputs.iter().map(|input| corpus::encode(input) + "\n").collect();
        assert!(text.len() <= CORPUS_BYTES_MAX, "{name}: {} bytes", text.len());
        assert_eq!(BTreeSet::from_iter(&inputs).len(), inputs.len(), "{name}");
    }
}

#[test]
fn an_input_is_read_as_it_was_written() {
    for input in [&b""[..], b"a\nb", "\u{2028}\"".as_bytes(), b"\xff\x00", b"[1]"] {
        assert_eq!(corpus::decode(&corpus::encode(input)).as_deref(), Some(input));
    }
}

#[test]
fn every_property_has_a_program_and_words_for_its_search() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for Target { name, .. } in &TARGETS {
        for file in [format!("src/bin/{name}.rs"), format!("dictionaries/{name}.dict")] {
            assert!(root.join(&file).exists(), "{file}");
        }
    }
}
