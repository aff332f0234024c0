//! Fixed orders, with which the sweep is compared.

use std::collections::VecDeque;
use std::ops::Range;

use overnight_testkit::engine::CostModel;

use super::fleet::{Dispatcher, Event, Work};
use super::workload::Request;

/// Sends requests in a fixed order: a queue for each replica, or a common one.
#[derive(Debug)]
pub(super) struct FixedOrder {
    queues: Vec<VecDeque<usize>>,
    replicas: usize,
    concurrency: usize,
    links: Vec<usize>,
}

impl FixedOrder {
    /// In order of arrival, to any replica with a free slot.
    pub(super) fn arrival(requests: &[Request], replicas: usize, concurrency: usize) -> Self {
        Self::shared((0..requests.len()).collect(), replicas, concurrency)
    }

    /// File after file, each sorted by its prompts.
    pub(super) fn sorted_files(requests: &[Request], replicas: usize, concurrency: usize) -> Self {
        let mut order: Vec<usize> = (0..requests.len()).collect();
        order.sort_by_key(|at| (requests[*at].file, &requests[*at].job.block_hashes));
        Self::shared(order, replicas, concurrency)
    }

    /// A depth-first walk of the true tree of prefixes, as the engines' caches see it. Each replica gets a stretch with an equal share of
    /// the work. A replica that has finished takes half of the longest rest, cut where neighbours share least.
    pub(super) fn oracle(
        requests: &[Request],
        cost: &CostModel,
        replicas: usize,
        concurrency: usize,
    ) -> Self {
        let mut order: Vec<usize> = (0..requests.len()).collect();
        order.sort_by_key(|at| &requests[*at].job.block_hashes);
        let mut links = vec![0; requests.len()];
        let mut works = Vec::with_capacity(order.len());
        for (place, at) in order.iter().enumerate() {
            let (job, before) = (&requests[*at].job, place.checked_sub(1).map(|it| &requests[order[it]].job));
            links[*at] = before.map_or(0, |it| shared_blocks(&it.block_hashes, &job.block_hashes));
            let fresh =
                job.prompt_tokens.saturating_sub(links[*at] * overnight_testkit::engine::BLOCK_TOKENS);
            let decoded = 1.0 / concurrency as f64 + cost.batch_growth;
            works.push(
                fresh as f64 / cost.prompt_tokens_per_second
                    + job.output_tokens as f64
                        * (decoded / cost.output_tokens_per_second
                            + job.prompt_tokens as f64 / cost.context_tokens_per_second),
            );
        }
        let queues = split_evenly(&order, &works, &links, replicas);
        Self { queues, replicas, concurrency, links }
    }

    fn shared(order: Vec<usize>, replicas: usize, concurrency: usize) -> Self {
        Self { queues: vec![order.into()], replicas, concurrency, links: Vec::new() }
    }

    fn next(&mut self, replica: usize) -> Option<usize> {
        let own = replica % self.queues.len();
        if self.queues[own].is_empty() {
            let richest = (0..self.queues.len()).max_by_key(|it| self.queues[*it].len())?;
            let cut = weakest_link(&self.queues[richest], &self.links);
            self.queues[own] = self.queues[richest].split_off(cut);
        }
        self.queues[own].pop_front()
    }
}

/// The start of the second half of a rest: about its middle, where neighbours share least.
fn weakest_link(rest: &VecDeque<usize>, links: &[usize]) -> usize {
    let middle = rest.len() / 2;
    let around: Range<usize> = rest.len() / 4..(rest.len() * 3 / 4).max(middle + 1).min(rest.len());
    around.min_by_key(|at| (links.get(rest[*at]).copied().unwrap_or(0), at.abs_diff(middle))).unwrap_or(0)
}

/// Stretches of about equal work, each cut within an eighth of a share of that where neighbours share least.
fn split_evenly(order: &[usize], works: &[f64], links: &[usize], parts: usize) -> Vec<VecDeque<usize>> {
    let total: f64 = works.iter().sum();
    let share = total / parts as f64;
    let mut done = vec![0.0];
    for work in works {
        done.push(done[done.len() - 1] + work);
    }
    let cut = |part: usize| {
        let even = share * part as f64;
        let from_even = |place: &usize| (done[*place] - even).abs();
        let near = (1..order.len()).filter(|place| from_even(place) <= share / 8.0);
        let weakest = near.min_by(|one, other| {
            let links = links[order[*one]].cmp(&links[order[*other]]);
            links.then(from_even(one).total_cmp(&from_even(other)))
        });
        weakest.unwrap_or_else(|| done.partition_point(|done| *done < even))
    };
    let cuts: Vec<usize> = (0..=parts)
        .map(|part| {
            if part == 0 {
                0
            } else if part == parts {
                order.len()
            } else {
                cut(part)
            }
        })
        .collect();
    cuts.windows(2).map(|pair| order[pair[0]..pair[1].max(pair[0])].iter().copied().collect()).collect()
}

fn shared_blocks(one: &[u64], other: &[u64]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

impl Dispatcher for FixedOrder {
    fn on(&mut self, event: Event, _now_us: u64) -> Vec<Work> {
        match event {
            Event::Start => {
                let mut works = Vec::new();
                for slot in 0..self.concurrency * self.replicas {
                    let replica = slot % self.replicas;
                    works.extend(self.next(replica).map(|request| Work::Send { replica, request }));
                }
                works
            }
            Event::Completed { replica, .. } => {
                self.next(replica).map(|request| Work::Send { replica, request }).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}
