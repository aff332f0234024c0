-- For people with a SQL prompt: objects beside the database, by account and state; and how long bodies are that are objects. In the place of such a
-- body stands the name of its object, from the 17th byte on.
DROP VIEW overnight_requests;
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
       coalesce(CASE WHEN length(r.body) = 72 THEN (SELECT CAST(o.bytes AS INTEGER) FROM objects o WHERE o.name = substr(r.body, 17, 16)) END,
           length(r.body)) AS body_bytes,
       coalesce(CASE WHEN length(t.body) = 72 THEN (SELECT CAST(o.bytes AS INTEGER) FROM objects o WHERE o.name = substr(t.body, 17, 16)) END,
           length(t.body)) AS result_bytes, r.id AS id_bytes, r.seq
FROM current_states s
JOIN request_states rs ON rs.seq = s.seq
JOIN requests r ON r.seq = s.seq
JOIN overnight_accounts a ON a.seq = r.account
JOIN models m ON m.seq = r.model
LEFT JOIN batches b ON b.seq = s.batch
LEFT JOIN results t ON t.seq = s.result_seq
LEFT JOIN ledger l ON l.result = s.result_seq AND l.result IS NOT NULL;

CREATE VIEW overnight_objects AS
SELECT a.id AS account, a.name AS account_name,
       CASE o.state WHEN 0 THEN 'being put' WHEN 1 THEN 'in use' WHEN 2 THEN 'in use no more' WHEN 3 THEN 'being deleted' END AS state,
       o.objects, o.bytes, strftime('%Y-%m-%d %H:%M:%f', o.created_at / 1000.0, 'unixepoch') AS oldest_created_at,
       strftime('%Y-%m-%d %H:%M:%f', o.next_deleted_at / 1000.0, 'unixepoch') AS next_deleted_at, strftime('%Y-%m-%d %H:%M:%f', o.last_deleted_at / 1000.0, 'unixepoch') AS last_deleted_at
FROM (SELECT account, state, count(*) AS objects, sum(bytes) AS bytes, min(created_at) AS created_at, min(delete_at) AS next_deleted_at,
             max(delete_at) AS last_deleted_at FROM objects GROUP BY account, state) o
JOIN overnight_accounts a ON a.seq = o.account;
