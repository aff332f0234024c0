//! The assignment of engine replicas to nodes. One node at a time drives a replica; the replicas of a removed node are
//! free.

use crate::database::{Dialect, Value, statements};
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

statements! {
    /// Replicas that the node can no longer drive.
    FORGET_NODE_REPLICAS = { postgres: "DELETE FROM node_replicas WHERE node = ? AND name = ANY (?::text[])" };
    RELEASE = { postgres: "UPDATE replicas SET node = NULL WHERE node = ? AND name = ANY (?::text[])" };
    /// Takes free replicas and skips rows that another node has locked.
    TAKE = { postgres: "UPDATE replicas SET node = ?, taken_at = ? WHERE name IN (
            SELECT r.name FROM replicas r WHERE r.name = ANY (?::text[])
              AND (r.node IS NULL OR NOT EXISTS (SELECT 1 FROM nodes n WHERE n.seq = r.node))
            ORDER BY r.name LIMIT ? FOR UPDATE SKIP LOCKED
        )" };
    INSERT_NODE_REPLICAS = { postgres: "WITH me(seq) AS (SELECT seq FROM nodes WHERE seq = ?)
        INSERT INTO node_replicas (node, name) SELECT me.seq, v.name FROM me, pg_catalog.unnest(?::text[]) AS v(name)
        ON CONFLICT DO NOTHING" };
    SHARE = { postgres: "SELECT ceil(coalesce(sum(1.0 / c.nodes), 0) - 0.001)::bigint AS share FROM (
            SELECT count(*) AS nodes FROM node_replicas r JOIN nodes n ON n.seq = r.node
            WHERE r.name = ANY (?::text[]) GROUP BY r.name HAVING bool_or(r.node = ?)) c" };
    HELD = { postgres: "SELECT name FROM replicas WHERE node = ? AND name = ANY (?::text[]) ORDER BY name" };
    MAKE = { postgres: "INSERT INTO replicas (name, taken_at) SELECT name, ? FROM pg_catalog.unnest(?::text[]) AS v(name)
        ON CONFLICT DO NOTHING" };
}

/// A node's claim to shared replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Replicas that it can drive, by name.
    pub names: Vec<String>,
    /// Replicas that it stops driving.
    pub giving_up: Vec<String>,
    /// Replicas that it can no longer drive.
    pub left: Vec<String>,
    /// In milliseconds.
    pub now: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    pub held: Vec<String>,
    /// How many it should drive, so that nodes drive about the same number.
    pub share: usize,
}

/// Releases `giving_up` and takes free replicas up to this node's share. On SQLite the node holds every replica.
pub async fn claim(store: &Store, claim: Claim) -> Result<Claimed, StoreError> {
    if store.dialect() == Dialect::Sqlite {
        return Ok(Claimed { share: claim.names.len(), held: claim.names });
    }
    store.writer().write(claim).await
}

impl Operation for Claim {
    type Answer = Claimed;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::ClaimReplicas;

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<Claimed>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.take(write).await?);
        }
        Ok(answers)
    }
}

impl Claim {
    async fn take(&self, write: &mut WriteTransaction<'_>) -> Result<Claimed, StoreError> {
        let me = write.node.key;
        if !self.left.is_empty() {
            write.tx.execute(FORGET_NODE_REPLICAS.bind(me).bind(list(&self.left))).await?;
        }
        let given_up: Vec<_> = self.giving_up.iter().chain(&self.left).cloned().collect();
        if !given_up.is_empty() {
            write.tx.execute(RELEASE.bind(me).bind(list(&given_up))).await?;
        }
        let share = self.share(write).await?;
        let mut held = self.held(write).await?;
        if let Some(wanted) = share.checked_sub(held.len()).filter(|wanted| *wanted > 0) {
            self.make(write).await?;
            let take = TAKE.bind(me).bind(self.now).bind(list(&self.names)).bind(wanted as i64);
            if write.tx.execute(take).await? > 0 {
                held = self.held(write).await?;
            }
        }
        Ok(Claimed { held, share })
    }

    /// This node's share: the sum over replicas of one divided by the number of nodes that can drive the replica. 0 while peers have
    /// removed this node.
    async fn share(&self, write: &mut WriteTransaction<'_>) -> Result<usize, StoreError> {
        write.tx.execute(INSERT_NODE_REPLICAS.bind(write.node.key).bind(list(&self.names))).await?;
        let rows = write.tx.fetch(SHARE.bind(list(&self.names)).bind(write.node.key)).await?;
        let share: i64 = rows.first().ok_or(StoreError::Damaged("a count of nodes"))?.get("share")?;
        Ok(usize::try_from(share).unwrap_or(0))
    }

    async fn held(&self, write: &mut WriteTransaction<'_>) -> Result<Vec<String>, StoreError> {
        let rows = write.tx.fetch(HELD.bind(write.node.key).bind(list(&self.names))).await?;
        rows.iter().map(|row| row.get("name")).collect()
    }

    /// For replicas that no node has named before.
    async fn make(&self, write: &mut WriteTransaction<'_>) -> Result<(), StoreError> {
        write.tx.execute(MAKE.bind(self.now).bind(list(&self.names))).await.map(drop)
    }
}

fn list(names: &[String]) -> Value {
    Value::Texts(names.iter().cloned().map(Some).collect())
}
