-- Requests as they are seen: who is in progress stands in the queue until it ends, so state and in_progress_at are those of
-- its queue row while it has one. For all else the first column of that join is null, which ends the search before it begins.

CREATE VIEW current_states AS
SELECT p.seq, p.account, p.model, p.batch, p.sort_key,
       CASE WHEN q.in_progress_at IS NULL THEN p.state ELSE 2 /* in progress */ END AS state,
       p.ready_at, coalesce(p.in_progress_at, q.in_progress_at) AS in_progress_at, p.ended_at, p.deadline, p.result_seq
FROM progress p
LEFT JOIN queue q ON q.model = CASE p.state WHEN 1 /* queued */ THEN p.model END
                 AND q.account = p.account AND q.sort_key = p.sort_key AND q.seq = p.seq;

-- bytes is how much of a request must be read with it; result and what follows are null until it has ended.
CREATE VIEW current_requests AS
SELECT s.seq, s.account, s.model, s.batch, s.sort_key, s.state, s.ready_at, s.in_progress_at, s.ended_at,
       r.id, r.created_at, r.expires_at, r.metadata, r.webhook, r.body, b.id AS batch_id, m.name AS model_name,
       CAST(octet_length(r.body) AS BIGINT) AS body_bytes,
       CAST(octet_length(r.body) + coalesce(octet_length(r.metadata), 0) + coalesce(octet_length(t.body), 0) AS BIGINT) AS bytes,
       t.body AS result, t.prompt_tokens, t.completion_tokens, -l.amount AS charged
FROM current_states s
JOIN requests r ON r.seq = s.seq
LEFT JOIN batches b ON b.seq = s.batch
LEFT JOIN models m ON m.seq = s.model
LEFT JOIN results t ON t.seq = s.result_seq
LEFT JOIN ledger l ON l.result = s.result_seq AND l.result IS NOT NULL;
