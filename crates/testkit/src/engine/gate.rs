//! The places of an engine without a cost model: a limited number of requests run; others wait in order of arrival.

use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::sync::oneshot;

use super::lock;

#[derive(Debug)]
pub(super) struct Gate(Mutex<Places>);

#[derive(Debug)]
struct Places {
    running_max: usize,
    running: usize,
    waiting: VecDeque<oneshot::Sender<()>>,
}

/// A permit to answer, released when it is dropped.
#[derive(Debug)]
pub(super) struct Permit<'a>(&'a Gate);

impl Gate {
    pub(super) fn new(running_max: usize) -> Self {
        Self(Mutex::new(Places { running_max, running: 0, waiting: VecDeque::new() }))
    }

    /// Waits for a place; returns `None` without waiting if `waiting_max` requests wait already.
    pub(super) async fn enter(&self, waiting_max: usize) -> Option<Permit<'_>> {
        let turn = {
            let mut places = lock(&self.0);
            if places.running < places.running_max && places.waiting.is_empty() {
                places.running += 1;
                return Some(Permit(self));
            }
            places.waiting.retain(|waiter| !waiter.is_closed());
            if places.waiting.len() >= waiting_max {
                return None;
            }
            let (sender, turn) = oneshot::channel();
            places.waiting.push_back(sender);
            turn
        };
        Turn { gate: self, turn }.come().await
    }

    /// Sets the number of concurrent requests; running requests continue.
    pub(super) fn resize(&self, running_max: usize) {
        let mut places = lock(&self.0);
        places.running_max = running_max;
        places.let_in();
    }

    /// The numbers of running and waiting requests.
    pub(super) fn counts(&self) -> (usize, usize) {
        let mut places = lock(&self.0);
        places.waiting.retain(|waiter| !waiter.is_closed());
        (places.running, places.waiting.len())
    }

    fn leave(&self) {
        let mut places = lock(&self.0);
        places.running -= 1;
        places.let_in();
    }
}

impl Places {
    fn let_in(&mut self) {
        while self.running < self.running_max {
            let Some(waiter) = self.waiting.pop_front() else { return };
            if waiter.send(()).is_ok() {
                self.running += 1;
            }
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// A waiter. If it is dropped after its turn was called, it passes the place to the next.
struct Turn<'a> {
    gate: &'a Gate,
    turn: oneshot::Receiver<()>,
}

impl<'a> Turn<'a> {
    async fn come(mut self) -> Option<Permit<'a>> {
        (&mut self.turn).await.ok().map(|()| Permit(self.gate))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turn.close();
        if self.turn.try_recv().is_ok() {
            self.gate.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waiters_enter_in_order_and_too_many_are_refused() {
        let gate = Gate::new(1);
        let first = gate.enter(0).await.unwrap();
        assert!(gate.enter(0).await.is_none());
        let mut second = Box::pin(gate.enter(2));
        let mut third = Box::pin(gate.enter(2));
        assert!(futures_util::poll!(&mut second).is_pending());
        assert!(futures_util::poll!(&mut third).is_pending());
        assert_eq!(gate.counts(), (1, 2));
        drop(first);
        assert!(futures_util::poll!(&mut third).is_pending());
        let second = second.await.unwrap();
        drop(second);
        drop(third.await.unwrap());
        assert_eq!(gate.counts(), (0, 0));
    }

    #[tokio::test]
    async fn a_waiter_that_leaves_after_its_turn_passes_the_place_on() {
        let gate = Gate::new(1);
        let first = gate.enter(0).await.unwrap();
        let mut second = Box::pin(gate.enter(2));
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        assert_eq!(gate.counts(), (1, 0));
        drop(second);
        assert_eq!(gate.counts(), (0, 0));
        gate.resize(0);
        assert!(gate.enter(0).await.is_none());
    }
}
