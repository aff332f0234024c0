-- For people with a SQL prompt: objects beside the database, by account and state; and how long bodies are that are objects. In the place of such a
-- body stands the name of its object, from the 17th byte on.
CREATE OR REPLACE VIEW overnight_requests AS
SELECT overnight_id('req', r.id) AS id, overnight_id('acct', a.id) AS account, a.name AS account_name,
       overnight_id('batch', b.id) AS batch, m.name AS model,
       CASE r.endpoint WHEN 0 THEN '/v1/chat/completions' WHEN 1 THEN '/v1/completions' WHEN 2 THEN '/v1/embeddings' END AS endpoint,
       CASE s.state WHEN 0 THEN 'registered' WHEN 1 THEN 'registered' WHEN 2 THEN 'in progress' WHEN 3 THEN 'completed'
                    WHEN 4 THEN 'failed' WHEN 5 THEN 'cancelled' END AS status,
       CASE s.state WHEN 0 THEN 'gathering' WHEN 1 THEN 'queued' WHEN 2 THEN 'in progress' WHEN 3 THEN 'completed'
                    WHEN 4 THEN 'failed' WHEN 5 THEN 'cancelled' END AS state,
       to_timestamp(r.created_at / 1000.0) AS created_at, to_timestamp(s.deadline / 1000.0) AS expires_at,
       to_timestamp(rs.released_at / 1000.0) AS released_at, to_timestamp(s.in_progress_at / 1000.0) AS in_progress_at,
       to_timestamp(s.ended_at / 1000.0) AS ended_at,
       (SELECT count(*) FROM attempts t WHERE t.request = r.seq) AS failed_attempts,
       t.engine, t.prompt_tokens, t.completion_tokens, overnight_credits(-l.amount) AS charged, overnight_credits(rs.hold) AS held,
       coalesce(CASE WHEN octet_length(r.body) = 72 THEN (SELECT CAST(o.bytes AS INTEGER) FROM objects o WHERE o.name = substr(r.body, 17, 16)) END,
           octet_length(r.body)) AS body_bytes,
       coalesce(CASE WHEN octet_length(t.body) = 72 THEN (SELECT CAST(o.bytes AS INTEGER) FROM objects o WHERE o.name = substr(t.body, 17, 16)) END,
           octet_length(t.body)) AS result_bytes, r.id AS id_bytes, r.seq
FROM current_states s
JOIN request_states rs ON rs.seq = s.seq
JOIN requests r ON r.seq = s.seq
JOIN accounts a ON a.seq = r.account
JOIN models m ON m.seq = r.model
LEFT JOIN batches b ON b.seq = s.batch
LEFT JOIN results t ON t.seq = s.result_seq
LEFT JOIN ledger l ON l.result = s.result_seq AND l.result IS NOT NULL;

CREATE VIEW overnight_objects AS
SELECT overnight_id('acct', a.id) AS account, a.name AS account_name,
       CASE o.state WHEN 0 THEN 'being put' WHEN 1 THEN 'in use' WHEN 2 THEN 'in use no more' WHEN 3 THEN 'being deleted' END AS state,
       count(*) AS objects, CAST(sum(o.bytes) AS BIGINT) AS bytes, to_timestamp(min(o.created_at) / 1000.0) AS oldest_created_at,
       to_timestamp(min(o.delete_at) / 1000.0) AS next_deleted_at, to_timestamp(max(o.delete_at) / 1000.0) AS last_deleted_at
FROM objects o
JOIN accounts a ON a.seq = o.account
GROUP BY a.id, a.name, o.state;

COMMENT ON VIEW overnight_objects IS 'Objects beside the database: how many and how long, by account and state, and when they are deleted.';
