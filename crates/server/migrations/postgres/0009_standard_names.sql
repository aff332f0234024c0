-- Tables and columns take the names of the glossary. It is the only migration that renames: nothing had been released before
-- it, and no node of an earlier schema may run during it or after it: one that does refuses the migration.

LOCK TABLE owners IN EXCLUSIVE MODE;
DO $$ BEGIN
    IF EXISTS (SELECT FROM owners WHERE to_timestamp(heartbeat_at / 1000.0) > clock_timestamp() - interval '60 seconds') THEN
        RAISE EXCEPTION 'nodes of an earlier schema are running: stop all of them, then migrate';
    END IF;
END $$;

DROP VIEW current_requests;
DROP VIEW current_states;

ALTER TABLE queue RENAME COLUMN owner TO node;
ALTER TABLE progress RENAME TO request_states;
ALTER TABLE prices RENAME TO price_points;
ALTER TABLE events RENAME COLUMN owner TO node;
ALTER TABLE owners RENAME TO nodes;
ALTER TABLE replicas RENAME COLUMN owner TO node;
ALTER TABLE drivers RENAME COLUMN owner TO node;
ALTER TABLE drivers RENAME TO node_replicas;
ALTER TABLE commits RENAME COLUMN owner TO node;
ALTER TABLE commits RENAME TO commit_markers;
ALTER TABLE engine_reports RENAME COLUMN owner TO node;

ALTER INDEX progress_pkey RENAME TO request_states_pkey;
ALTER INDEX progress_by_account RENAME TO request_states_by_account;
ALTER INDEX progress_by_batch RENAME TO request_states_by_batch;
ALTER INDEX progress_gathering RENAME TO request_states_gathering;
ALTER INDEX progress_by_deadline RENAME TO request_states_by_deadline;
ALTER INDEX prices_pkey RENAME TO price_points_pkey;
ALTER INDEX prices_input_output_key RENAME TO price_points_input_output_key;
ALTER SEQUENCE prices_seq_seq RENAME TO price_points_seq_seq;
ALTER INDEX owners_pkey RENAME TO nodes_pkey;
ALTER SEQUENCE owners_seq_seq RENAME TO nodes_seq_seq;
ALTER INDEX drivers_pkey RENAME TO node_replicas_pkey;
ALTER INDEX commits_pkey RENAME TO commit_markers_pkey;

-- The writer's test write has another name now.
DELETE FROM settings WHERE name = 'probe';

-- The visible state of each request: until a request ends, its queue row holds in_progress_at. The first column of the join is
-- null for any other request, which ends the search before it begins.

CREATE VIEW current_states AS
SELECT rs.seq, rs.account, rs.model, rs.batch, rs.sort_key,
       CASE WHEN q.in_progress_at IS NULL THEN rs.state ELSE 2 /* in progress */ END AS state,
       rs.ready_at, coalesce(rs.in_progress_at, q.in_progress_at) AS in_progress_at, rs.ended_at, rs.deadline, rs.result_seq
FROM request_states rs
LEFT JOIN queue q ON q.model = CASE rs.state WHEN 1 /* queued */ THEN rs.model END
                 AND q.account = rs.account AND q.sort_key = rs.sort_key AND q.seq = rs.seq;

-- bytes is the size of a request with its result. result and the columns after it are null until the request has ended.
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
