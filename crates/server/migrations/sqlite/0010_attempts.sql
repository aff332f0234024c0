-- The attempts at a request that failed and count against it, for its owner to read.
CREATE TABLE attempts (
    request INTEGER NOT NULL,
    number INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    status INTEGER,
    message TEXT NOT NULL,
    PRIMARY KEY (request, number)
) STRICT, WITHOUT ROWID;
