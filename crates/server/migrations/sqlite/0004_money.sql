-- Money is whole nano-credits. What a request holds of its account, and the price that it was accepted at, stand where an
-- end needs them: in its progress row, and from its release on in its queue row too.

-- balance is the sum of the account's ledger entries, held that of its live requests' holds. An account that was made
-- before there were payments goes on.
ALTER TABLE accounts ADD COLUMN balance INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN payments_activated_at INTEGER;
UPDATE accounts SET payments_activated_at = created_at;

-- Every pair of prices that requests were ever accepted at, per million tokens.
CREATE TABLE prices (
    seq    INTEGER PRIMARY KEY,
    input  INTEGER NOT NULL,
    output INTEGER NOT NULL,
    UNIQUE (input, output)
);

-- No price: the request costs nothing, whatever it uses.
ALTER TABLE progress ADD COLUMN hold INTEGER NOT NULL DEFAULT 0;
ALTER TABLE progress ADD COLUMN price INTEGER;
ALTER TABLE queue ADD COLUMN hold INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue ADD COLUMN price INTEGER;

-- The output limit that was held, which the engine is sent; the settings of now, where it is null.
ALTER TABLE requests ADD COLUMN max_tokens INTEGER;

-- Append-only. kind: 0 grant, 1 top-up, 2 charge, 3 refund, 4 dispute. A charge is told by its result, which it has to
-- itself, and names its request by its id; anything else by its source.
CREATE TABLE ledger (
    seq        INTEGER PRIMARY KEY,
    account    INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    amount     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    source     TEXT,
    request    BLOB,
    result     INTEGER,
    model      INTEGER
);
CREATE INDEX ledger_by_account ON ledger (account, seq);
CREATE UNIQUE INDEX ledger_by_source ON ledger (kind, source) WHERE source IS NOT NULL;
CREATE UNIQUE INDEX ledger_by_result ON ledger (result) WHERE result IS NOT NULL;

-- What completed, by day (since 1970, UTC) and model.
CREATE TABLE spend (
    account           INTEGER NOT NULL,
    day               INTEGER NOT NULL,
    model             INTEGER NOT NULL,
    requests          INTEGER NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    amount            INTEGER NOT NULL,
    PRIMARY KEY (account, day, model)
) WITHOUT ROWID;

-- Orders of credits. amount is in the smallest unit of its currency; session is the provider's name of the
-- page at which it is paid, reference that of the payment, once there is one.
CREATE TABLE payments (
    seq        INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    account    INTEGER NOT NULL,
    provider   TEXT NOT NULL,
    credits    INTEGER NOT NULL,
    amount     INTEGER NOT NULL,
    currency   TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    session    TEXT,
    paid_at    INTEGER,
    reference  TEXT UNIQUE
);
CREATE INDEX payments_by_account ON payments (account, seq);
