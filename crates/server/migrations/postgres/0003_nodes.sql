-- What a lease and a settle must know of a request stands in its queue row, its batch too. What nodes share (sweeps,
-- engine replicas) stands in rows.

ALTER TABLE queue ADD COLUMN batch BIGINT;

-- What people call it, and whether it drives engines.
ALTER TABLE owners ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE owners ADD COLUMN schedules BIGINT NOT NULL DEFAULT 1;

-- Behind which place of a group the next stretch is taken.
CREATE TABLE sweeps (
    model    BIGINT NOT NULL,
    account  BIGINT NOT NULL,
    sort_key BYTEA NOT NULL,
    seq      BIGINT NOT NULL,
    PRIMARY KEY (model, account)
) WITH (fillfactor = 50);

-- Which process drives which engine replica.
CREATE TABLE replicas (
    name     TEXT PRIMARY KEY,
    owner    BIGINT,
    taken_at BIGINT NOT NULL
) WITH (fillfactor = 50);

-- Which process could drive which engine replica.
CREATE TABLE drivers (
    owner BIGINT NOT NULL,
    name  TEXT NOT NULL,
    PRIMARY KEY (owner, name)
);

-- The last group of writes that a process committed: what tells of a commit whose answer was lost.
CREATE TABLE commits (
    owner  BIGINT PRIMARY KEY,
    number BIGINT NOT NULL
) WITH (fillfactor = 10);
