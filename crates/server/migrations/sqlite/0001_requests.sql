-- Facts are written once, progress moves, the queue holds what waits or runs, results are written once in order of ending.
-- Times are milliseconds; ids are the 16 bytes of a UUIDv7; bodies are JSON text kept as bytes.

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE accounts (
    seq        INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL
);

CREATE TABLE api_keys (
    seq        INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    account    INTEGER NOT NULL,
    sha256     BLOB NOT NULL UNIQUE,
    prefix     TEXT NOT NULL,
    name       TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
);
CREATE INDEX api_keys_by_account ON api_keys (account, seq);

CREATE TABLE models (
    seq  INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE requests (
    seq        INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    account    INTEGER NOT NULL,
    model      INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    metadata   BLOB,
    webhook    TEXT,
    body       BLOB NOT NULL
);

-- state: 0 gathering, 1 queued, 2 in progress, 3 completed, 4 failed, 5 cancelled. Live is < 3.
CREATE TABLE progress (
    seq            INTEGER PRIMARY KEY,
    account        INTEGER NOT NULL,
    model          INTEGER NOT NULL,
    state          INTEGER NOT NULL,
    batch          INTEGER,
    ready_at       INTEGER NOT NULL,
    deadline       INTEGER NOT NULL,
    in_progress_at INTEGER,
    ended_at       INTEGER,
    result_seq     INTEGER,
    cost           INTEGER NOT NULL,
    sort_key       BLOB NOT NULL
);
CREATE INDEX progress_by_account ON progress (account, seq);
CREATE INDEX progress_by_batch ON progress (batch, seq) WHERE batch IS NOT NULL;
CREATE INDEX progress_gathering ON progress (ready_at, seq) WHERE state = 0;
CREATE INDEX progress_live ON progress (model, deadline) WHERE state < 3;

-- phase: 0 waiting, 1 leased.
CREATE TABLE queue (
    model       INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    sort_key    BLOB NOT NULL,
    seq         INTEGER NOT NULL,
    phase       INTEGER NOT NULL,
    deadline    INTEGER NOT NULL,
    cost        INTEGER NOT NULL,
    lease_epoch INTEGER NOT NULL,
    owner       INTEGER,
    attempts    INTEGER NOT NULL,
    retry_at    INTEGER NOT NULL,
    suspect     INTEGER NOT NULL,
    PRIMARY KEY (model, account, sort_key, seq)
) WITHOUT ROWID;

CREATE TABLE results (
    seq               INTEGER PRIMARY KEY,
    request           INTEGER NOT NULL,
    prompt_tokens     INTEGER,
    completion_tokens INTEGER,
    body              BLOB NOT NULL
);

CREATE TABLE batches (
    seq            INTEGER PRIMARY KEY,
    id             BLOB NOT NULL UNIQUE,
    account        INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    in_progress_at INTEGER,
    completed_at   INTEGER,
    cancelled_at   INTEGER,
    cancelling     INTEGER NOT NULL DEFAULT 0,
    registered     INTEGER NOT NULL,
    in_progress    INTEGER NOT NULL,
    completed      INTEGER NOT NULL,
    failed         INTEGER NOT NULL,
    cancelled      INTEGER NOT NULL,
    webhook        TEXT,
    metadata       BLOB
);
CREATE INDEX batches_by_account ON batches (account, seq);
CREATE INDEX batches_cancelling ON batches (seq) WHERE cancelling = 1;

-- The ids of a batch in the order they were sent, a few hundred to a row, 16 bytes each.
CREATE TABLE batch_members (
    batch INTEGER NOT NULL,
    place INTEGER NOT NULL,
    ids   BLOB NOT NULL,
    PRIMARY KEY (batch, place)
);

-- A process that leases; its heartbeat renews all its leases.
CREATE TABLE owners (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    heartbeat_at INTEGER NOT NULL
);
