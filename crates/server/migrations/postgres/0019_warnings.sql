-- What a completion shows of fields that its engine did not honour, as JSON. Null where it shows nothing, and in every row of the
-- previous release, which does not fill it.
ALTER TABLE results ADD COLUMN warnings BYTEA;

-- bytes is the size of a request with its result. result and the columns after it are null until the request has ended.
-- A view that is replaced keeps its columns and gets new ones at the end.
CREATE OR REPLACE VIEW current_requests AS
SELECT s.seq, s.account, s.model, s.batch, s.sort_key, s.state, s.ready_at, s.in_progress_at, s.ended_at,
       r.id, r.created_at, r.expires_at, r.metadata, r.webhook, r.body, b.id AS batch_id, m.name AS model_name,
       CAST(octet_length(r.body) AS BIGINT) AS body_bytes,
       CAST(octet_length(r.body) + coalesce(octet_length(r.metadata), 0) + coalesce(octet_length(t.body), 0) AS BIGINT) AS bytes,
       t.body AS result, t.prompt_tokens, t.completion_tokens, -l.amount AS charged, t.warnings
FROM current_states s
JOIN requests r ON r.seq = s.seq
LEFT JOIN batches b ON b.seq = s.batch
LEFT JOIN models m ON m.seq = s.model
LEFT JOIN results t ON t.seq = s.result_seq
LEFT JOIN ledger l ON l.result = s.result_seq AND l.result IS NOT NULL;
