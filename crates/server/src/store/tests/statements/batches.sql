-- batches::cancel::LIST_CANCELLING, both
SELECT seq FROM batches WHERE cancelling = 1;

-- batches::cancel::LIVE_OF_BATCH, both
SELECT seq, model, account, sort_key, state, ready_at, in_progress_at, ended_at FROM current_states
        WHERE batch = $1 AND batch IS NOT NULL AND seq > $2 AND state < 3 /* live */ ORDER BY seq LIMIT $3;

-- batches::cancel::LOCK, SQLite
SELECT seq, in_progress_at, completed_at, cancelled_at, cancelling FROM batches
            WHERE id = ? AND account = ?;

-- batches::cancel::LOCK, PostgreSQL
SELECT seq, in_progress_at, completed_at, cancelled_at, cancelling FROM batches
            WHERE id = $1 AND account = $2 FOR UPDATE;

-- batches::cancel::MARK, both
UPDATE batches SET cancelled_at = $1, cancelling = 1 WHERE seq = $2;

-- batches::cancel::STOP_FILLING, both
UPDATE batch_inputs SET state = 1 /* filled */ WHERE batch = $1 AND state = 0 /* being filled */ RETURNING lines - filled AS unfilled;

-- batches::cancel::UNMARK, both
UPDATE batches SET cancelling = 0 WHERE seq = $1 AND cancelling = 1 RETURNING lane;

-- batches::deletion::DELETE, both
DELETE FROM batches WHERE seq = $1 AND account < 0
        RETURNING 512 + coalesce(octet_length(metadata), 0) + coalesce(1024 + 2 * octet_length(webhook), 0)
            + 16 * (registered + in_progress + completed + failed + cancelled) AS bytes;

-- batches::deletion::DELETE_ENDS, both
DELETE FROM batch_ends WHERE (batch, ended) IN (
        SELECT batch, ended FROM batch_ends WHERE batch = $1 ORDER BY ended LIMIT $2);

-- batches::deletion::DELETE_EVENT, both
DELETE FROM events WHERE batch = $1 AND batch IS NOT NULL RETURNING seq;

-- batches::deletion::DELETE_INPUT, both
DELETE FROM batch_inputs WHERE batch = $1 RETURNING CAST(coalesce(octet_length(faults), 0) AS BIGINT) AS bytes;

-- batches::deletion::DELETE_MEMBERS, both
DELETE FROM batch_members WHERE batch = $1;

-- batches::deletion::ENDED_OF_BATCH, both
SELECT rs.seq, rs.account, rs.result_seq,
               512 + octet_length(r.body) + coalesce(octet_length(r.metadata), 0) + coalesce(1024 + 2 * octet_length(r.webhook), 0)
               + coalesce(octet_length(t.body), 0) + (SELECT CAST(coalesce(sum(octet_length(a.message)), 0) AS BIGINT)
                                                      FROM attempts a WHERE a.request = rs.seq) AS bytes
        FROM request_states rs JOIN requests r ON r.seq = rs.seq LEFT JOIN results t ON t.seq = rs.result_seq
        WHERE rs.batch = $1 AND rs.batch IS NOT NULL ORDER BY rs.seq LIMIT $2;

-- batches::deletion::LIST_DELETING, both
SELECT account, seq FROM batches WHERE account < 0 ORDER BY account, seq LIMIT $1;

-- batches::deletion::LOCK, SQLite
SELECT seq, in_progress_at, completed_at, cancelled_at, cancelling FROM batches WHERE id = ? AND account = ?;

-- batches::deletion::LOCK, PostgreSQL
SELECT seq, in_progress_at, completed_at, cancelled_at, cancelling FROM batches WHERE id = $1 AND account = $2 FOR UPDATE;

-- batches::deletion::MARK, both
UPDATE batches SET account = -account, lane = NULL WHERE seq = $1 AND account > 0;

-- batches::ends::AFTER, both
SELECT ended, requests FROM batch_ends WHERE batch = $1 AND ended > $2 ORDER BY ended LIMIT $3;

-- batches::ends::BEFORE, both
SELECT ended, requests FROM batch_ends WHERE batch = $1 AND ended < $2 ORDER BY ended DESC LIMIT $3;

-- batches::ends::ENDED_OF_BATCH, both
SELECT seq, ended_at FROM request_states WHERE batch = $1 AND batch IS NOT NULL AND state >= 3 /* ended */;

-- batches::ends::FIND_OF_BATCH, both
SELECT rs.seq, rs.state >= 3 /* ended */ AS has_ended FROM requests r JOIN request_states rs ON rs.seq = r.seq
        WHERE r.id = $1 AND rs.account = $2 AND rs.batch = $3;

-- batches::ends::LOCK, SQLite
SELECT completed + failed + cancelled AS ended FROM batches WHERE seq = ?;

-- batches::ends::LOCK, PostgreSQL
SELECT completed + failed + cancelled AS ended FROM batches WHERE seq = $1 FOR UPDATE;

-- batches::ends::SO_FAR, both
SELECT completed + failed + cancelled AS ended, deleted,
               registered + in_progress + completed + failed + cancelled AS total FROM batches WHERE seq = $1;

-- batches::filling::ADVANCE, both
UPDATE batch_inputs SET filled = $1, lines = $2, next_piece = $3, next_line = $4, filler_at = $5, state = $6 WHERE batch = $7;

-- batches::filling::CLAIM, both
UPDATE batch_inputs SET filler_at = $1 WHERE batch = $2 AND state = 0 /* being filled */ AND filler_at <= $3;

-- batches::filling::FIND_NEW, both
SELECT s.seq, s.model, s.account, s.sort_key, s.state, s.ready_at, s.in_progress_at, s.ended_at
        FROM requests r JOIN current_states s ON s.seq = r.seq WHERE r.id = $1;

-- batches::filling::LIST, both
SELECT DISTINCT account FROM batch_inputs WHERE state = 0 /* being filled */;

-- batches::filling::LOCK, SQLite
SELECT filled, lines FROM batch_inputs WHERE batch = ? AND state = 0 /* being filled */ AND next_piece = ? AND next_line = ?;

-- batches::filling::LOCK, PostgreSQL
SELECT filled, lines FROM batch_inputs WHERE batch = $1 AND state = 0 /* being filled */ AND next_piece = $2 AND next_line = $3
            FOR UPDATE;

-- batches::filling::LOCK_BATCH, SQLite
SELECT seq FROM batches WHERE seq = ? AND cancelled_at IS NULL;

-- batches::filling::LOCK_BATCH, PostgreSQL
SELECT seq FROM batches WHERE seq = $1 AND cancelled_at IS NULL FOR UPDATE;

-- batches::filling::NEXT, both
SELECT i.batch, i.file, i.endpoint, i.next_piece, i.next_line, i.api_key, b.id, b.created_at
        FROM batch_inputs i JOIN batches b ON b.seq = i.batch
        WHERE i.account = $1 AND i.state = 0 /* being filled */ ORDER BY i.batch LIMIT 1;

-- batches::filling::RELEASE, both
UPDATE batch_inputs SET filler_at = 0 WHERE batch = $1 AND state = 0 /* being filled */;

-- batches::inputs::DELETE_OUTPUT, both
UPDATE batch_inputs SET deleted_outputs = deleted_outputs + $1
        WHERE batch = (SELECT seq FROM batches WHERE id = $2 AND account = $3) AND deleted_outputs NOT IN ($4, 3);

-- batches::inputs::FIND, both
SELECT b.seq, b.id, b.created_at, b.in_progress_at, b.completed_at, b.cancelled_at, b.cancelling,
               b.registered, b.in_progress, b.completed, b.failed, b.cancelled, b.webhook, b.metadata,
               i.state, i.file_id, i.endpoint, i.lines, i.filled, i.fault_count, i.faults, i.deleted_outputs
        FROM batches b LEFT JOIN batch_inputs i ON i.batch = b.seq WHERE b.id = $1 AND b.account = $2;

-- batches::inputs::INSERT, both
INSERT INTO batch_inputs (batch, account, state, file, file_id, endpoint, lines, filled, next_piece, next_line, filler_at,
               fault_count, faults, deleted_outputs, api_key)
        VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, 0, 0, $8, $9, 0, $10);

-- batches::inputs::LOCK_FILE, SQLite
SELECT seq FROM files WHERE seq = ? AND state = 1 /* ready */;

-- batches::inputs::LOCK_FILE, PostgreSQL
SELECT seq FROM files WHERE seq = $1 AND state = 1 /* ready */ FOR SHARE;

-- batches::inputs::PAGE_FROM_NEWEST, both
SELECT b.seq, b.id, b.created_at, b.in_progress_at, b.completed_at, b.cancelled_at, b.cancelling,
               b.registered, b.in_progress, b.completed, b.failed, b.cancelled, b.webhook, b.metadata,
               i.state, i.file_id, i.endpoint, i.lines, i.filled, i.fault_count, NULL AS faults, i.deleted_outputs
        FROM batches b LEFT JOIN batch_inputs i ON i.batch = b.seq WHERE b.account = $1 AND b.seq < $2 ORDER BY b.seq DESC LIMIT $3;

-- batches::insert::FREE, SQLite
SELECT state, 1 AS count FROM current_states WHERE seq = ?2 AND account = ?1 AND batch IS NULL;

-- batches::insert::FREE, PostgreSQL
SELECT s.state, count(*) AS count FROM unnest($2::bigint[]) AS j(value)
            JOIN current_states s ON s.seq = j.value WHERE s.account = $1 AND s.batch IS NULL GROUP BY s.state;

-- batches::insert::INSERT, SQLite
INSERT INTO batches (seq, id, account, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata, lane)
            VALUES (1 + max((SELECT coalesce(max(seq), 0) FROM batches),
                            (SELECT coalesce(max(seq), 0) FROM last_deleted WHERE table_name = 'batches')),
                    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq;

-- batches::insert::INSERT, PostgreSQL
INSERT INTO batches (id, account, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata, lane)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING seq;

-- batches::insert::INSERT_MEMBERS, both
INSERT INTO batch_members (batch, place, ids) VALUES ($1, $2, $3);

-- batches::insert::JOIN, SQLite
UPDATE request_states SET batch = ?1 WHERE seq = ?2;

-- batches::insert::JOIN, PostgreSQL
UPDATE request_states SET batch = $1 WHERE seq = ANY ($2::bigint[]);

-- batches::insert::JOIN_IN_QUEUE, SQLite
UPDATE queue SET batch = ?1 WHERE (model, account, sort_key, seq) IN (
            SELECT rs.model, rs.account, rs.sort_key, rs.seq FROM request_states rs WHERE rs.seq = ?2 AND rs.state = 1 /* queued */);

-- batches::insert::JOIN_IN_QUEUE, PostgreSQL
UPDATE queue SET batch = $1 WHERE (model, account, sort_key, seq) IN (
            SELECT rs.model, rs.account, rs.sort_key, rs.seq FROM unnest($2::bigint[]) AS j(value)
            JOIN request_states rs ON rs.seq = j.value WHERE rs.state = 1 /* queued */);

-- batches::insert::LOCK, PostgreSQL
SELECT count(*) FROM (
            SELECT 1 FROM request_states WHERE seq = ANY ($1::bigint[]) ORDER BY seq FOR UPDATE) locked;

-- batches::insert::LOCK_IN_QUEUE, PostgreSQL
SELECT count(*) FROM (
            SELECT 1 FROM unnest($1::bigint[]) AS j(value) JOIN request_states rs ON rs.seq = j.value
            JOIN queue q ON q.model = rs.model AND q.account = rs.account AND q.sort_key = rs.sort_key AND q.seq = rs.seq
            FOR UPDATE OF q) locked;

-- batches::insert::RESOLVE, SQLite
SELECT r.id, r.seq, rs.batch FROM requests r JOIN request_states rs ON rs.seq = r.seq
            WHERE r.account = ?1 AND r.id = ?2;

-- batches::insert::RESOLVE, PostgreSQL
SELECT r.id, r.seq, rs.batch FROM requests r JOIN request_states rs ON rs.seq = r.seq
            WHERE r.account = $1 AND r.id = ANY ($2::bytea[]);

-- batches::listing::COST, both
SELECT CAST(coalesce(sum(l.amount), 0) AS BIGINT) AS amount,
               CAST(coalesce(sum(CASE WHEN rs.state < 3 /* live */ THEN rs.hold ELSE 0 END), 0) AS BIGINT) AS held
        FROM request_states rs LEFT JOIN ledger l ON l.result = rs.result_seq AND l.result IS NOT NULL
        WHERE rs.batch = $1 AND rs.batch IS NOT NULL;

-- batches::listing::COUNT_FAILED_WITH, both
SELECT count(*) AS count FROM request_states rs JOIN results t ON t.seq = rs.result_seq
        WHERE rs.batch = $1 AND rs.batch IS NOT NULL AND rs.state = 4 /* failed */ AND t.body = $2;

-- batches::listing::COUNT_LIVE, both
SELECT count(*) AS count FROM (SELECT 1 FROM batches
        WHERE account = $1 AND completed_at IS NULL AND cancelled_at IS NULL LIMIT $2) v;

-- batches::listing::FIND_ID, both
SELECT id FROM batches WHERE seq = $1;

-- batches::listing::FLOOR, both
SELECT seq FROM batches WHERE account = $1 AND seq < $2 ORDER BY seq DESC LIMIT 1 OFFSET $3;

-- batches::listing::LIST, SQLite
SELECT seq, id, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata
        FROM batches WHERE account = ? AND seq < ? AND seq >= ?
          AND CASE WHEN cancelled_at IS NOT NULL THEN 3 WHEN completed_at IS NOT NULL THEN 2
                   WHEN in_progress_at IS NOT NULL THEN 1 ELSE 0 END BETWEEN ? AND ?
          AND (? = 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0
            OR ((instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0)
              AND (instr(metadata, ?) > 0 OR instr(metadata, ?) > 0 OR instr(metadata, ?) > 0)))
        ORDER BY seq DESC LIMIT ?;

-- batches::listing::LIST, PostgreSQL
SELECT seq, id, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata
        FROM batches WHERE account = $1 AND seq < $2 AND seq >= $3
          AND CASE WHEN cancelled_at IS NOT NULL THEN 3 WHEN completed_at IS NOT NULL THEN 2
                   WHEN in_progress_at IS NOT NULL THEN 1 ELSE 0 END BETWEEN $4 AND $5
          AND ($6 = 0 OR position($7 IN metadata) > 0 OR position($8 IN metadata) > 0 OR position($9 IN metadata) > 0
            OR ((position($10 IN metadata) > 0 OR position($11 IN metadata) > 0 OR position($12 IN metadata) > 0)
              AND (position($13 IN metadata) > 0 OR position($14 IN metadata) > 0 OR position($15 IN metadata) > 0)))
        ORDER BY seq DESC LIMIT $16;

-- batches::listing::LIST_LIVE, both
SELECT seq, id, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata
        FROM batches WHERE account = $1 AND completed_at IS NULL AND cancelled_at IS NULL ORDER BY seq DESC LIMIT $2;

-- batches::reads::FIND, both
SELECT seq, id, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata
        FROM batches WHERE id = $1 AND account = $2;

-- batches::reads::LIST_MEMBERS, both
SELECT ids FROM batch_members WHERE batch = $1 ORDER BY place;

-- batches::reads::PAGE, both
SELECT seq, id, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata
        FROM batches WHERE account = $1 AND seq > $2 ORDER BY seq LIMIT $3;

-- batches::reads::PAGE_FROM_NEWEST, both
SELECT seq, id, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata
        FROM batches WHERE account = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3;

