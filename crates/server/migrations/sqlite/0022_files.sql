-- Files that clients upload. A file of batch lines is checked while it comes; batches take their requests from it, some at a time.

-- state: 0 coming, 1 ready, 2 deleted: its pieces are deleted some at a time. The times are milliseconds. `expires_at` is when the file
-- is deleted, if ever; that of a coming one moves while it comes. `endpoint` is the one that all of its lines name, `hold` the most that
-- they may cost, `faults` a JSON array of what is wrong with the first bad lines, of which there are `fault_count`.
CREATE TABLE files (
    seq         INTEGER PRIMARY KEY,
    id          BLOB NOT NULL UNIQUE,
    account     INTEGER NOT NULL,
    state       INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    bytes       INTEGER NOT NULL,
    name        TEXT NOT NULL,
    endpoint    TEXT,
    lines       INTEGER NOT NULL,
    hold        INTEGER NOT NULL,
    fault_count INTEGER NOT NULL,
    faults      BLOB
);
CREATE INDEX files_by_account ON files (account, seq);
CREATE INDEX files_by_expiry ON files (expires_at) WHERE expires_at IS NOT NULL AND state < 2;
CREATE INDEX files_deleted ON files (seq) WHERE state = 2;

-- What a file holds, in pieces of whole lines.
CREATE TABLE file_pieces (
    file    INTEGER NOT NULL,
    place   INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (file, place)
);

-- A batch whose requests come from a file. state: 0 being filled, 1 filled, or ended before that. Of its `lines` the first `filled` are
-- requests; the next one stands in `next_piece`, behind `next_line` others. Those that are no requests yet are counted as registered in
-- their batch. `filler_at` is when a process last worked on it. `deleted_outputs` is 1 for the output file, 2 for the error file, 3 for both.
CREATE TABLE batch_inputs (
    batch           INTEGER PRIMARY KEY,
    account         INTEGER NOT NULL,
    state           INTEGER NOT NULL,
    file            INTEGER NOT NULL,
    file_id         BLOB NOT NULL,
    endpoint        TEXT NOT NULL,
    lines           INTEGER NOT NULL,
    filled          INTEGER NOT NULL,
    next_piece      INTEGER NOT NULL,
    next_line       INTEGER NOT NULL,
    filler_at       INTEGER NOT NULL,
    fault_count     INTEGER NOT NULL,
    faults          BLOB,
    deleted_outputs INTEGER NOT NULL
);
CREATE INDEX batch_inputs_filling ON batch_inputs (account, batch) WHERE state = 0;
CREATE INDEX batch_inputs_by_file ON batch_inputs (file) WHERE state = 0;
