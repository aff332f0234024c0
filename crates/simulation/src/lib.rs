//! The deterministic simulation: the service's own store, scheduler, use cases and workers in a world that a seed decides.
//!
//! Clients send bursts, upload files, group, cancel and delete; engines are slow, full, silent, barred, lie and die; the clock is set forward and
//! back; the process crashes before and after a commit and between two, and is restarted. Virtual time goes from event to
//! event, and one operation runs at a time, so a seed replays a run exactly, which its trace's hash shows.
//!
//! An oracle keeps what clients were told, and everything the service shows is checked against it:
//!
//! - an acknowledged request or batch exists once ever after, any other at most once;
//! - a call that is repeated with its key is done once, and every answer to it names the same; its key serves nothing else;
//! - states only move forward, what has ended never changes, what was cancelled never completes;
//! - a completed request has an answer that was taken for it, a failed one has a reason;
//! - a batch's counters equal its requests' states in every read, and from its cancel on nothing in it runs or settles;
//! - each line of a batch of a file becomes one request, found by its `custom_id`, unless the batch is cancelled first: then the rest
//!   counts as cancelled; a deleted file changes nothing of that, and of a file with a bad line nothing runs;
//! - what was deleted is never shown again and is counted in its batch as it ended; exactly what completed at a price is charged;
//! - a write under a lease that is over touches nothing;
//! - the end of what names a webhook is told of until it is taken or given up, always with the same name and bytes;
//! - every request ends by its deadline, and none expires where capacity suffices;
//! - the store's audit finds nothing, after every start and at the end, when nothing is left in the queue.

mod broken;
mod chance;
mod engines;
mod events;
pub mod lease_protocol;
mod leases;
mod life;
mod oracle;
mod outcomes;
mod pending;
mod plan;
pub mod reference;
mod summary;
mod tags;
mod texts;
mod timeline;
mod trace;
mod world;

use std::fmt;
use std::path::Path;

use tempfile::TempDir;

use self::broken::{Broken, Step};
pub use self::summary::Summary;
use self::world::World;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub summary: Summary,
    /// The same for the same seed, hours and program.
    pub trace_hash: u64,
}

/// A violation. It is shown with the last events and the command that replays it.
#[derive(Debug, Clone)]
pub struct Failure {
    pub seed: u64,
    pub hours: u32,
    pub what: String,
    /// The last events, oldest first.
    pub trace: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, hours, what, trace } = self;
        for line in trace {
            writeln!(formatter, "{line}")?;
        }
        writeln!(formatter, "seed {seed}: {what}")?;
        write!(formatter, "replay: cargo run -p overnight-simulation --example simulate -- {seed} {hours}")
    }
}

impl std::error::Error for Failure {}

/// Runs `hours` of virtual time from `seed`, and on until everything has ended.
pub fn simulate(seed: u64, hours: u32) -> Result<Run, Box<Failure>> {
    let fail = |Broken(what), trace| Box::new(Failure { seed, hours, what, trace });
    let folder = make_folder().map_err(|broken| fail(broken, Vec::new()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| fail(Broken(error.to_string()), Vec::new()))?;
    let mut world = World::new(seed, hours, folder.path()).map_err(|broken| fail(broken, Vec::new()))?;
    match runtime.block_on(world.run()) {
        Ok(()) => Ok(Run { summary: world.summary, trace_hash: world.trace.hash() }),
        Err(broken) => Err(fail(broken, world.trace.into_lines())),
    }
}

/// In memory if the system offers it.
fn make_folder() -> Step<TempDir> {
    const MEMORY: &str = "/dev/shm";
    let folder = if Path::new(MEMORY).is_dir() { tempfile::tempdir_in(MEMORY) } else { tempfile::tempdir() };
    folder.map_err(|error| Broken(format!("no folder for the store: {error}")))
}
