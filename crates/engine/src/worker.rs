//! The thread that owns the decoder: it takes requests in between two steps and sleeps while there are none.

use tokio::sync::mpsc;

use crate::{
    model::Decoder,
    scheduler::{Job, Scheduler},
};

/// What the thread is told.
#[derive(Debug)]
pub enum Command {
    /// Answer this request.
    Complete(Box<Job>),
    /// End after the step under way; requests that are not answered are dropped.
    Stop,
}

/// Runs a scheduler until it is told to stop or nobody can tell it anything any more.
pub fn run<D: Decoder>(mut scheduler: Scheduler<D>, mut commands: mpsc::UnboundedReceiver<Command>) {
    let mut is_busy = false;
    loop {
        let command = match commands.try_recv() {
            Ok(command) => Some(command),
            Err(mpsc::error::TryRecvError::Disconnected) => return,
            Err(mpsc::error::TryRecvError::Empty) if is_busy => None,
            Err(mpsc::error::TryRecvError::Empty) => match commands.blocking_recv() {
                Some(command) => Some(command),
                None => return,
            },
        };
        match command {
            Some(Command::Stop) => return,
            Some(Command::Complete(job)) => {
                scheduler.submit(*job);
                is_busy = true;
            }
            None => is_busy = scheduler.step(),
        }
    }
}
