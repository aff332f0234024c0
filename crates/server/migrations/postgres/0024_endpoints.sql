-- What a request asks for: 0 a chat completion, 1 a completion, 2 embeddings. The previous release fills none, and asks for chat completions.
ALTER TABLE requests ADD COLUMN endpoint BIGINT NOT NULL DEFAULT 0;

-- bytes is the size of a request with its result. result and the columns after it, up to warnings, are null until the request has ended.
-- A view that is replaced keeps its columns and gets new ones at the end.
CREATE OR REPLACE VIEW current_requests AS
SELECT s.seq, s.account, s.model, s.batch, s.sort_key, s.state, s.ready_at, s.in_progress_at, s.ended_at,
       r.id, r.created_at, r.expires_at, r.metadata, r.webhook, r.body, b.id AS batch_id, m.name AS model_name,
       CAST(octet_length(r.body) AS BIGINT) AS body_bytes,
       CAST(octet_length(r.body) + coalesce(octet_length(r.metadata), 0) + coalesce(octet_length(t.body), 0) AS BIGINT) AS bytes,
       t.body AS result, t.prompt_tokens, t.completion_tokens, -l.amount AS charged, t.warnings, r.endpoint
FROM current_states s
JOIN requests r ON r.seq = s.seq
LEFT JOIN batches b ON b.seq = s.batch
LEFT JOIN models m ON m.seq = s.model
LEFT JOIN results t ON t.seq = s.result_seq
LEFT JOIN ledger l ON l.result = s.result_seq AND l.result IS NOT NULL;

-- Lines that had become no requests when their batch was cancelled count as cancelled (and deleted) from here on; those of before count as nothing.
UPDATE batch_inputs SET lines = filled WHERE state = 1 /* filled */ AND lines > filled;
