//! Visits every reachable state, nearest first, and checks the invariants.

use std::collections::{HashMap, VecDeque};

use super::{Action, End, Guards, NODES, Request, State, bit};

/// The result of a search that found no violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explored {
    pub states: usize,
    pub steps: usize,
}

/// A shortest path to a violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counterexample {
    pub broken: &'static str,
    pub path: Vec<Action>,
}

/// Visits every state. Each request is leased at most `leases_max` times. Fails with a shortest path to a violation.
pub fn explore(guards: Guards, requests: usize, leases_max: u8) -> Result<Explored, Counterexample> {
    let first = State::first(requests);
    let mut came_from = HashMap::from([(first, None)]);
    let (mut line, mut steps) = (VecDeque::from([first]), 0);
    while let Some(state) = line.pop_front() {
        for action in state.actions(leases_max) {
            let Some(next) = state.after(action, guards) else { continue };
            steps += 1;
            if let Some(broken) = broken_step(&state, action, &next).or_else(|| broken_state(&next)) {
                return Err(Counterexample { broken, path: path_to(&came_from, state, action) });
            }
            came_from.entry(next).or_insert_with(|| {
                line.push_back(next);
                Some((state, action))
            });
        }
    }
    Ok(Explored { states: came_from.len(), steps })
}

fn path_to(came_from: &HashMap<State, Option<(State, Action)>>, state: State, last: Action) -> Vec<Action> {
    let mut path = vec![last];
    let mut at = state;
    while let Some(Some((before, action))) = came_from.get(&at) {
        path.push(*action);
        at = *before;
    }
    path.reverse();
    path
}

fn broken_step(before: &State, action: Action, after: &State) -> Option<&'static str> {
    let ends = before.requests.iter().zip(&after.requests);
    if ends.clone().any(|(before, after)| before.end.is_some() && before.end != after.end) {
        return Some("a terminal state changed");
    }
    match action {
        Action::Answer { request, epoch, .. } | Action::Release { request, epoch, .. }
            if before.requests[request].over & bit(epoch) != 0 =>
        {
            Some("a write under a lease that is over was done")
        }
        Action::Answer { .. } | Action::Lease { .. } if before.is_marked => {
            Some("a request of a cancelled batch was leased or settled")
        }
        _ => None,
    }
}

fn broken_state(state: &State) -> Option<&'static str> {
    let holds = |rule: fn(&Request) -> bool| state.requests.iter().all(rule);
    let has_row = |node: usize| state.has_row[node];
    let holders = state.requests.iter().filter_map(|request| request.row?.holder);
    if !holds(|it| it.results == u8::from(it.end.is_some_and(|end| end != End::Cancelled))) {
        return Some("a request has not the one result that belongs to its end");
    }
    if !holds(|it| it.charges == u8::from(it.end == Some(End::Completed))) {
        return Some("a request is not charged once for its completion");
    }
    if !holds(|it| leases_going_on(it) <= 1) {
        return Some("two leases of a request go on");
    }
    if !holders.into_iter().all(has_row) {
        return Some("a lease has a holder that no peer would reclaim it from");
    }
    None
}

/// Leases that were given and have not ended.
fn leases_going_on(request: &Request) -> u32 {
    let given = (0..NODES).fold(0, |given, node| given | request.remembered[node]);
    (given & !request.over).count_ones()
}
