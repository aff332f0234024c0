-- What calls with an Idempotency-Key were answered, written with what they did. `key` is the SHA-256 of the method, the path, the
-- key that was sent and, in bulk, the number of the line; `digest` that of what was sent. Rows are deleted after 48 hours.
CREATE TABLE idempotency_keys (
    account    INTEGER NOT NULL,
    key        BLOB NOT NULL,
    digest     BLOB NOT NULL,
    response   BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
