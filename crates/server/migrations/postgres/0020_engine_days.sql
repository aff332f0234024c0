-- What engines with a daily budget were sent, by the day in UTC: its number since the Unix epoch, and the engine's name in the
-- settings. Nodes add to it about once a second while they send, and read it before they send anything on a day.
CREATE TABLE engine_days (
    day      BIGINT NOT NULL,
    name     TEXT NOT NULL,
    requests BIGINT NOT NULL,
    tokens   BIGINT NOT NULL,
    PRIMARY KEY (day, name)
);
