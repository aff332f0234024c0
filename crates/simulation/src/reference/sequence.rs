//! Runs a sequence of steps on the store and the model.

use std::task::{Context, Poll, Waker};

use overnight_store::queue::expiry;
use overnight_store::{CrashPoint, batches, nodes, requests};

use super::comparison::{compare, same};
use super::counts::Counts;
use super::database::Database;
use super::names::{Names, Shared};
use super::operations::{Operation, Read, begin};
use super::picks;
use super::steps::{Act, Step};
use super::tables::{Model, Request};
use super::writes::{Asked, Write};
use crate::broken::{Broken, Step as Done, ensure};

/// Longer than any completion window, in milliseconds.
const ALL_WINDOWS_MS: i64 = 1_000_000;
/// This many requests expire in one write at the end of a sequence: some chunks end between two requests of one deadline.
const CHUNK: u32 = 2;

struct Sequence<'d> {
    database: &'d mut Database,
    names: Shared,
    model: Model,
    asked: picks::Asked,
    /// The queue of each node's writer.
    lines: Vec<Vec<(Asked, Operation)>>,
    /// Whether everything is compared after each group of writes.
    is_thorough: bool,
    counts: Counts,
}

/// Runs `steps`, and on until everything has ended.
pub(super) async fn run(database: &mut Database, steps: &[Step], is_thorough: bool) -> Done<Counts> {
    database.sequences += 1;
    let names = Names {
        base: database.base(),
        accounts: database.make_accounts().await?,
        models: database.models,
        prices: database.prices,
        requests: [].into(),
        batches: [].into(),
    };
    if database.is_shared {
        for node in &database.nodes {
            nodes::heartbeat(&node.store, database.now).await?;
        }
    }
    let model = Model { nodes: database.nodes.iter().map(|node| node.life).collect(), ..Model::default() };
    let lines = database.nodes.iter().map(|_| Vec::new()).collect();
    let (names, asked, counts) = (Shared::new(names), picks::Asked::default(), Counts::of_one());
    let mut sequence = Sequence { database, names, model, asked, lines, is_thorough, counts };
    for step in steps {
        sequence.step(step).await?;
    }
    sequence.finish().await?;
    Ok(sequence.counts)
}

impl Sequence<'_> {
    async fn step(&mut self, step: &Step) -> Done {
        let node = usize::from(step.second_node && self.database.is_shared);
        self.database.now += 1;
        match &step.act {
            Act::Wait(ms) => {
                self.commit_all().await?;
                self.database.now += i64::from(*ms);
            }
            Act::Crash { after_commit } => self.crash(node, *after_commit).await?,
            Act::Stop => {
                self.ask(node, Write::Leave).await?;
                self.commit(node).await?;
                self.crash(node, true).await?;
            }
            // A heartbeat bypasses the writer.
            Act::Heartbeat if self.database.is_shared => {
                let node = &self.database.nodes[node];
                nodes::heartbeat(&node.store, self.database.now).await?;
                self.model.nodes.insert(node.life);
            }
            act => {
                let Some(write) = self.asked.resolve(act, &self.model, self.database.now) else {
                    return Ok(());
                };
                // A chunk fills a group.
                let waits = step.waits && !matches!(write, Write::CancelChunk { .. });
                self.ask(node, write).await?;
                if !waits {
                    self.commit(node).await?;
                }
            }
        }
        Ok(())
    }

    /// Completes every marked cancel, lets all deadlines pass, and compares everything.
    async fn finish(&mut self) -> Done {
        self.commit_all().await?;
        let marked = self.model.batches.iter().filter(|(_, batch)| batch.is_cancelling);
        for batch in marked.map(|(batch, _)| *batch).collect::<Vec<_>>() {
            self.ask(0, Write::CancelChunk { batch }).await?;
            self.commit(0).await?;
        }
        self.look().await?;
        self.database.now += ALL_WINDOWS_MS;
        while self.model.requests.values().any(Request::is_live) {
            let answer = self.asked.answer();
            self.ask(0, Write::Expire { limit: CHUNK, answer }).await?;
            self.commit(0).await?;
        }
        self.look().await?;
        self.database.audit().await
    }

    async fn ask(&mut self, node: usize, write: Write) -> Done {
        let (store, at) = (&self.database.nodes[node].store, self.database.now);
        let mut read = Read { members: Vec::new(), leases: self.model.leases.clone() };
        match &write {
            Write::Group { account, requests, .. } => {
                let names = self.names.get();
                let ids: Vec<_> = requests.iter().map(|request| names.request_id(*request)).collect();
                read.members = batches::resolve(store, names.accounts[*account], &ids).await?;
                read.members.sort_by_key(|member| ids.iter().position(|id| *id == member.id));
                same("how many requests are found", read.members.len(), ids.len())?;
            }
            Write::Expire { .. } => {
                let is_overdue = self.model.requests.values().any(|it| it.is_live() && it.new.deadline <= at);
                same("whether a deadline has passed", expiry::is_overdue(store, at).await?, is_overdue)?;
                if !is_overdue {
                    return Ok(());
                }
            }
            _ => {}
        }
        let asked = Asked { at, write };
        let mut operation = begin(store.clone(), &self.names, &read, &asked);
        match operation.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => self.lines[node].push((asked, operation)),
            Poll::Ready(answer) => {
                return Err(Broken(format!("{asked:?} does not wait for a commit: {answer:?}")));
            }
        }
        ensure!(store.writes_waiting() == self.lines[node].len(), "a write does not stand in line");
        Ok(())
    }

    /// Writes a node's queue in one group.
    async fn commit(&mut self, node: usize) -> Done {
        let (group, operations): (Vec<_>, Vec<_>) = std::mem::take(&mut self.lines[node]).into_iter().unzip();
        if group.is_empty() {
            return Ok(());
        }
        let at = &mut self.database.nodes[node];
        self.counts.note_before(&group, at.life, &self.model);
        let expected = self.model.commit(at.life, &group);
        ensure!(at.writer.commit_next().await?, "nothing stands in line");
        ensure!(!at.writer.commit_next().await?, "{group:?} is not one group");
        for ((asked, operation), expected) in group.iter().zip(operations).zip(expected) {
            let answer = operation.await?;
            self.counts.note(&answer);
            same(&format!("{asked:?}"), answer, expected)?;
        }
        self.learn().await?;
        if self.is_thorough {
            self.look().await?;
        }
        Ok(())
    }

    async fn commit_all(&mut self) -> Done {
        for node in 0..self.lines.len() {
            self.commit(node).await?;
        }
        Ok(())
    }

    /// A process dies, and no caller in its queue is told. A folder's leases end with it.
    async fn crash(&mut self, node: usize, after_commit: bool) -> Done {
        let (group, operations): (Vec<_>, Vec<_>) = std::mem::take(&mut self.lines[node]).into_iter().unzip();
        drop(operations);
        self.counts.note_crash(!group.is_empty(), after_commit);
        if after_commit {
            self.model.commit(self.database.nodes[node].life, &group);
        }
        let point = if after_commit { CrashPoint::AfterCommit } else { CrashPoint::BeforeCommit };
        let life = self.database.restart(node, point).await?;
        if !self.database.is_shared {
            self.model.reclaim(|_| true);
            self.model.nodes.clear();
        }
        self.model.nodes.insert(life);
        self.learn().await
    }

    /// Learns the store's names for everything in the model: all of it must exist.
    async fn learn(&mut self) -> Done {
        let store = &self.database.nodes[0].store;
        let names = self.names.get();
        for (name, request) in self.model.requests.iter_mut().filter(|(_, request)| request.seq == 0) {
            let (account, model) = (request.new.account, request.new.model);
            let found = requests::find_seq(store, names.accounts[account], names.request_id(*name)).await?;
            request.seq = found.ok_or_else(|| Broken(format!("request {name} is not there")))?;
            self.names.add_request(*name, request.seq, account, model);
        }
        for (name, batch) in &self.model.batches {
            if !names.batches.contains_key(name) {
                let found =
                    batches::find(store, names.accounts[batch.account], names.batch_id(*name)).await?;
                let (row, _) = found.ok_or_else(|| Broken(format!("batch {name} is not there")))?;
                self.names.add_batch(*name, row);
            }
        }
        Ok(())
    }

    /// Compares every node with the model.
    async fn look(&self) -> Done {
        for node in &self.database.nodes {
            compare(&node.store, &self.names.get(), &self.model).await?;
        }
        Ok(())
    }
}
