//! Random sequences of writes on the store and a reference model, on both databases.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{env, thread};

use overnight_simulation::reference::{Act, Counts, Place, Step, Trials};
use overnight_testkit::postgres::Cluster;
use overnight_testkit::proof;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// The default number of sequences; two of three run on SQLite.
const SEQUENCES: u32 = 4_000;
const SEQUENCES_VARIABLE: &str = "OVERNIGHT_SEQUENCES";
/// Each part has its own seed, so that the sequences do not depend on the machine.
const PARTS: u32 = 24;
const STEPS_MAX: usize = 80;
const SHRINK_MS_MAX: u32 = 120_000;

fn act() -> impl Strategy<Value = Act> {
    let near = || 0..12u8;
    let pick = || prop_oneof![7 => near(), 1 => any::<u8>()];
    let hold = || option::weighted(0.6, (0..15_000u16, any::<bool>()));
    let create = (any::<bool>(), any::<bool>(), hold(), 0..8u8, 0..9u8, prop::bool::weighted(0.2)).prop_map(
        |(second_account, second_model, hold, gathers_ms, window_s, has_webhook)| Act::Create {
            second_account,
            second_model,
            hold,
            gathers_ms,
            window_s,
            has_webhook,
        },
    );
    let group = (vec(pick(), 1..6), any::<bool>(), prop::bool::weighted(0.3))
        .prop_map(|(picks, second_account, has_webhook)| Act::Group { picks, second_account, has_webhook });
    let tokens = || option::weighted(0.8, (0..12u8, 0..12u8));
    prop_oneof![
        22 => create,
        7 => group,
        6 => pick().prop_map(Act::Cancel),
        3 => near().prop_map(Act::CancelBatch),
        3 => near().prop_map(Act::CancelChunk),
        12 => (0..9u8).prop_map(Act::Release),
        18 => (pick(), 0..6u8).prop_map(|(pick, most)| Act::Lease { pick, most }),
        16 => vec((near(), tokens()), 1..4).prop_map(Act::Settle),
        6 => (near(), any::<bool>()).prop_map(|(pick, counts)| Act::ReleaseLease { pick, counts }),
        5 => (0..9u8).prop_map(Act::Expire),
        3 => (0..30u16).prop_map(Act::Wait),
        2 => (0..5_000u16).prop_map(Act::Wait),
        3 => Just(Act::Heartbeat),
        4 => Just(Act::Reclaim),
        2 => any::<bool>().prop_map(|after_commit| Act::Crash { after_commit }),
        1 => Just(Act::Stop),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    (any::<bool>(), prop::bool::weighted(0.3), act()).prop_map(|(second_node, waits, act)| Step {
        second_node,
        waits,
        act,
    })
}

/// Tries a part of the sequences. Fails with the shortest sequence on which store and model differ.
fn try_part(part: u32, cases: u32) -> Result<Counts, String> {
    static DATABASES: AtomicU32 = AtomicU32::new(0);
    let database = || {
        let name = format!("reference_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        Cluster::shared().database(&name).expect("a database")
    };
    let (place, name) = match part % 3 {
        2 => (Place::Server(Box::new(database)), "PostgreSQL"),
        _ => (Place::Folder, "SQLite"),
    };
    let trials = RefCell::new(Trials::new(place).expect("a runtime"));
    let counts = RefCell::new(Counts::default());
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&u64::from(part).to_le_bytes());
    // Each attempt to shorten a sequence needs a new database.
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 4_000,
        max_shrink_time: SHRINK_MS_MAX,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let tried = runner.run(&vec(step(), 1..=STEPS_MAX), |steps| {
        let happened = trials.borrow_mut().run(&steps).map_err(TestCaseError::fail)?;
        counts.borrow_mut().add(&happened);
        Ok(())
    });
    tried.map_err(|error| match error {
        TestError::Fail(_, steps) => {
            let (steps, reason) = shorten(steps, |steps| trials.borrow_mut().run(steps).err());
            let shown: String = steps.iter().map(|step| format!("  {step:?}\n")).collect();
            format!("part {part} on {name}: {reason}\nafter {} steps:\n{shown}", steps.len())
        }
        TestError::Abort(reason) => format!("part {part} on {name}: {reason}"),
    })?;
    Ok(counts.into_inner())
}

/// Removes all steps without which the difference remains, and returns the difference. Smaller values may need fewer steps.
fn shorten(mut steps: Vec<Step>, run: impl Fn(&[Step]) -> Option<String>) -> (Vec<Step>, String) {
    let mut reason = run(&steps).unwrap_or_default();
    let mut place = 0;
    while place < steps.len() {
        let mut shorter = steps.clone();
        shorter.remove(place);
        match run(&shorter) {
            Some(still) => (steps, reason, place) = (shorter, still, 0),
            None => place += 1,
        }
    }
    (steps, reason)
}

#[test]
fn the_store_answers_as_a_plain_model_does() {
    let sequences =
        env::var(SEQUENCES_VARIABLE).map_or(SEQUENCES, |number| number.parse().expect("a number"));
    let cases = sequences.div_ceil(PARTS);
    let next = AtomicU32::new(0);
    let (total, failures) = (Mutex::new(Counts::default()), Mutex::new(Vec::new()));
    let work = || {
        while failures.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= PARTS {
                break;
            }
            match try_part(part, cases) {
                Ok(counts) => total.lock().unwrap_or_else(PoisonError::into_inner).add(&counts),
                Err(failure) => failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure),
            }
        }
    };
    thread::scope(|scope| {
        // The threads mostly wait for a database.
        for _ in 0..2 * thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    if let Some(failure) = failures.into_inner().unwrap().first() {
        panic!("{failure}");
    }
    let total = total.into_inner().unwrap();
    println!("{total:?}");
    if sequences >= SEQUENCES {
        assert_eq!(total.missing(), Vec::<&str>::new(), "these never happened, so nothing was shown of them");
    }
    let (sequences, operations) = (total.sequences, total.operations);
    proof::record(
        "reference-model",
        &format!("{operations} writes in {sequences} sequences on two databases"),
    );
}
