-- Nodes share the order of a queue partition in segments, of which each engine replica sweeps its own: before, all took runs of
-- one sweep. On SQLite there is one node, which needs no rows for that.
CREATE TABLE segments (
    model      INTEGER NOT NULL,
    account    INTEGER NOT NULL,
    begin_key  BLOB NOT NULL,
    begin_seq  INTEGER NOT NULL,
    cursor_key BLOB NOT NULL,
    cursor_seq INTEGER NOT NULL,
    node       INTEGER NOT NULL,
    replica    INTEGER NOT NULL,
    scanned_at INTEGER NOT NULL,
    PRIMARY KEY (model, account, begin_key, begin_seq)
) WITHOUT ROWID;

DROP TABLE sweeps;
