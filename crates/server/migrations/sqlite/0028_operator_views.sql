-- For people with a SQL prompt: views with identifiers as the API writes them, states as words, times as UTC text and credits as numbers.
-- The views hold no bodies, metadata, URLs, messages of engines, keys or secrets. The service reads none of them. A later migration may
-- replace or drop any of them (CONTRIBUTING.md says how).

-- The engine replica that completed a request, or failed it last, by its name in the settings. Null where none did, and in every row of
-- the previous release, which does not fill it.
ALTER TABLE results ADD COLUMN engine TEXT;

-- An identifier is a prefix and 26 digits of 5 bits, of which the first two bits are 0: a digit lies within two hexadecimal ones.
CREATE VIEW overnight_accounts AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'acct_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(a.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(a.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND a.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.name, strftime('%Y-%m-%d %H:%M:%f', a.created_at / 1000.0, 'unixepoch') AS created_at,
       a.balance / 1e9 AS balance, a.held / 1e9 AS held, (a.balance - a.held) / 1e9 AS available,
       strftime('%Y-%m-%d %H:%M:%f', a.payments_activated_at / 1000.0, 'unixepoch') AS payments_activated_at, a.live_requests, a.stored_bytes,
       a.live_requests_quota, a.stored_bytes_quota, a.requests_per_second_quota, a.tokens_per_day_quota, a.id AS id_bytes, a.seq
FROM accounts a;

CREATE VIEW overnight_batches AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'batch_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(b.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(b.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND b.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name,
       CASE WHEN b.cancelled_at IS NOT NULL THEN 'cancelled' WHEN b.completed_at IS NOT NULL THEN 'completed'
            WHEN b.in_progress_at IS NOT NULL THEN 'in progress' ELSE 'registered' END AS status,
       strftime('%Y-%m-%d %H:%M:%f', b.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', b.in_progress_at / 1000.0, 'unixepoch') AS in_progress_at,
       strftime('%Y-%m-%d %H:%M:%f', b.completed_at / 1000.0, 'unixepoch') AS completed_at,
       strftime('%Y-%m-%d %H:%M:%f', b.cancelled_at / 1000.0, 'unixepoch') AS cancelled_at,
       b.registered, b.in_progress, b.completed, b.failed, b.cancelled, b.deleted,
       (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'file_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(i.file_id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(i.file_id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND i.file_id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS file,
       i.lines AS file_lines, i.filled AS file_lines_filled, i.fault_count AS file_faults,
       b.id AS id_bytes, b.seq
FROM batches b
JOIN overnight_accounts a ON a.seq = b.account
LEFT JOIN batch_inputs i ON i.batch = b.seq;

CREATE VIEW overnight_requests AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'req_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND r.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name,
       (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'batch_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(b.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(b.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND b.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS batch,
       m.name AS model,
       CASE r.endpoint WHEN 0 THEN '/v1/chat/completions' WHEN 1 THEN '/v1/completions' WHEN 2 THEN '/v1/embeddings' END AS endpoint,
       CASE s.state WHEN 0 THEN 'registered' WHEN 1 THEN 'registered' WHEN 2 THEN 'in progress' WHEN 3 THEN 'completed'
                    WHEN 4 THEN 'failed' WHEN 5 THEN 'cancelled' END AS status,
       CASE s.state WHEN 0 THEN 'gathering' WHEN 1 THEN 'queued' WHEN 2 THEN 'in progress' WHEN 3 THEN 'completed'
                    WHEN 4 THEN 'failed' WHEN 5 THEN 'cancelled' END AS state,
       strftime('%Y-%m-%d %H:%M:%f', r.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', s.deadline / 1000.0, 'unixepoch') AS expires_at,
       strftime('%Y-%m-%d %H:%M:%f', rs.released_at / 1000.0, 'unixepoch') AS released_at,
       strftime('%Y-%m-%d %H:%M:%f', s.in_progress_at / 1000.0, 'unixepoch') AS in_progress_at,
       strftime('%Y-%m-%d %H:%M:%f', s.ended_at / 1000.0, 'unixepoch') AS ended_at,
       (SELECT count(*) FROM attempts t WHERE t.request = r.seq) AS failed_attempts,
       t.engine, t.prompt_tokens, t.completion_tokens, -l.amount / 1e9 AS charged, rs.hold / 1e9 AS held,
       length(r.body) AS body_bytes, length(t.body) AS result_bytes, r.id AS id_bytes, r.seq
FROM current_states s
JOIN request_states rs ON rs.seq = s.seq
JOIN requests r ON r.seq = s.seq
JOIN overnight_accounts a ON a.seq = r.account
JOIN models m ON m.seq = r.model
LEFT JOIN batches b ON b.seq = s.batch
LEFT JOIN results t ON t.seq = s.result_seq
LEFT JOIN ledger l ON l.result = s.result_seq AND l.result IS NOT NULL;

CREATE VIEW overnight_queue AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'req_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND r.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name, m.name AS model,
       CASE WHEN q.phase = 1 THEN 'leased' WHEN q.in_progress_at IS NULL THEN 'waiting' ELSE 'waiting again' END AS state,
       n.name AS node,
       strftime('%Y-%m-%d %H:%M:%f', q.deadline / 1000.0, 'unixepoch') AS expires_at,
       strftime('%Y-%m-%d %H:%M:%f', q.in_progress_at / 1000.0, 'unixepoch') AS in_progress_at,
       q.attempts AS failed_attempts, CASE WHEN q.retry_at > 0 THEN strftime('%Y-%m-%d %H:%M:%f', q.retry_at / 1000.0, 'unixepoch') END AS retry_at,
       q.suspect > 0 AS is_suspect, q.seq
FROM queue q
JOIN requests r ON r.seq = q.seq
JOIN overnight_accounts a ON a.seq = q.account
JOIN models m ON m.seq = q.model
LEFT JOIN nodes n ON n.seq = q.node;

CREATE VIEW overnight_attempts AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'req_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND r.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS request,
       a.id AS account, a.name AS account_name, m.name AS model,
       t.number, strftime('%Y-%m-%d %H:%M:%f', t.ended_at / 1000.0, 'unixepoch') AS ended_at, t.status AS http_status, t.engine
FROM attempts t
JOIN requests r ON r.seq = t.request
JOIN overnight_accounts a ON a.seq = r.account
JOIN models m ON m.seq = r.model;

CREATE VIEW overnight_files AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'file_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(f.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(f.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND f.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name,
       CASE f.state WHEN 0 THEN 'coming' WHEN 1 THEN 'ready' WHEN 2 THEN 'deleted' END AS state,
       strftime('%Y-%m-%d %H:%M:%f', f.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', f.expires_at / 1000.0, 'unixepoch') AS expires_at,
       f.bytes, f.endpoint, f.lines, f.fault_count AS faults, f.id AS id_bytes, f.seq
FROM files f
JOIN overnight_accounts a ON a.seq = f.account;

CREATE VIEW overnight_api_keys AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'key_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(k.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(k.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND k.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name, k.name,
       strftime('%Y-%m-%d %H:%M:%f', k.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', k.expires_at / 1000.0, 'unixepoch') AS expires_at,
       strftime('%Y-%m-%d %H:%M:%f', k.revoked_at / 1000.0, 'unixepoch') AS revoked_at,
       strftime('%Y-%m-%d %H:%M:%f', k.last_used_at / 1000.0, 'unixepoch') AS last_used_at
FROM api_keys k
JOIN overnight_accounts a ON a.seq = k.account;

CREATE VIEW overnight_users AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'usr_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(u.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(u.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND u.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       u.email, u.is_operator = 1 AS is_operator,
       strftime('%Y-%m-%d %H:%M:%f', u.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', u.signed_in_at / 1000.0, 'unixepoch') AS signed_in_at
FROM users u;

CREATE VIEW overnight_members AS
SELECT a.id AS account, a.name AS account_name,
       (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'usr_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(u.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(u.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND u.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS user_id,
       u.email,
       CASE m.role WHEN 0 THEN 'viewer' WHEN 1 THEN 'developer' WHEN 2 THEN 'owner' END AS role,
       strftime('%Y-%m-%d %H:%M:%f', m.created_at / 1000.0, 'unixepoch') AS created_at
FROM members m
JOIN overnight_accounts a ON a.seq = m.account
JOIN users u ON u.seq = m.user_seq;

CREATE VIEW overnight_ledger AS
SELECT a.id AS account, a.name AS account_name,
       CASE l.kind WHEN 0 THEN 'grant' WHEN 1 THEN 'top_up' WHEN 2 THEN 'charge' WHEN 3 THEN 'refund' WHEN 4 THEN 'dispute' END AS kind,
       l.amount / 1e9 AS amount,
       strftime('%Y-%m-%d %H:%M:%f', l.created_at / 1000.0, 'unixepoch') AS created_at, l.source,
       (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'req_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(l.request), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(l.request), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND l.request IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS request,
       m.name AS model, l.seq
FROM ledger l
JOIN overnight_accounts a ON a.seq = l.account
LEFT JOIN models m ON m.seq = l.model;

CREATE VIEW overnight_spend AS
SELECT a.id AS account, a.name AS account_name, date(s.day * 86400, 'unixepoch') AS day, m.name AS model,
       s.requests, s.prompt_tokens, s.completion_tokens, s.amount / 1e9 AS amount
FROM spend s
JOIN overnight_accounts a ON a.seq = s.account
JOIN models m ON m.seq = s.model;

CREATE VIEW overnight_payments AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'pay_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(p.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(p.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND p.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name, p.provider,
       p.credits / 1e9 AS credits, p.amount, p.currency, strftime('%Y-%m-%d %H:%M:%f', p.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', p.paid_at / 1000.0, 'unixepoch') AS paid_at,
       strftime('%Y-%m-%d %H:%M:%f', p.check_at / 1000.0, 'unixepoch') AS check_at, p.reference
FROM payments p
JOIN overnight_accounts a ON a.seq = p.account;

CREATE VIEW overnight_webhook_events AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'evt_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(e.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(e.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND e.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name,
       CASE e.kind WHEN 0 THEN 'request.completed' WHEN 1 THEN 'request.failed' WHEN 2 THEN 'request.cancelled'
                   WHEN 3 THEN 'batch.completed' WHEN 4 THEN 'batch.cancelled' WHEN 5 THEN 'webhook.test' END AS type,
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

CREATE VIEW overnight_webhook_attempts AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'evt_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(e.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(e.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND e.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS event,
       a.id AS account, a.name AS account_name, d.number,
       strftime('%Y-%m-%d %H:%M:%f', d.started_at / 1000.0, 'unixepoch') AS started_at, d.duration_ms, d.status AS http_status, d.failure
FROM deliveries d
JOIN events e ON e.seq = d.event
JOIN overnight_accounts a ON a.seq = d.account;

CREATE VIEW overnight_nodes AS
SELECT n.seq AS number, n.name, strftime('%Y-%m-%d %H:%M:%f', n.heartbeat_at / 1000.0, 'unixepoch') AS heartbeat_at, n.schedules = 1 AS is_scheduler,
       (SELECT count(*) FROM queue q WHERE q.node = n.seq) AS leased_requests
FROM nodes n;

CREATE VIEW overnight_engines AS
SELECT e.name, n.name AS node,
       strftime('%Y-%m-%d %H:%M:%f', e.reported_at / 1000.0, 'unixepoch') AS reported_at, replace(e.models, char(10), ', ') AS models,
       e.is_driven = 1 AS is_driven, e.in_flight, e.max_concurrency,
       CASE WHEN e.reason IS NOT NULL THEN 'paused' WHEN e.paused_until IS NOT NULL THEN 'outside its hours' ELSE 'open' END AS state,
       strftime('%Y-%m-%d %H:%M:%f', e.paused_until / 1000.0, 'unixepoch') AS paused_until, e.tokens_per_second, e.cache_hit_percent
FROM engine_reports e
LEFT JOIN nodes n ON n.seq = e.node;
