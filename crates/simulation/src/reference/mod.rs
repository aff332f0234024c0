//! A plain model of the service beside its store. Sequences of writes are done to both, and whatever the store answers and shows is
//! held against the model: states with their times, results, failed attempts, counters and order of ends of batches, money, usage.
//!
//! `model.rs` and `tables.rs` are the model: a few hundred lines that know no database, no transaction and no index, and count
//! everything anew. A sequence creates, groups, cancels, releases, leases, settles, gives back, expires, and lets nodes sleep, die
//! before and after a commit, and be taken for dead while they live. The writes of a node that wait for one commit are one group.
//! They go through the functions of the store that use cases, scheduler and workers call, and through its writer.

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
/// One sequence of so many is compared after each of its groups of writes, and all at their ends.
const THOROUGH_EVERY: u32 = 8;

/// Databases on which sequences are tried, one after the other.
pub struct Trials {
    place: Place,
    runtime: Runtime,
    database: Option<Database>,
    /// From the first difference on everything is compared after each group: the shortest sequence is looked for.
    has_failed: bool,
}

impl Trials {
    /// No database is made before it is needed.
    ///
    /// # Errors
    /// The system gives no runtime.
    pub fn new(place: Place) -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { place, runtime, database: None, has_failed: false })
    }

    /// Does a sequence to the store and to the model; what happened.
    ///
    /// # Errors
    /// Where they differ, in words. The next sequence has another database.
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
