-- requests::FIND_OWNER, both
SELECT account FROM requests WHERE id = $1;

-- requests::FIND_SEQ, both
SELECT seq FROM requests WHERE id = $1 AND account = $2;

-- requests::FIND_SUMMARY, both
SELECT id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, model_name
        FROM current_requests WHERE id = $1 AND account = $2;

-- requests::cancel::FIND_LIVE, both
SELECT seq, model, account, sort_key, state, ready_at, in_progress_at, ended_at FROM current_requests
        WHERE id = $1 AND account = $2;

-- requests::deletion::DELETE_ATTEMPTS, SQLite
DELETE FROM attempts WHERE request = ?1;

-- requests::deletion::DELETE_ATTEMPTS, PostgreSQL
DELETE FROM attempts WHERE request = ANY ($1::bigint[]);

-- requests::deletion::DELETE_DELIVERIES, SQLite
DELETE FROM deliveries WHERE event = ?1;

-- requests::deletion::DELETE_DELIVERIES, PostgreSQL
DELETE FROM deliveries WHERE event = ANY ($1::bigint[]);

-- requests::deletion::DELETE_EVENTS, SQLite
DELETE FROM events WHERE request = ?1 AND request IS NOT NULL RETURNING seq;

-- requests::deletion::DELETE_EVENTS, PostgreSQL
DELETE FROM events WHERE request = ANY ($1::bigint[]) AND request IS NOT NULL RETURNING seq;

-- requests::deletion::DELETE_REQUESTS, SQLite
DELETE FROM requests WHERE seq = ?1;

-- requests::deletion::DELETE_REQUESTS, PostgreSQL
DELETE FROM requests WHERE seq = ANY ($1::bigint[]);

-- requests::deletion::DELETE_RESULTS, SQLite
DELETE FROM results WHERE seq = ?1;

-- requests::deletion::DELETE_RESULTS, PostgreSQL
DELETE FROM results WHERE seq = ANY ($1::bigint[]);

-- requests::deletion::DELETE_STATES, SQLite
DELETE FROM request_states WHERE seq = ?1 AND state >= 3 /* ended */ RETURNING seq, batch;

-- requests::deletion::DELETE_STATES, PostgreSQL
DELETE FROM request_states WHERE seq = ANY ($1::bigint[]) AND state >= 3 /* ended */ RETURNING seq, batch;

-- requests::deletion::FIND_OWN, both
SELECT rs.seq, rs.account, rs.result_seq, rs.state >= 3 /* ended */ AS has_ended,
               512 + octet_length(r.body) + coalesce(octet_length(r.metadata), 0) + coalesce(1024 + 2 * octet_length(r.webhook), 0)
               + coalesce(octet_length(t.body), 0) + (SELECT CAST(coalesce(sum(octet_length(a.message)), 0) AS BIGINT)
                                                      FROM attempts a WHERE a.request = rs.seq) AS bytes
        FROM requests r JOIN request_states rs ON rs.seq = r.seq LEFT JOIN results t ON t.seq = rs.result_seq
        WHERE r.id = $1 AND r.account = $2;

-- requests::deletion::NOTE_LAST, SQLite
INSERT INTO last_deleted (table_name, seq) VALUES (?, ?)
            ON CONFLICT (table_name) DO UPDATE SET seq = max(seq, excluded.seq);

-- requests::deletion::NOTE_LAST, PostgreSQL
INSERT INTO last_deleted (table_name, seq) VALUES ($1, $2)
            ON CONFLICT (table_name) DO UPDATE SET seq = greatest(last_deleted.seq, excluded.seq);

-- requests::listing::COUNT_BETWEEN, both
SELECT deleted, (SELECT count(*) FROM request_states WHERE batch = $1 AND batch IS NOT NULL AND seq > $2 AND seq <= $3) AS count
        FROM batches WHERE seq = $4;

-- requests::listing::FIND_CHARGE, both
SELECT prompt_tokens, completion_tokens, charged FROM current_requests WHERE id = $1 AND account = $2;

-- requests::listing::FIND_HANDLING, both
SELECT rs.released_at, t.engine FROM requests r JOIN request_states rs ON rs.seq = r.seq
        LEFT JOIN results t ON t.seq = rs.result_seq WHERE r.id = $1 AND r.account = $2;

-- requests::listing::FIND_ID, both
SELECT id FROM requests WHERE seq = $1;

-- requests::listing::FLOOR_OF_ACCOUNT, both
SELECT seq FROM request_states WHERE account = $1 AND seq < $2 ORDER BY seq DESC LIMIT 1 OFFSET $3;

-- requests::listing::FLOOR_OF_BATCH, both
SELECT seq FROM request_states WHERE batch = $1 AND batch IS NOT NULL AND seq > $2
        ORDER BY seq LIMIT 1 OFFSET $3;

-- requests::listing::LIST_ERRORS, both
SELECT rs.seq, CASE WHEN octet_length(t.body) <= 16384 THEN t.body END AS error
        FROM request_states rs LEFT JOIN results t ON t.seq = rs.result_seq
        WHERE rs.batch = $1 AND rs.batch IS NOT NULL AND rs.seq > $2 AND rs.state = 4 /* failed */ ORDER BY rs.seq LIMIT $3;

-- requests::listing::LIST_OF_ACCOUNT, SQLite
SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, model_name, body_bytes,
               CASE WHEN body_bytes <= 16384 THEN body END AS body, prompt_tokens, completion_tokens, charged,
               CASE WHEN state = 4 /* failed */ AND octet_length(result) <= 16384 THEN result END AS error, metadata
        FROM current_requests WHERE account = ? AND seq < ? AND seq >= ? AND state BETWEEN ? AND ? AND (CAST(? AS BIGINT) IS NULL OR named_model = ?)
          AND (? = 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0
            OR ((instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0)
              AND (instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0)))
        ORDER BY seq DESC LIMIT ?;

-- requests::listing::LIST_OF_ACCOUNT, PostgreSQL
SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, model_name, body_bytes,
               CASE WHEN body_bytes <= 16384 THEN body END AS body, prompt_tokens, completion_tokens, charged,
               CASE WHEN state = 4 /* failed */ AND octet_length(result) <= 16384 THEN result END AS error, metadata
        FROM current_requests WHERE account = $1 AND seq < $2 AND seq >= $3 AND state BETWEEN $4 AND $5 AND (CAST($6 AS BIGINT) IS NULL OR named_model = $7)
          AND ($8 = 0 OR position($9 IN metadata) > 0 OR position($10 IN metadata) > 0 OR position($11 IN metadata) > 0
            OR ((position($12 IN metadata) > 0 OR position($13 IN metadata) > 0 OR position($14 IN metadata) > 0)
              AND (position($15 IN metadata) > 0 OR position($16 IN metadata) > 0 OR position($17 IN metadata) > 0)))
        ORDER BY seq DESC LIMIT $18;

-- requests::listing::LIST_OF_BATCH, SQLite
SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, model_name, body_bytes,
               CASE WHEN body_bytes <= 16384 THEN body END AS body, prompt_tokens, completion_tokens, charged,
               CASE WHEN state = 4 /* failed */ AND octet_length(result) <= 16384 THEN result END AS error, metadata
        FROM current_requests WHERE batch = ? AND batch IS NOT NULL AND seq > ? AND seq <= ? AND state BETWEEN ? AND ? AND (CAST(? AS BIGINT) IS NULL OR named_model = ?)
          AND (? = 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0
            OR ((instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0)
              AND (instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0)))
        ORDER BY seq LIMIT ?;

-- requests::listing::LIST_OF_BATCH, PostgreSQL
SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, model_name, body_bytes,
               CASE WHEN body_bytes <= 16384 THEN body END AS body, prompt_tokens, completion_tokens, charged,
               CASE WHEN state = 4 /* failed */ AND octet_length(result) <= 16384 THEN result END AS error, metadata
        FROM current_requests WHERE batch = $1 AND batch IS NOT NULL AND seq > $2 AND seq <= $3 AND state BETWEEN $4 AND $5 AND (CAST($6 AS BIGINT) IS NULL OR named_model = $7)
          AND ($8 = 0 OR position($9 IN metadata) > 0 OR position($10 IN metadata) > 0 OR position($11 IN metadata) > 0
            OR ((position($12 IN metadata) > 0 OR position($13 IN metadata) > 0 OR position($14 IN metadata) > 0)
              AND (position($15 IN metadata) > 0 OR position($16 IN metadata) > 0 OR position($17 IN metadata) > 0)))
        ORDER BY seq LIMIT $18;

-- requests::live::FIND_LIVE, both
SELECT rs.model, rs.sort_key, rs.seq, rs.deadline, coalesce(q.phase, 0) <> 0 AS is_leased, coalesce(q.retry_at, 0) AS retry_at
        FROM requests r JOIN request_states rs ON rs.seq = r.seq LEFT JOIN queue q
          ON q.model = rs.model AND q.account = rs.account AND q.sort_key = rs.sort_key AND q.seq = rs.seq
        WHERE r.id = $1 AND r.account = $2 AND rs.state < 3 /* live */;

-- requests::live::LIST_LIVE, SQLite
SELECT r.id FROM requests r JOIN request_states rs ON rs.seq = r.seq WHERE r.id = ?1 AND rs.state < 3 /* live */;

-- requests::live::LIST_LIVE, PostgreSQL
SELECT r.id FROM unnest($1::bytea[]) AS v(id) JOIN requests r ON r.id = v.id JOIN request_states rs ON rs.seq = r.seq
            WHERE rs.state < 3 /* live */;

-- requests::live::SAMPLE_LIVE, both
SELECT rs.model, rs.sort_key, rs.seq, rs.deadline, coalesce(q.phase, 0) <> 0 AS is_leased, coalesce(q.retry_at, 0) AS retry_at
        FROM request_states rs LEFT JOIN queue q
          ON q.model = rs.model AND q.account = rs.account AND q.sort_key = rs.sort_key AND q.seq = rs.seq
        WHERE rs.seq IN (
            SELECT seq FROM (
                SELECT seq, row_number() OVER (ORDER BY seq) AS place, count(*) OVER () AS count FROM request_states
                WHERE batch = $1 AND batch IS NOT NULL AND state < 3 /* live */) m
            WHERE place = 1 OR place % (count / $2 + 1) = 0)
        ORDER BY rs.seq;

-- requests::models::FIND, both
SELECT seq FROM models WHERE name = $1;

-- requests::models::INSERT, SQLite
INSERT INTO models (name) VALUES (?1) ON CONFLICT (name) DO NOTHING;

-- requests::models::INSERT, PostgreSQL
INSERT INTO models (name) SELECT v.name FROM unnest($1::text[]) AS v(name) ORDER BY v.name
            ON CONFLICT (name) DO NOTHING;

-- requests::models::LIST, both
SELECT seq, name FROM models ORDER BY seq;

-- requests::pages::EDGE_OF_ACCOUNT_NEWEST_FIRST, both
SELECT seq FROM request_states WHERE account = $1 AND seq < $2
        ORDER BY seq DESC LIMIT 1 OFFSET $3;

-- requests::pages::EDGE_OF_ACCOUNT_OLDEST_FIRST, both
SELECT seq FROM request_states WHERE account = $1 AND seq > $2 ORDER BY seq LIMIT 1 OFFSET $3;

-- requests::pages::EDGE_OF_BATCH, both
SELECT seq FROM request_states WHERE batch = $1 AND batch IS NOT NULL AND seq > $2
        ORDER BY seq LIMIT 1 OFFSET $3;

-- requests::pages::SUMMARIES_OF_ACCOUNT_NEWEST_FIRST, both
SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at
        FROM current_requests WHERE account = $1 AND seq < $2 AND seq >= $3 AND state BETWEEN $4 AND $5 AND (CAST($6 AS BIGINT) IS NULL OR named_model = $7)
          AND created_at > $8 AND created_at < $9 ORDER BY seq DESC LIMIT $10;

-- requests::pages::SUMMARIES_OF_ACCOUNT_OLDEST_FIRST, both
SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at
        FROM current_requests WHERE account = $1 AND seq > $2 AND seq <= $3 AND state BETWEEN $4 AND $5 AND (CAST($6 AS BIGINT) IS NULL OR named_model = $7)
          AND created_at > $8 AND created_at < $9 ORDER BY seq LIMIT $10;

-- requests::pages::SUMMARIES_OF_BATCH, both
SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at
        FROM current_requests WHERE batch = $1 AND batch IS NOT NULL AND seq > $2 AND seq <= $3 AND state BETWEEN $4 AND $5 AND (CAST($6 AS BIGINT) IS NULL OR named_model = $7)
          AND created_at > $8 AND created_at < $9 ORDER BY seq LIMIT $10;

-- requests::records::FIND_RECORD, both
SELECT id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, metadata, body,
               webhook, result, warnings, endpoint, CASE WHEN EXISTS (SELECT 1 FROM attempts a WHERE a.request = c.seq) THEN 1 ELSE 0 END AS was_retried
        FROM current_requests c WHERE id = $1 AND account = $2;

-- requests::records::FIND_RECORD_AT, both
SELECT id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, metadata, body,
               webhook, result, warnings, endpoint
        FROM current_requests WHERE seq = $1;

-- requests::records::RECORDS_AT, SQLite
SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, webhook,
                   CASE WHEN bytes <= 16384 THEN metadata END AS metadata, CASE WHEN bytes <= 16384 THEN body END AS body,
                   CASE WHEN bytes <= 16384 THEN result END AS result, warnings, endpoint
            FROM current_requests WHERE seq = ?1;

-- requests::records::RECORDS_AT, PostgreSQL
SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, webhook,
                   CASE WHEN bytes <= 16384 THEN metadata END AS metadata, CASE WHEN bytes <= 16384 THEN body END AS body,
                   CASE WHEN bytes <= 16384 THEN result END AS result, warnings, endpoint
            FROM current_requests WHERE seq = ANY ($1::bigint[]);

-- requests::records::RECORDS_OF_ACCOUNT_NEWEST_FIRST, both
SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, webhook,
               CASE WHEN bytes <= 16384 THEN metadata END AS metadata, CASE WHEN bytes <= 16384 THEN body END AS body,
               CASE WHEN bytes <= 16384 THEN result END AS result, warnings, endpoint
        FROM current_requests WHERE account = $1 AND seq < $2 AND seq >= $3 AND state BETWEEN $4 AND $5 AND (CAST($6 AS BIGINT) IS NULL OR named_model = $7)
          AND created_at > $8 AND created_at < $9 ORDER BY seq DESC LIMIT $10;

-- requests::records::RECORDS_OF_ACCOUNT_OLDEST_FIRST, both
SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, webhook,
               CASE WHEN bytes <= 16384 THEN metadata END AS metadata, CASE WHEN bytes <= 16384 THEN body END AS body,
               CASE WHEN bytes <= 16384 THEN result END AS result, warnings, endpoint
        FROM current_requests WHERE account = $1 AND seq > $2 AND seq <= $3 AND state BETWEEN $4 AND $5 AND (CAST($6 AS BIGINT) IS NULL OR named_model = $7)
          AND created_at > $8 AND created_at < $9 ORDER BY seq LIMIT $10;

-- requests::records::RECORDS_OF_BATCH, both
SELECT seq, id, state, ready_at, in_progress_at, ended_at, created_at, expires_at, batch_id, webhook,
               CASE WHEN bytes <= 16384 THEN metadata END AS metadata, CASE WHEN bytes <= 16384 THEN body END AS body,
               CASE WHEN bytes <= 16384 THEN result END AS result, warnings, endpoint
        FROM current_requests WHERE batch = $1 AND batch IS NOT NULL AND seq > $2 AND seq <= $3 AND state BETWEEN $4 AND $5 AND (CAST($6 AS BIGINT) IS NULL OR named_model = $7)
          AND created_at > $8 AND created_at < $9 ORDER BY seq LIMIT $10;

-- requests::retention::FIND_NEXT, both
SELECT rs.seq, rs.account, rs.result_seq, rs.ended_at,
               512 + octet_length(r.body) + coalesce(octet_length(r.metadata), 0) + coalesce(1024 + 2 * octet_length(r.webhook), 0)
               + coalesce(octet_length(t.body), 0) + (SELECT CAST(coalesce(sum(octet_length(a.message)), 0) AS BIGINT)
                                                      FROM attempts a WHERE a.request = rs.seq) AS bytes
        FROM (SELECT seq, account, result_seq, ended_at FROM request_states WHERE account = $1 AND seq > $2 ORDER BY seq LIMIT $3) rs
        JOIN requests r ON r.seq = rs.seq LEFT JOIN results t ON t.seq = rs.result_seq
        WHERE rs.ended_at <= $4 ORDER BY rs.seq;

-- requests::retention::LIST_DUE, both
SELECT a.seq, coalesce(a.retention_ms, $1) AS retention_ms FROM accounts a
        WHERE coalesce(a.retention_ms, $2) < $3
          AND EXISTS (SELECT 1 FROM (SELECT ended_at FROM request_states WHERE account = a.seq ORDER BY seq LIMIT $4) o
                      WHERE o.ended_at <= $5 - coalesce(a.retention_ms, $6) OR o.ended_at > $7) ORDER BY a.seq;

-- requests::retention::MEASURE_NEXT, both
SELECT count(*) AS requests, max(seq) AS last, max(ended_at) AS ended_at
        FROM (SELECT seq, ended_at FROM request_states WHERE account = $1 AND seq > $2 ORDER BY seq LIMIT $3) o;

-- requests::retention::SET, both
UPDATE accounts SET retention_ms = $1 WHERE seq = $2 AND retention_ms IS DISTINCT FROM $3;

