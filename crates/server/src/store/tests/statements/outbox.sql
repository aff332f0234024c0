-- outbox::account_events::INSERT, SQLite
INSERT INTO events (seq, id, account, lane, kind, created_at, due_at, tries_max, url, payload)
            VALUES (1 + max((SELECT coalesce(max(seq), 0) FROM events),
                            (SELECT coalesce(max(seq), 0) FROM last_deleted WHERE table_name = 'events')),
                    ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- outbox::account_events::INSERT, PostgreSQL
INSERT INTO events (id, account, lane, kind, created_at, due_at, tries_max, url, payload)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- outbox::attempt_results::NOTE, SQLite
INSERT INTO deliveries (event, number, account, started_at, duration_ms, status, failure)
            SELECT ?1, ?2, e.account, ?3, ?4, ?5, ?6 FROM events e WHERE e.seq = ?1;

-- outbox::attempt_results::NOTE, PostgreSQL
INSERT INTO deliveries (event, number, account, started_at, duration_ms, status, failure)
            SELECT v.event, v.number, e.account, v.started_at, v.duration_ms, v.status, v.failure
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])
                AS v(event, number, started_at, duration_ms, status, failure)
            JOIN events e ON e.seq = v.event;

-- outbox::attempt_results::RECORD, SQLite
UPDATE events SET node = NULL, state = ?4, due_at = ?5, ended_at = ?6, failures = ?7
            WHERE seq = ?2 AND number = ?3 AND node = ?1 RETURNING seq;

-- outbox::attempt_results::RECORD, PostgreSQL
UPDATE events
            SET node = NULL, state = v.new_state, due_at = v.next_at, ended_at = v.stopped_at, failures = v.failed
            FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
                AS v(event, try, new_state, next_at, stopped_at, failed)
            WHERE seq = v.event AND number = v.try AND node = $1 RETURNING seq;

-- outbox::claims::FIND_DUE, both
SELECT e.seq AS event, e.id AS event_id, e.account, e.kind, e.number, e.payload, e.created_at AS happened_at,
               coalesce(e.url, r.webhook, b.webhook) AS url, r.id IS NOT NULL AS is_of_request,
               coalesce(r.id, b.id) AS id, coalesce(r.created_at, b.created_at) AS created_at,
               coalesce(rs.in_progress_at, b.in_progress_at) AS in_progress_at,
               rs.state, rs.ready_at, rs.ended_at, r.expires_at, r.trace,
               b.completed_at, b.cancelled_at, b.registered, b.in_progress, b.completed, b.failed, b.cancelled
        FROM events e LEFT JOIN requests r ON r.seq = e.request LEFT JOIN request_states rs ON rs.seq = e.request
        LEFT JOIN batches b ON b.seq = e.batch
        WHERE e.lane = $1 AND e.due_at IS NOT NULL AND e.due_at <= $2 ORDER BY e.due_at, e.seq LIMIT $3;

-- outbox::claims::IS_ALIVE, SQLite
SELECT 1 FROM nodes WHERE seq = ?;

-- outbox::claims::IS_ALIVE, PostgreSQL
SELECT 1 FROM nodes WHERE seq = $1 FOR KEY SHARE;

-- outbox::claims::TAKE, SQLite
UPDATE events SET node = ?1, claimed_at = ?2, due_at = NULL, number = number + 1,
                   url = coalesce(url, ?5), payload = coalesce(payload, ?6)
            WHERE seq = ?3 AND number = ?4 AND due_at IS NOT NULL RETURNING seq, failures, tries_max;

-- outbox::claims::TAKE, PostgreSQL
WITH w AS (
                SELECT e.seq, v.leads_to, v.sent
                FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::bytea[]) AS v(event, tried, leads_to, sent)
                CROSS JOIN LATERAL (
                    SELECT seq FROM events WHERE seq = v.event AND number = v.tried AND due_at IS NOT NULL
                    FOR UPDATE SKIP LOCKED) e
            ) UPDATE events SET node = $1, claimed_at = $2, due_at = NULL, number = number + 1,
                     url = coalesce(url, w.leads_to), payload = coalesce(payload, w.sent)
              FROM w WHERE events.seq = w.seq RETURNING events.seq, events.failures, events.tries_max;

-- outbox::interruptions::NOTE, SQLite
INSERT INTO deliveries (event, number, account, started_at, failure)
        SELECT seq, number, account, claimed_at, ? FROM events WHERE node = ?;

-- outbox::interruptions::NOTE_ALL, SQLite
INSERT INTO deliveries (event, number, account, started_at, failure)
        SELECT seq, number, account, claimed_at, ? FROM events WHERE node IS NOT NULL;

-- outbox::interruptions::ON_POSTGRES, PostgreSQL
WITH back AS (
            UPDATE events SET due_at = claimed_at, node = NULL WHERE node = $1 RETURNING seq, number, account, claimed_at
        ) INSERT INTO deliveries (event, number, account, started_at, failure)
          SELECT seq, number, account, claimed_at, $2 FROM back;

-- outbox::interruptions::RELEASE, SQLite
UPDATE events SET due_at = claimed_at, node = NULL WHERE node = ?;

-- outbox::interruptions::RELEASE_ALL, SQLite
UPDATE events SET due_at = claimed_at, node = NULL WHERE node IS NOT NULL;

-- outbox::lanes::LIST, both
WITH RECURSIVE lanes(lane) AS (
            SELECT min(lane) FROM events WHERE due_at IS NOT NULL
            UNION ALL
            SELECT (SELECT min(e.lane) FROM events e WHERE e.due_at IS NOT NULL AND e.lane > v.lane)
            FROM lanes v WHERE v.lane IS NOT NULL
        ) SELECT v.lane,
                 (SELECT min(e.due_at) FROM events e WHERE e.due_at IS NOT NULL AND e.lane = v.lane) AS due_at
          FROM lanes v WHERE v.lane IS NOT NULL;

-- outbox::reads::COUNT_EXHAUSTED, both
SELECT count(*) AS count FROM events
        WHERE state = 2 /* exhausted */ AND kind <> 5 /* webhook.test */ AND ended_at > $1;

-- outbox::reads::FIND, both
SELECT e.id, e.kind, r.id AS request_id, b.id AS batch_id, e.created_at, e.state,
               CASE WHEN e.node IS NOT NULL THEN e.claimed_at END AS sending_since, e.due_at, e.ended_at,
               e.number AS tries, coalesce(e.url, r.webhook, b.webhook) AS url
        FROM events e LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE e.id = $1;

-- outbox::reads::FIND_OWN, both
SELECT e.id, e.kind, r.id AS request_id, b.id AS batch_id, e.created_at, e.state,
               CASE WHEN e.node IS NOT NULL THEN e.claimed_at END AS sending_since, e.due_at, e.ended_at,
               e.number AS tries, coalesce(e.url, r.webhook, b.webhook) AS url
        FROM events e LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE e.id = $1 AND e.account = $2;

-- outbox::reads::FIND_PLACE, both
SELECT d.started_at, d.event, d.number FROM events e JOIN deliveries d ON d.event = e.seq
        WHERE e.id = $1 AND d.number = $2;

-- outbox::reads::FLOOR_OF_ACCOUNT, both
SELECT seq FROM events WHERE account = $1 AND seq < $2 ORDER BY seq DESC LIMIT 1 OFFSET $3;

-- outbox::reads::FLOOR_OF_ALL, both
SELECT seq FROM events WHERE seq < $1 ORDER BY seq DESC LIMIT 1 OFFSET $2;

-- outbox::reads::OF_ACCOUNT, both
SELECT e.seq, e.id, e.kind, r.id AS request_id, b.id AS batch_id, e.created_at, e.state,
               CASE WHEN e.node IS NOT NULL THEN e.claimed_at END AS sending_since, e.due_at, e.ended_at,
               e.number AS tries, coalesce(e.url, r.webhook, b.webhook) AS url
        FROM events e LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE e.account = $1 AND e.seq < $2 AND e.seq >= $3 AND e.state BETWEEN $4 AND $5 ORDER BY e.seq DESC LIMIT $6;

-- outbox::reads::OF_ALL, both
SELECT e.seq, e.id, e.kind, r.id AS request_id, b.id AS batch_id, e.created_at, e.state,
               CASE WHEN e.node IS NOT NULL THEN e.claimed_at END AS sending_since, e.due_at, e.ended_at,
               e.number AS tries, coalesce(e.url, r.webhook, b.webhook) AS url
        FROM events e LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE e.seq < $1 AND e.seq >= $2 AND e.state BETWEEN $3 AND $4 ORDER BY e.seq DESC LIMIT $5;

-- outbox::reads::TRIES_OF_ACCOUNT, both
SELECT e.id, e.kind, r.id AS request_id, b.id AS batch_id, d.number, d.started_at, d.duration_ms,
               d.status, d.failure, e.url
        FROM deliveries d JOIN events e ON e.seq = d.event
        LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE d.account = $1 AND (d.started_at, d.event, d.number) < ($2, $3, $4)
        ORDER BY d.started_at DESC, d.event DESC, d.number DESC LIMIT $5;

-- outbox::reads::TRIES_OF_ALL, both
SELECT e.id, e.kind, r.id AS request_id, b.id AS batch_id, d.number, d.started_at, d.duration_ms,
               d.status, d.failure, e.url
        FROM deliveries d JOIN events e ON e.seq = d.event
        LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE d.event > 0 AND (d.started_at, d.event, d.number) < ($1, $2, $3)
        ORDER BY d.started_at DESC, d.event DESC, d.number DESC LIMIT $4;

-- outbox::reads::TRIES_OF_EVENT, both
SELECT e.id, e.kind, r.id AS request_id, b.id AS batch_id, d.number, d.started_at, d.duration_ms,
               d.status, d.failure, e.url
        FROM deliveries d JOIN events e ON e.seq = d.event
        LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE e.id = $1 AND d.number < $2 ORDER BY d.number DESC LIMIT $3;

-- outbox::reads::TRIES_OF_OWN_EVENT, both
SELECT e.id, e.kind, r.id AS request_id, b.id AS batch_id, d.number, d.started_at, d.duration_ms,
               d.status, d.failure, e.url
        FROM deliveries d JOIN events e ON e.seq = d.event
        LEFT JOIN requests r ON r.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
        WHERE e.id = $1 AND d.account = $2 AND d.number < $3 ORDER BY d.number DESC LIMIT $4;

-- outbox::reads::WAITING, both
SELECT count(*) AS waiting, count(CASE WHEN number > 0 THEN 1 END) AS failing,
               min(CASE WHEN number > 0 THEN created_at END) AS failing_since
        FROM events WHERE due_at IS NOT NULL AND kind <> 5 /* webhook.test */;

-- outbox::replays::IS_THERE, both
SELECT 1 FROM events WHERE id = $1;

-- outbox::replays::REPLAY, both
UPDATE events SET state = 0 /* live */, failures = 0, tries_max = NULL, due_at = $1, ended_at = NULL
        WHERE id = $2 AND node IS NULL;

-- outbox::replays::REPLAY_EXHAUSTED, both
UPDATE events SET state = 0 /* live */, failures = 0, tries_max = NULL, due_at = $1, ended_at = NULL
        WHERE seq IN (SELECT seq FROM events WHERE account = $2 AND state = 2 /* exhausted */ AND kind <> 5 /* webhook.test */
                      ORDER BY seq LIMIT $3);

-- outbox::test_events::LIVE_TEST, both
SELECT 1 FROM events
        WHERE account = $1 AND kind = 5 /* webhook.test */ AND state = 0 /* live */ LIMIT 1;

-- outbox::test_events::LOCK_ACCOUNT, SQLite
SELECT seq FROM accounts WHERE seq = ?;

-- outbox::test_events::LOCK_ACCOUNT, PostgreSQL
SELECT seq FROM accounts WHERE seq = $1 FOR UPDATE;

-- outbox::webhook_secrets::DELETE_ENDED, both
DELETE FROM webhook_secrets WHERE account = $1 AND (expires_at <= $2 OR seq NOT IN (
            SELECT seq FROM webhook_secrets WHERE account = $3 ORDER BY seq DESC LIMIT $4));

-- outbox::webhook_secrets::END, both
UPDATE webhook_secrets SET expires_at = $1 WHERE account = $2 AND (expires_at IS NULL OR expires_at > $3);

-- outbox::webhook_secrets::INSERT, both
INSERT INTO webhook_secrets (account, secret, created_at) VALUES ($1, $2, $3);

-- outbox::webhook_secrets::LIST, both
SELECT secret, created_at, expires_at FROM webhook_secrets
        WHERE account = $1 AND (expires_at IS NULL OR expires_at > $2) ORDER BY seq DESC;

-- outbox::webhook_secrets::LIST_OF, SQLite
SELECT secret, created_at, expires_at, account FROM webhook_secrets
            WHERE account = ?2 AND (expires_at IS NULL OR expires_at > ?1) ORDER BY seq DESC;

-- outbox::webhook_secrets::LIST_OF, PostgreSQL
SELECT secret, created_at, expires_at, account FROM webhook_secrets
            WHERE account = ANY ($2::bigint[]) AND (expires_at IS NULL OR expires_at > $1) ORDER BY seq DESC;

