-- queue::attempts::LATEST, both
SELECT ended_at, status, message, engine FROM attempts ORDER BY request DESC, number DESC LIMIT $1;

-- queue::attempts::LIST_ATTEMPTS, both
SELECT a.ended_at, a.status, a.message, a.engine FROM requests r JOIN attempts a ON a.request = r.seq
        WHERE r.id = $1 AND r.account = $2 ORDER BY a.number;

-- queue::attempts::RECORD_ATTEMPT, both
INSERT INTO attempts (request, number, ended_at, status, message, engine)
        SELECT CAST($1 AS BIGINT), coalesce(max(number), 0) + 1, CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST($4 AS TEXT), CAST($5 AS TEXT)
        FROM attempts WHERE request = $6;

-- queue::deadlines::COUNT_DEADLINES, both
SELECT deadline / $1 AS step, count(*) AS count, CAST(sum(cost) AS BIGINT) AS cost FROM queue
        WHERE model = $2 AND account = $3 AND phase = 0 /* waiting */ AND retry_at <= $4 AND deadline > $5
        GROUP BY 1 ORDER BY 1;

-- queue::endings::END, SQLite
UPDATE request_states SET state = ?3, ready_at = ?4, in_progress_at = ?5, ended_at = ?6, result_seq = ?7
            WHERE seq = ?1 AND state = ?2 RETURNING seq, batch, result_seq, account, hold, lane;

-- queue::endings::END, PostgreSQL
UPDATE request_states SET state = v.new_state, ready_at = v.still_ready_at, in_progress_at = v.started_at,
                   ended_at = v.stopped_at, result_seq = v.result
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
                AS v(request, believed, new_state, still_ready_at, started_at, stopped_at, result)
            WHERE seq = v.request AND state = v.believed RETURNING seq, batch, result_seq, account, hold, lane;

-- queue::endings::LEAVE, SQLite
DELETE FROM queue WHERE model = ?1 AND account = ?2 AND sort_key = ?3 AND seq = ?4
            RETURNING seq, in_progress_at;

-- queue::endings::LEAVE, PostgreSQL
DELETE FROM queue WHERE (model, account, sort_key, seq) IN (
                SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[]))
            RETURNING seq, in_progress_at;

-- queue::endings::READ_AGAIN, SQLite
SELECT seq, model, account, sort_key, state, ready_at, in_progress_at, ended_at FROM current_states
            WHERE seq = ?1;

-- queue::endings::READ_AGAIN, PostgreSQL
SELECT seq, model, account, sort_key, state, ready_at, in_progress_at, ended_at FROM current_states
            WHERE seq = ANY ($1::bigint[]);

-- queue::endings::STORE_ERROR, SQLite
INSERT INTO results (seq, request, body) VALUES (?1, ?2, ?3);

-- queue::endings::STORE_ERROR, PostgreSQL
INSERT INTO results (seq, request, body)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS v(seq, request, body);

-- queue::expiry::IS_OVERDUE, both
SELECT EXISTS (
        SELECT 1 FROM request_states WHERE deadline > $1 AND deadline <= $2 AND state < 3 /* live */) AS is_overdue;

-- queue::expiry::NEXT_DEADLINE, SQLite
SELECT min(deadline) AS deadline FROM (
            SELECT min(deadline) AS deadline FROM queue
            UNION ALL SELECT min(deadline) FROM request_states WHERE state = 0 /* gathering */) d;

-- queue::expiry::NEXT_DEADLINE, PostgreSQL
SELECT min(deadline) AS deadline FROM (
            SELECT min(deadline) AS deadline FROM queue
            UNION ALL SELECT min(deadline) FROM request_states WHERE state = 0 /* gathering */ AND ready_at IS NOT NULL) d;

-- queue::expiry::NEXT_LIVE_DEADLINE, both
SELECT deadline FROM request_states WHERE deadline > $1 AND state < 3 /* live */
        ORDER BY deadline LIMIT 1;

-- queue::expiry::OVERDUE, both
SELECT seq, model, account, sort_key, state, ready_at, in_progress_at, ended_at, deadline FROM current_states
        WHERE deadline > $1 AND deadline <= $2 AND state < 3 /* live */ ORDER BY deadline, seq LIMIT $3;

-- queue::leases::LEASE, SQLite
UPDATE queue SET phase = 1 /* leased */, node = ?1, lease_epoch = lease_epoch + 1,
                   in_progress_at = coalesce(in_progress_at, ?2)
            WHERE model = ?3 AND account = ?4 AND sort_key = ?5 AND seq = ?6;

-- queue::leases::LEASE, PostgreSQL
WITH k(node, now, model, account) AS (
                SELECT n.seq, $2::bigint, $3::bigint, $4::bigint FROM nodes n WHERE n.seq = $1 FOR KEY SHARE
            ), v(sort_key, seq) AS (
                SELECT * FROM unnest($5::bytea[], $6::bigint[])
            ), w AS (
                SELECT q.* FROM k CROSS JOIN v CROSS JOIN LATERAL (
                    SELECT q.model, q.account, q.sort_key, q.seq, q.in_progress_at FROM queue q
                    WHERE q.model = k.model AND q.account = k.account AND q.sort_key = v.sort_key AND q.seq = v.seq
                      AND q.phase = 0 /* waiting */
                      AND NOT EXISTS (SELECT 1 FROM batches b WHERE b.seq = q.batch AND b.cancelled_at IS NOT NULL)
                    FOR UPDATE OF q SKIP LOCKED) q
            ) UPDATE queue q SET phase = 1 /* leased */, node = k.node, lease_epoch = q.lease_epoch + 1,
                     in_progress_at = coalesce(q.in_progress_at, k.now)
              FROM w, k WHERE q.model = w.model AND q.account = w.account AND q.sort_key = w.sort_key AND q.seq = w.seq
              RETURNING q.seq, q.lease_epoch, w.in_progress_at, q.batch;

-- queue::leases::LIST_LOST, SQLite
SELECT ?4 AS seq WHERE NOT EXISTS (
                SELECT 1 FROM queue q WHERE q.model = ?1 AND q.account = ?2 AND q.sort_key = ?3
                  AND q.seq = ?4 AND q.phase = 1 /* leased */ AND q.lease_epoch = ?5);

-- queue::leases::LIST_LOST, PostgreSQL
SELECT v.seq FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[])
                AS v(model, account, sort_key, seq, lease_epoch)
            WHERE NOT EXISTS (
                SELECT 1 FROM queue q WHERE q.model = v.model AND q.account = v.account AND q.sort_key = v.sort_key
                  AND q.seq = v.seq AND q.phase = 1 /* leased */ AND q.lease_epoch = v.lease_epoch);

-- queue::leases::RETURN, both
UPDATE queue SET phase = 0 /* waiting */, node = NULL, retry_at = $1, attempts = attempts + $2, suspect = $3
        WHERE phase = 1 /* leased */ AND node = $4
          AND model = $5 AND account = $6 AND sort_key = $7 AND seq = $8 AND lease_epoch = $9;

-- queue::leases::WAITING, SQLite
SELECT q.seq, q.lease_epoch, q.in_progress_at, q.batch
            FROM queue q LEFT JOIN batches b ON b.seq = q.batch
            WHERE q.model = ?3 AND q.account = ?4 AND q.sort_key = ?5 AND q.seq = ?6
              AND q.phase = 0 /* waiting */ AND b.cancelled_at IS NULL;

-- queue::live_counts::GATHERING, SQLite
SELECT count(*) AS waiting, 0 AS in_progress, min(deadline) AS oldest_deadline FROM request_states
            WHERE state = 0 /* gathering */ AND account + 0 = ?;

-- queue::live_counts::GATHERING, PostgreSQL
SELECT count(*) AS waiting, 0 AS in_progress, min(deadline) AS oldest_deadline FROM request_states
            WHERE state = 0 /* gathering */ AND ready_at IS NOT NULL AND account + 0 = $1;

-- queue::live_counts::LIST_MODELS, both
SELECT seq FROM models ORDER BY seq;

-- queue::live_counts::OF_ACCOUNT, both
SELECT count(*) - count(in_progress_at) AS waiting, count(in_progress_at) AS in_progress,
               min(deadline) AS oldest_deadline
        FROM queue WHERE model = $1 AND account = $2;

-- queue::live_counts::OF_MODEL, both
SELECT count(*) AS waiting FROM queue WHERE model = $1 AND phase = 0 /* waiting */;

-- queue::outlook::MARKS, both
SELECT sort_key, seq, cost FROM (
            SELECT sort_key, seq, row_number() OVER (ORDER BY sort_key, seq ROWS UNBOUNDED PRECEDING) AS place,
                CAST(sum(cost) OVER (ORDER BY sort_key, seq ROWS UNBOUNDED PRECEDING) AS BIGINT) AS cost
            FROM (SELECT sort_key, seq, cost FROM queue
                WHERE model = $1 AND account = $2 AND (sort_key, seq) > ($3, $4) AND phase = 0 /* waiting */
                ORDER BY sort_key, seq LIMIT $5) next_rows) placed
        WHERE place % $6 = 0 ORDER BY sort_key, seq;

-- queue::outlook::OF_ACCOUNTS, both
SELECT account, sum(CASE WHEN phase = 0 /* waiting */ THEN 1 ELSE 0 END) AS waiting,
            CAST(sum(CASE WHEN phase = 0 /* waiting */ THEN cost ELSE 0 END) AS BIGINT) AS waiting_cost,
            sum(CASE WHEN phase = 0 /* waiting */ THEN 0 ELSE 1 END) AS leased,
            CAST(sum(CASE WHEN phase = 0 /* waiting */ THEN 0 ELSE cost END) AS BIGINT) AS leased_cost
        FROM queue WHERE model = $1 GROUP BY account ORDER BY account;

-- queue::place::COUNT, both
SELECT count(*) AS waiting,
            coalesce(sum(CASE WHEN (sort_key, seq) < ($1, $2) THEN 1 ELSE 0 END), 0) AS waiting_before
        FROM queue WHERE model = $3 AND account = $4 AND NOT (sort_key = $5 AND seq = $6) AND phase = 0 /* waiting */;

-- queue::place::COUNT_BETWEEN, both
SELECT count(*) AS waiting FROM queue
        WHERE model = $1 AND account = $2 AND (sort_key, seq) > ($3, $4) AND (sort_key, seq) < ($5, $6)
          AND phase = 0 /* waiting */;

-- queue::place::LEASED_BEFORE, both
SELECT sort_key, seq FROM queue
        WHERE model = $1 AND account = $2 AND (sort_key, seq) < ($3, $4) AND phase <> 0 /* leased */
        ORDER BY sort_key DESC, seq DESC LIMIT 1;

-- queue::place::NEXT, both
SELECT sort_key, seq FROM queue WHERE model = $1 AND account = $2 AND (sort_key, seq) > ($3, $4)
        ORDER BY sort_key, seq LIMIT 1;

-- queue::place::PREVIOUS, both
SELECT sort_key, seq FROM queue WHERE model = $1 AND account = $2 AND (sort_key, seq) < ($3, $4)
        ORDER BY sort_key DESC, seq DESC LIMIT 1;

-- queue::place::ROW, both
SELECT attempts, suspect FROM queue WHERE model = $1 AND account = $2 AND sort_key = $3 AND seq = $4;

-- queue::queue_scan::SCAN, both
SELECT sort_key, seq, cost, deadline, attempts, suspect FROM queue
        WHERE model = $1 AND account = $2 AND (sort_key, seq) > ($3, $4) AND (sort_key, seq) <= ($5, $6)
          AND phase = 0 /* waiting */ AND retry_at <= $7
        ORDER BY sort_key, seq LIMIT $8;

-- queue::releases::BOUNDARY, SQLite
SELECT ready_at, seq FROM request_states WHERE state = 0 /* gathering */ AND ready_at <= ?
        ORDER BY ready_at, seq LIMIT 1 OFFSET ?;

-- queue::releases::COUNT, SQLite
SELECT model, account, count(*) AS count FROM request_states
        WHERE state = 0 /* gathering */ AND (ready_at, seq) <= (?, ?) GROUP BY model, account;

-- queue::releases::FILL, SQLite
INSERT INTO queue
            (model, account, sort_key, seq, phase, deadline, cost, lease_epoch, attempts, retry_at, suspect, batch, hold, price, lane)
        SELECT model, account, sort_key, seq, 0 /* waiting */, deadline, cost, 0, 0, 0, 0, batch, hold, price, lane FROM request_states
        WHERE state = 0 /* gathering */ AND (ready_at, seq) <= (?, ?) ORDER BY model, account, sort_key, seq;

-- queue::releases::MARK, SQLite
UPDATE request_states SET state = 1 /* queued */, released_at = ?
        WHERE state = 0 /* gathering */ AND (ready_at, seq) <= (?, ?);

-- queue::releases::NEXT_READY_AT, SQLite
SELECT min(ready_at) AS ready_at FROM request_states WHERE state = 0 /* gathering */;

-- queue::releases::NEXT_READY_AT, PostgreSQL
SELECT min(ready_at) AS ready_at FROM request_states WHERE state = 0 /* gathering */ AND ready_at IS NOT NULL;

-- queue::releases::RELEASE_ON_POSTGRES, PostgreSQL
WITH ready AS (
            SELECT seq FROM request_states WHERE state = 0 /* gathering */ AND ready_at IS NOT NULL AND ready_at <= $1
            ORDER BY ready_at, seq LIMIT $2 FOR UPDATE SKIP LOCKED
        ), moved AS (
            UPDATE request_states rs SET state = 1 /* queued */, ready_at = NULL, released_at = $3 FROM ready r WHERE rs.seq = r.seq
            RETURNING rs.model, rs.account, rs.sort_key, rs.seq, rs.deadline, rs.cost, rs.batch, rs.hold, rs.price, rs.lane
        ), filled AS (
            INSERT INTO queue
                (model, account, sort_key, seq, phase, deadline, cost, lease_epoch, attempts, retry_at, suspect, batch, hold, price, lane)
            SELECT model, account, sort_key, seq, 0 /* waiting */, deadline, cost, 0, 0, 0, 0, batch, hold, price, lane FROM moved
            ORDER BY model, account, sort_key, seq
            RETURNING model, account
        ) SELECT model, account, count(*) AS count FROM filled GROUP BY model, account;

-- queue::scan::BACKLOGS, both
SELECT model, account, count(*) AS count, max(retry_at) AS retry_at
        FROM queue WHERE phase = 0 /* waiting */ GROUP BY model, account;

-- queue::scan::FIND_PROMPT, both
SELECT seq, id, body, endpoint, created_at, max_tokens, fifo_hit_permille, trace FROM requests WHERE seq = $1;

-- queue::scan::SMALL_PROMPTS, SQLite
SELECT seq, id, body, endpoint, created_at, max_tokens, fifo_hit_permille, trace FROM requests
            WHERE octet_length(body) <= ?1 AND seq = ?2;

-- queue::scan::SMALL_PROMPTS, PostgreSQL
SELECT seq, id, body, endpoint, created_at, max_tokens, fifo_hit_permille, trace FROM requests
            WHERE octet_length(body) <= $1 AND seq = ANY ($2::bigint[]);

-- queue::scan::WAITING_PARTITIONS, PostgreSQL
WITH RECURSIVE g(model, account) AS (
            (SELECT model, account FROM queue ORDER BY model, account LIMIT 1)
            UNION ALL
            SELECT n.model, n.account FROM g CROSS JOIN LATERAL (
                SELECT q.model, q.account FROM queue q WHERE (q.model, q.account) > (g.model, g.account)
                ORDER BY q.model, q.account LIMIT 1) n
        ) SELECT model, account FROM g WHERE EXISTS (
            SELECT 1 FROM queue q
            WHERE q.model = g.model AND q.account = g.account AND q.phase = 0 /* waiting */ AND q.retry_at <= $1);

-- queue::segments::rows::COMMIT_WITHOUT_WAITING, PostgreSQL
SET LOCAL synchronous_commit = off;

-- queue::segments::rows::COUNT_SWEPT, PostgreSQL
SELECT count(*) AS count FROM segments s WHERE model = $1 AND account = $2 AND scanned_at >= $3
          AND EXISTS (SELECT 1 FROM nodes n WHERE n.seq = s.node);

-- queue::segments::rows::CURRENT, PostgreSQL
SELECT begin_key, begin_seq, cursor_key, cursor_seq FROM segments
        WHERE model = $1 AND account = $2 AND begin_key = $3 AND begin_seq = $4 FOR UPDATE;

-- queue::segments::rows::DELETE, PostgreSQL
DELETE FROM segments WHERE model = $1 AND account = $2 AND begin_key = $3 AND begin_seq = $4;

-- queue::segments::rows::DELETE_LEFT, PostgreSQL
DELETE FROM segments WHERE (model, account, begin_key, begin_seq) IN (
            SELECT model, account, begin_key, begin_seq FROM segments s
            WHERE model = $1 AND account = $2 AND begin_key = $3 AND begin_seq = $4
              AND (scanned_at < $5 OR NOT EXISTS (SELECT 1 FROM nodes n WHERE n.seq = s.node)) FOR UPDATE SKIP LOCKED);

-- queue::segments::rows::GO_ON, PostgreSQL
UPDATE segments SET cursor_key = $1, cursor_seq = $2, scanned_at = $3
        WHERE model = $4 AND account = $5 AND begin_key = $6 AND begin_seq = $7;

-- queue::segments::rows::INSERT, PostgreSQL
INSERT INTO segments
            (model, account, begin_key, begin_seq, cursor_key, cursor_seq, node, replica, scanned_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING;

-- queue::segments::rows::LIST, PostgreSQL
SELECT begin_key, begin_seq, cursor_key, cursor_seq FROM segments
        WHERE model = $1 AND account = $2 ORDER BY begin_key, begin_seq;

-- queue::segments::rows::LOCK, PostgreSQL
SELECT 1 AS is_there FROM segments
        WHERE model = $1 AND account = $2 AND begin_key = ''::bytea FOR UPDATE;

-- queue::segments::rows::NEXT, PostgreSQL
SELECT begin_key, begin_seq FROM segments
        WHERE model = $1 AND account = $2 AND (begin_key, begin_seq) > ($3, $4) ORDER BY begin_key, begin_seq LIMIT 1;

-- queue::segments::rows::OWN, PostgreSQL
SELECT begin_key, begin_seq, cursor_key, cursor_seq FROM segments
        WHERE model = $1 AND account = $2 AND node = $3 AND replica = $4 ORDER BY begin_key, begin_seq LIMIT 1 FOR UPDATE;

-- queue::segments::rows::PREVIOUS, PostgreSQL
SELECT begin_key, begin_seq FROM segments
        WHERE model = $1 AND account = $2 AND (begin_key, begin_seq) < ($3, $4) ORDER BY begin_key DESC, begin_seq DESC LIMIT 1;

-- queue::segments::rows::RESTS, PostgreSQL
SELECT s.begin_key, s.begin_seq, s.cursor_key, s.cursor_seq, s.node, s.replica,
            s.scanned_at < p.left_at OR NOT EXISTS (SELECT 1 FROM nodes n WHERE n.seq = s.node) AS is_left,
            ahead.count AS ahead, behind.count AS behind
        FROM (SELECT begin_key, begin_seq, cursor_key, cursor_seq, node, replica, scanned_at, model, account,
                lead(begin_key) OVER w AS until_key, lead(begin_seq) OVER w AS until_seq
            FROM segments WHERE model = $1 AND account = $2 WINDOW w AS (ORDER BY begin_key, begin_seq)) s
        CROSS JOIN (SELECT $3::bytea AS last_key, $4::bigint AS now, $5::bigint AS left_at, $6::bigint AS counted_max) p
        CROSS JOIN LATERAL (SELECT count(*) AS count FROM (SELECT 1 FROM queue q
            WHERE q.model = s.model AND q.account = s.account AND (q.sort_key, q.seq) > (s.cursor_key, s.cursor_seq)
              AND (q.sort_key, q.seq) <= (coalesce(s.until_key, p.last_key), coalesce(s.until_seq, 0))
              AND q.phase = 0 /* waiting */ AND q.retry_at <= p.now LIMIT p.counted_max) q) ahead
        CROSS JOIN LATERAL (SELECT count(*) AS count FROM (SELECT 1 FROM queue q
            WHERE q.model = s.model AND q.account = s.account AND (q.sort_key, q.seq) > (s.begin_key, s.begin_seq)
              AND (q.sort_key, q.seq) <= (s.cursor_key, s.cursor_seq)
              AND q.phase = 0 /* waiting */ AND q.retry_at <= p.now LIMIT p.counted_max) q) behind
        ORDER BY s.begin_key, s.begin_seq;

-- queue::segments::rows::REVIVE, PostgreSQL
UPDATE segments SET node = $1, replica = $2, scanned_at = $3
        WHERE (model, account, begin_key, begin_seq) IN (
            SELECT model, account, begin_key, begin_seq FROM segments s
            WHERE model = $4 AND account = $5 AND begin_key = $6 AND begin_seq = $7
              AND (scanned_at < $8 OR NOT EXISTS (SELECT 1 FROM nodes n WHERE n.seq = s.node)) FOR UPDATE SKIP LOCKED);

-- queue::segments::rows::TAKE_OVER, PostgreSQL
UPDATE segments SET node = $1, replica = $2, scanned_at = $3
        WHERE model = $4 AND account = $5 AND begin_key = $6 AND begin_seq = $7;

-- queue::settle::postgres::END, PostgreSQL
WITH v AS (
                SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bigint[],
                                     $8::bigint[], $9::bigint[], $10::bigint[]) WITH ORDINALITY
                    AS v(model, account, sort_key, seq, lease_epoch, state, ended_at, prompt_tokens, completion_tokens, place)
            ), gone AS (
                DELETE FROM queue q USING v
                WHERE q.model = v.model AND q.account = v.account AND q.sort_key = v.sort_key AND q.seq = v.seq
                  AND q.phase = 1 /* leased */ AND q.lease_epoch = v.lease_epoch AND q.node = $1
                  AND NOT EXISTS (SELECT 1 FROM batches b WHERE b.seq = q.batch AND b.cancelled_at IS NOT NULL)
                RETURNING q.seq, q.lease_epoch, q.batch, q.lane, q.in_progress_at,
                          greatest(v.ended_at, q.in_progress_at) AS ended_at,
                          v.state, v.prompt_tokens, v.completion_tokens, v.place
            ), numbered AS (
                SELECT nextval('results_seq_seq') AS result_seq, gone.* FROM gone
            ), moved AS (
                UPDATE request_states rs SET state = n.state, in_progress_at = n.in_progress_at, ended_at = n.ended_at,
                       result_seq = n.result_seq FROM numbered n WHERE rs.seq = n.seq
                RETURNING n.seq, n.lease_epoch, n.batch, n.lane, n.ended_at, n.result_seq, rs.hold, rs.price, rs.api_key
            ), stored AS (
                INSERT INTO results (seq, request, prompt_tokens, completion_tokens, body, warnings, engine)
                SELECT result_seq, seq, prompt_tokens, completion_tokens, ($11::bytea[])[place], ($12::bytea[])[place], ($13::text[])[place]
                FROM numbered
            ) SELECT m.seq, m.lease_epoch, m.batch, m.result_seq, m.hold, x.input, x.output, m.lane, m.ended_at, m.api_key
              FROM moved m LEFT JOIN price_points x ON x.seq = m.price;

-- queue::settle::sqlite::END, SQLite
UPDATE request_states SET state = ?2, in_progress_at = ?3, ended_at = ?4, result_seq = ?5 WHERE seq = ?1;

-- queue::settle::sqlite::HELD, SQLite
SELECT q.seq, q.lease_epoch, q.in_progress_at, q.batch, q.hold, x.input, x.output, q.lane,
                   (SELECT rs.api_key FROM request_states rs WHERE rs.seq = q.seq) AS api_key
            FROM queue q LEFT JOIN batches b ON b.seq = q.batch LEFT JOIN price_points x ON x.seq = q.price
            WHERE q.model = ?2 AND q.account = ?3 AND q.sort_key = ?4 AND q.seq = ?5
              AND q.phase = 1 /* leased */ AND q.lease_epoch = ?6 AND q.node = ?1 AND b.cancelled_at IS NULL;

-- queue::settle::sqlite::LEAVE, SQLite
DELETE FROM queue WHERE model = ?1 AND account = ?2 AND sort_key = ?3 AND seq = ?4;

-- queue::settle::sqlite::STORE, SQLite
INSERT INTO results (seq, request, prompt_tokens, completion_tokens, body, warnings, engine)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- queue::totals::GATHERING, SQLite
SELECT count(*) AS count, min(deadline) AS next_deadline FROM request_states
            WHERE state = 0 /* gathering */;

-- queue::totals::GATHERING, PostgreSQL
SELECT count(*) AS count, min(deadline) AS next_deadline FROM request_states
            WHERE state = 0 /* gathering */ AND ready_at IS NOT NULL;

-- queue::totals::OF_MODEL, both
SELECT account, sum(CASE WHEN phase = 0 /* waiting */ THEN 1 ELSE 0 END) AS waiting,
            sum(CASE WHEN phase = 0 /* waiting */ THEN 0 ELSE 1 END) AS leased, min(deadline) AS next_deadline
        FROM queue WHERE model = $1 GROUP BY account ORDER BY account;

