-- The order of a queue partition is cut into segments, of which each engine replica sweeps its own: before, all took runs of one
-- sweep. A segment begins behind its first place and ends where the next one begins.
CREATE TABLE segments (
    model      BIGINT NOT NULL,
    account    BIGINT NOT NULL,
    begin_key  BYTEA NOT NULL,
    begin_seq  BIGINT NOT NULL,
    -- How far its sweep has come.
    cursor_key BYTEA NOT NULL,
    cursor_seq BIGINT NOT NULL,
    -- Whose it is: a node's replica, by the number that the node gave it.
    node       BIGINT NOT NULL,
    replica    BIGINT NOT NULL,
    -- When it was scanned last, in milliseconds: one that nobody scans becomes part of its neighbour.
    scanned_at BIGINT NOT NULL,
    PRIMARY KEY (model, account, begin_key, begin_seq)
) WITH (fillfactor = 50);

DROP TABLE sweeps;
