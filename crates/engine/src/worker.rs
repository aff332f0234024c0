//! The thread that owns the model: it accepts requests between two steps and sleeps while there are none.

use tokio::sync::mpsc;

use crate::{
    embeddings::{self, Embeddings},
    model::{Decoder, Embedder},
    scheduler::{self, Scheduler},
};

#[derive(Debug)]
pub enum Command<J> {
    Answer(Box<J>),
    /// End after the current step; unanswered requests are dropped.
    Stop,
}

pub trait Stepping {
    type Job;
    fn submit(&mut self, job: Self::Job);
    /// Computes one step; returns false if there was nothing to do.
    fn step(&mut self) -> bool;
}

impl<D: Decoder> Stepping for Scheduler<D> {
    type Job = scheduler::Job;

    fn submit(&mut self, job: Self::Job) {
        self.submit(job);
    }

    fn step(&mut self) -> bool {
        self.step()
    }
}

impl<E: Embedder> Stepping for Embeddings<E> {
    type Job = embeddings::Job;

    fn submit(&mut self, job: Self::Job) {
        self.submit(job);
    }

    fn step(&mut self) -> bool {
        self.step()
    }
}

/// Computes until it is stopped or every sender is gone.
pub fn run<S: Stepping>(mut computing: S, mut commands: mpsc::UnboundedReceiver<Command<S::Job>>) {
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
            Some(Command::Answer(job)) => {
                computing.submit(*job);
                is_busy = true;
            }
            None => is_busy = computing.step(),
        }
    }
}
