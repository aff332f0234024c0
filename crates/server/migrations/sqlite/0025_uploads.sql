-- Files that clients upload in parts. A part is a file that comes (0022), of an upload, and is never a file of its own: it is given up with
-- its upload, or when it has become a part of the file.

-- state: 0 pending, 1 completed, 2 cancelled. The times are milliseconds; one that is pending at `expires_at` has expired. `bytes` is how
-- long the file is to be, `file_lasts_ms` how long it is kept, if not for good. A completed upload has the identifier of its `file`, and
-- in `digest` the SHA-256 of what it was completed with. Rows are deleted a day after their creation.
CREATE TABLE uploads (
    seq           INTEGER PRIMARY KEY,
    id            BLOB NOT NULL UNIQUE,
    account       INTEGER NOT NULL,
    state         INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    bytes         INTEGER NOT NULL,
    name          TEXT NOT NULL,
    file_lasts_ms INTEGER,
    file          BLOB,
    digest        BLOB
);
CREATE INDEX uploads_pending ON uploads (account, expires_at) WHERE state = 0;
CREATE INDEX uploads_by_age ON uploads (created_at);

-- Of a whole part: its upload.
ALTER TABLE files ADD COLUMN upload INTEGER;
CREATE INDEX files_by_upload ON files (upload, seq) WHERE upload IS NOT NULL;

-- The faults of files and batches count as stored bytes from here on.
UPDATE accounts SET stored_bytes = stored_bytes
    + (SELECT CAST(coalesce(sum(octet_length(f.faults)), 0) AS BIGINT) FROM files f WHERE f.account = accounts.seq AND f.state < 2)
    + (SELECT CAST(coalesce(sum(octet_length(i.faults)), 0) AS BIGINT) FROM batch_inputs i WHERE i.account = accounts.seq);
