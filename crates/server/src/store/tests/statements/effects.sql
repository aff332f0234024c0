-- effects::batch_counters::COUNT_DELETED, both
UPDATE batches SET deleted = deleted + $1 WHERE seq = $2;

-- effects::batch_counters::FORGET_ENDS, both
DELETE FROM batch_ends WHERE batch IN (
        SELECT seq FROM batches WHERE seq = $1 AND deleted >= registered + in_progress + completed + failed + cancelled);

-- effects::batch_counters::LOCK, SQLite
SELECT in_progress_at, completed_at, cancelled_at, registered, in_progress, completed, failed, cancelled, lane
            FROM batches WHERE seq = ?;

-- effects::batch_counters::LOCK, PostgreSQL
SELECT in_progress_at, completed_at, cancelled_at, registered, in_progress, completed, failed, cancelled, lane
            FROM batches WHERE seq = $1 FOR UPDATE;

-- effects::batch_counters::UPDATE, both
UPDATE batches SET in_progress_at = $1, completed_at = $2,
               registered = $3, in_progress = $4, completed = $5, failed = $6, cancelled = $7
        WHERE seq = $8;

-- effects::batch_ends::INSERT, SQLite
INSERT INTO batch_ends (batch, ended, requests) VALUES (?1, ?2, ?3);

-- effects::batch_ends::INSERT, PostgreSQL
INSERT INTO batch_ends (batch, ended, requests)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS v(batch, ended, requests);

-- effects::events::INSERT, SQLite
INSERT INTO events (seq, id, account, lane, kind, request, batch, created_at, due_at)
            VALUES (1 + max((SELECT coalesce(max(seq), 0) FROM events),
                            (SELECT coalesce(max(seq), 0) FROM last_deleted WHERE table_name = 'events')),
                    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7);

-- effects::events::INSERT, PostgreSQL
INSERT INTO events (id, account, lane, kind, request, batch, created_at, due_at)
            SELECT v.id, v.account, v.lane, v.kind, v.request, v.batch, v.created_at, v.created_at
            FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
                AS v(id, account, lane, kind, request, batch, created_at);

