-- The outbox. An event is written in the transaction that ended its request or batch, and is delivered or given up later.

-- In which lane the end is told, from the moment of acceptance on; null where nobody is told. A lane is an account and one
-- of its receivers' hosts, or some of very many: 256 times the account's number, and a part of the host's digest. What ended
-- before there were events is not told of, and what lives stands in its account's first lane.
ALTER TABLE progress ADD COLUMN lane INTEGER;
ALTER TABLE queue ADD COLUMN lane INTEGER;
ALTER TABLE batches ADD COLUMN lane INTEGER;
UPDATE progress SET lane = 256 * account
    WHERE state < 3 AND EXISTS (SELECT 1 FROM requests r WHERE r.seq = progress.seq AND r.webhook IS NOT NULL);
UPDATE queue SET lane = (SELECT p.lane FROM progress p WHERE p.seq = queue.seq);
UPDATE batches SET lane = 256 * account
    WHERE webhook IS NOT NULL AND completed_at IS NULL AND (cancelled_at IS NULL OR cancelling = 1);

-- kind: 0 request.completed, 1 request.failed, 2 request.cancelled, 3 batch.completed, 4 batch.cancelled. state: 0 live, 1
-- delivered, 2 exhausted. A live event waits for due_at, or is being sent by its owner since claimed_at. number counts its
-- tries, failures those in a row that the schedule counts. Where it leads and what is sent stand from the first try on.
CREATE TABLE events (
    seq        INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    account    INTEGER NOT NULL,
    lane       INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    request    INTEGER,
    batch      INTEGER,
    created_at INTEGER NOT NULL,
    state      INTEGER NOT NULL DEFAULT 0,
    due_at     INTEGER,
    owner      INTEGER,
    claimed_at INTEGER,
    ended_at   INTEGER,
    number     INTEGER NOT NULL DEFAULT 0,
    failures   INTEGER NOT NULL DEFAULT 0,
    url        TEXT,
    payload    BLOB
);
CREATE INDEX events_by_account ON events (account, seq);
CREATE INDEX events_due ON events (lane, due_at, seq) WHERE due_at IS NOT NULL;
CREATE INDEX events_sending ON events (owner) WHERE owner IS NOT NULL;
CREATE UNIQUE INDEX events_by_request ON events (request) WHERE request IS NOT NULL;
CREATE UNIQUE INDEX events_by_batch ON events (batch) WHERE batch IS NOT NULL;

-- One row a try. status is what the receiver answered; failure, why there was no answer.
CREATE TABLE deliveries (
    event       INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    duration_ms INTEGER,
    status      INTEGER,
    failure     TEXT,
    PRIMARY KEY (event, number)
) WITHOUT ROWID;
CREATE INDEX deliveries_by_account ON deliveries (account, started_at, event, number);

-- What an account's webhooks are signed with; while one replaces another, both are.
CREATE TABLE webhook_secrets (
    seq        INTEGER PRIMARY KEY,
    account    INTEGER NOT NULL,
    secret     BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER
);
CREATE INDEX webhook_secrets_by_account ON webhook_secrets (account, seq);
INSERT INTO webhook_secrets (account, secret, created_at) SELECT seq, randomblob(32), created_at FROM accounts;
