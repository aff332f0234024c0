-- Below how many credits that are available, in nano-credits, the account is told so, and the webhook that is told; both null where none is. And how far
-- that has come: null while as much is available, 0 once less is, 1 once an event tells of it; and when the last event was made, in milliseconds.
-- The previous release notes nothing; the next move of the account's credits does.
ALTER TABLE accounts ADD COLUMN low_credits_threshold INTEGER;
ALTER TABLE accounts ADD COLUMN low_credits_webhook TEXT;
ALTER TABLE accounts ADD COLUMN low_credits_notified INTEGER;
ALTER TABLE accounts ADD COLUMN low_credits_notified_at INTEGER;
CREATE INDEX accounts_low_credits ON accounts (seq) WHERE low_credits_notified = 0;

DROP VIEW overnight_accounts;
CREATE VIEW overnight_accounts AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'acct_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(a.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(a.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND a.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.name, strftime('%Y-%m-%d %H:%M:%f', a.created_at / 1000.0, 'unixepoch') AS created_at,
       a.balance / 1e9 AS balance, a.held / 1e9 AS held, (a.balance - a.held) / 1e9 AS available,
       strftime('%Y-%m-%d %H:%M:%f', a.payments_activated_at / 1000.0, 'unixepoch') AS payments_activated_at, a.live_requests, a.stored_bytes,
       a.live_requests_quota, a.stored_bytes_quota, a.requests_per_second_quota, a.tokens_per_day_quota, a.id AS id_bytes, a.seq,
       strftime('%Y-%m-%d %H:%M:%f', a.suspended_at / 1000.0, 'unixepoch') AS suspended_at, a.retention_ms,
       strftime('%Y-%m-%d %H:%M:%f', a.closed_at / 1000.0, 'unixepoch') AS closed_at,
       strftime('%Y-%m-%d %H:%M:%f', a.erase_at / 1000.0, 'unixepoch') AS erase_at,
       strftime('%Y-%m-%d %H:%M:%f', a.erased_at / 1000.0, 'unixepoch') AS erased_at,
       a.monthly_credits / 1e9 AS monthly_credits, a.low_credits_threshold / 1e9 AS low_credits_threshold,
       CASE a.low_credits_notified WHEN 0 THEN 'to be told' WHEN 1 THEN 'told' END AS low_credits,
       strftime('%Y-%m-%d %H:%M:%f', a.low_credits_notified_at / 1000.0, 'unixepoch') AS low_credits_notified_at
FROM accounts a;

DROP VIEW overnight_webhook_events;
CREATE VIEW overnight_webhook_events AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'evt_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(e.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(e.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND e.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name,
       CASE e.kind WHEN 0 THEN 'request.completed' WHEN 1 THEN 'request.failed' WHEN 2 THEN 'request.cancelled'
                   WHEN 3 THEN 'batch.completed' WHEN 4 THEN 'batch.cancelled' WHEN 5 THEN 'webhook.test'
                   WHEN 6 THEN 'account.low_credits' END AS type,
       coalesce((WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'req_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND r.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26),
       (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'batch_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(b.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(b.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND b.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26)) AS subject,
       CASE e.state WHEN 0 THEN 'pending' WHEN 1 THEN 'delivered' WHEN 2 THEN 'exhausted' END AS state,
       strftime('%Y-%m-%d %H:%M:%f', e.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', e.due_at / 1000.0, 'unixepoch') AS due_at,
       CASE WHEN e.node IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', e.claimed_at / 1000.0, 'unixepoch') END AS sending_since,
       strftime('%Y-%m-%d %H:%M:%f', e.ended_at / 1000.0, 'unixepoch') AS ended_at, e.number AS attempts,
       substr(e.authority, instr(e.authority, '@') + 1) AS host,
       d.status AS last_http_status, d.failure AS last_failure, e.id AS id_bytes, e.seq
FROM (SELECT *, substr(path, 1, instr(path, '/') - 1) AS authority FROM (
          SELECT *, replace(replace(substr(url, instr(url, '://') + 3), '?', '/'), '#', '/') || '/' AS path FROM events)) e
JOIN overnight_accounts a ON a.seq = e.account
LEFT JOIN requests r ON r.seq = e.request
LEFT JOIN batches b ON b.seq = e.batch
LEFT JOIN deliveries d ON d.event = e.seq AND d.number = CASE WHEN e.node IS NULL THEN e.number ELSE e.number - 1 END;
