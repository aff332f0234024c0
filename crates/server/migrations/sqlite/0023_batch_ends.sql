-- The order in which the requests of a batch ended: a row for each write that ended some, with their row numbers, 8 bytes each, the
-- first byte the highest. `ended` is how many had ended with it, so a row holds the places up to that one. A batch counts under
-- the lock of its row, so no place is given out before all earlier ones are committed. Requests that ended before this schema, or by
-- a node of an earlier one, leave places free, which are filled when somebody reads them. 0 is a request that was deleted before.
CREATE TABLE batch_ends (
    batch    INTEGER NOT NULL,
    ended    INTEGER NOT NULL,
    requests BLOB NOT NULL,
    PRIMARY KEY (batch, ended)
) WITHOUT ROWID;
