//! A plain model of the service beside its store. Sequences of writes are applied to both, and the store's answers and reads must match the
//! model: states with their times, results, failed attempts, counters and order of ends of batches, money, usage.
//!
//! The model (`model.rs`, `tables.rs`) has no database, transaction or index, and recomputes everything. A sequence creates, groups,
//! cancels, releases, leases, settles and expires; nodes sleep, die before and after a commit, and are declared dead while they live. The
//! writes of a node that wait for one commit are one group. They use the store's functions that use cases, scheduler and workers call, and
//! its writer.

mod comparison;
mod counts;
mod database;
mod model;
mod names;
mod operations;
mod picks;
mod sequence;
mod steps;
mod tables;
mod writes;

use tokio::runtime::{Builder, Runtime};

use crate::broken::{Broken, Step as Done};

pub use self::counts::Counts;
use self::database::Database;
pub use self::database::Place;
pub use self::steps::{Act, Step};

/// Sequences that share a database: its audit reads all of them.
const SEQUENCES_PER_DATABASE: u32 = 64;
/// One sequence in this many is compared after each group of writes; all are compared at their end.
const THOROUGH_EVERY: u32 = 8;

/// Databases on which sequences are tried in turn.
pub struct Trials {
    place: Place,
    runtime: Runtime,
    database: Option<Database>,
    /// From the first difference on, everything is compared after each group, to find the shortest failing sequence.
    has_failed: bool,
}

impl Trials {
    /// Creates no database before it is needed.
    pub fn new(place: Place) -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { place, runtime, database: None, has_failed: false })
    }

    /// Applies a sequence to the store and to the model. Fails with the difference; the next sequence then has another database.
    pub fn run(&mut self, steps: &[Step]) -> Result<Counts, String> {
        let Self { place, runtime, database, has_failed } = self;
        let trial = async {
            if let Some(used) = database.take_if(|it| it.sequences >= SEQUENCES_PER_DATABASE) {
                used.close().await;
            }
            let mut taken = match database.take() {
                Some(database) => database,
                None => Database::open(place).await?,
            };
            let is_thorough = *has_failed || taken.sequences.is_multiple_of(THOROUGH_EVERY);
            let counts = sequence::run(&mut taken, steps, is_thorough).await?;
            *database = Some(taken);
            Done::Ok(counts)
        };
        let tried = runtime.block_on(trial);
        *has_failed |= tried.is_err();
        tried.map_err(|Broken(what)| what)
    }
}
