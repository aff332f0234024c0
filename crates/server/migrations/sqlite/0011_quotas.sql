-- What an account uses, counted in its row by every write that changes it, so that a create knows it without counting; and the
-- quotas of this account, null where those of the settings apply.
--
-- A request stores 512 bytes for its rows, and the bytes of its body, metadata, failed attempts and result. A batch stores 512 bytes,
-- those of its metadata, and 16 for each request. A webhook stores its URL twice, and 1,024 bytes for its event.
ALTER TABLE accounts ADD COLUMN live_requests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN live_requests_quota INTEGER;
ALTER TABLE accounts ADD COLUMN stored_bytes_quota INTEGER;
ALTER TABLE accounts ADD COLUMN requests_per_second_quota INTEGER;
ALTER TABLE accounts ADD COLUMN tokens_per_day_quota INTEGER;

UPDATE accounts SET live_requests = live_requests + counted.requests FROM (
    SELECT account, count(*) AS requests FROM request_states WHERE state < 3 GROUP BY account) AS counted
WHERE accounts.seq = counted.account;
UPDATE accounts SET stored_bytes = stored_bytes + counted.bytes FROM (
    SELECT account, sum(512 + octet_length(body) + coalesce(octet_length(metadata), 0) + coalesce(1024 + 2 * octet_length(webhook), 0)) AS bytes
    FROM requests GROUP BY account) AS counted
WHERE accounts.seq = counted.account;
UPDATE accounts SET stored_bytes = stored_bytes + counted.bytes FROM (
    SELECT rs.account, sum(octet_length(t.body)) AS bytes
    FROM results t JOIN request_states rs ON rs.seq = t.request GROUP BY rs.account) AS counted
WHERE accounts.seq = counted.account;
UPDATE accounts SET stored_bytes = stored_bytes + counted.bytes FROM (
    SELECT rs.account, sum(octet_length(a.message)) AS bytes
    FROM attempts a JOIN request_states rs ON rs.seq = a.request GROUP BY rs.account) AS counted
WHERE accounts.seq = counted.account;
UPDATE accounts SET stored_bytes = stored_bytes + counted.bytes FROM (
    SELECT account, sum(512 + coalesce(octet_length(metadata), 0) + coalesce(1024 + 2 * octet_length(webhook), 0)
                        + 16 * (registered + in_progress + completed + failed + cancelled)) AS bytes
    FROM batches GROUP BY account) AS counted
WHERE accounts.seq = counted.account;

-- How many requests of a batch were deleted when their retention was over. The counters still count them.
ALTER TABLE batches ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;

-- The highest row numbers that were deleted, so that none is given out twice.
CREATE TABLE last_deleted (
    table_name TEXT PRIMARY KEY,
    seq        INTEGER NOT NULL
) WITHOUT ROWID;
