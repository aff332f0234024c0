-- What a lease and a settle must know of a request stands in its queue row, its batch too. What nodes share (sweeps,
-- engine replicas) stands in rows; in one folder there is one node.

ALTER TABLE queue ADD COLUMN batch INTEGER;
UPDATE queue SET batch = (SELECT p.batch FROM progress p WHERE p.seq = queue.seq);

-- What people call it, and whether it drives engines.
ALTER TABLE owners ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE owners ADD COLUMN schedules INTEGER NOT NULL DEFAULT 1;

-- Behind which place of a group the next stretch is taken.
CREATE TABLE sweeps (
    model    INTEGER NOT NULL,
    account  INTEGER NOT NULL,
    sort_key BLOB NOT NULL,
    seq      INTEGER NOT NULL,
    PRIMARY KEY (model, account)
) WITHOUT ROWID;

-- Which process drives which engine replica.
CREATE TABLE replicas (
    name     TEXT PRIMARY KEY,
    owner    INTEGER,
    taken_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Which process could drive which engine replica.
CREATE TABLE drivers (
    owner INTEGER NOT NULL,
    name  TEXT NOT NULL,
    PRIMARY KEY (owner, name)
) WITHOUT ROWID;

-- The last group of writes that a process committed: what tells of a commit whose answer was lost.
CREATE TABLE commits (
    owner  INTEGER PRIMARY KEY,
    number INTEGER NOT NULL
);
