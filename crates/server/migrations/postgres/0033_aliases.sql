-- The alias by which the client named the model, a row of models; null where it named the model itself. The previous release knows no aliases.
ALTER TABLE requests ADD COLUMN alias BIGINT;
COMMENT ON COLUMN requests.alias IS 'The alias by which the client named the model; null where it named the model itself.';

-- bytes is the size of a request with its result. result and the columns after it, up to warnings, are null until the request has ended.
-- A view that is replaced keeps its columns and gets new ones at the end.
CREATE OR REPLACE VIEW current_requests AS
SELECT s.seq, s.account, s.model, s.batch, s.sort_key, s.state, s.ready_at, s.in_progress_at, s.ended_at,
       r.id, r.created_at, r.expires_at, r.metadata, r.webhook, r.body, b.id AS batch_id,
       (SELECT m.name FROM models m WHERE m.seq = coalesce(r.alias, s.model)) AS model_name,
       CAST(octet_length(r.body) AS BIGINT) AS body_bytes,
       CAST(octet_length(r.body) + coalesce(octet_length(r.metadata), 0) + coalesce(octet_length(t.body), 0) AS BIGINT) AS bytes,
       t.body AS result, t.prompt_tokens, t.completion_tokens, -l.amount AS charged, t.warnings, r.endpoint,
       coalesce(r.alias, s.model) AS named_model
FROM current_states s
JOIN requests r ON r.seq = s.seq
LEFT JOIN batches b ON b.seq = s.batch
LEFT JOIN results t ON t.seq = s.result_seq
LEFT JOIN ledger l ON l.result = s.result_seq AND l.result IS NOT NULL;
