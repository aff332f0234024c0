-- nodes::engine_days::ADD, both
INSERT INTO engine_days (day, name, requests, tokens) VALUES ($1, $2, $3, $4)
        ON CONFLICT (day, name) DO UPDATE SET requests = engine_days.requests + excluded.requests,
            tokens = engine_days.tokens + excluded.tokens
        RETURNING requests, tokens;

-- nodes::engine_days::FORGET, both
DELETE FROM engine_days WHERE day < $1;

-- nodes::engine_reports::FORGET, SQLite
DELETE FROM engine_reports WHERE node NOT IN (SELECT seq FROM nodes);

-- nodes::engine_reports::FORGET, PostgreSQL
DELETE FROM engine_reports WHERE (node, name) IN (
            SELECT e.node, e.name FROM engine_reports e
            WHERE NOT EXISTS (SELECT 1 FROM nodes n WHERE n.seq = e.node) FOR UPDATE SKIP LOCKED);

-- nodes::engine_reports::LIST, both
SELECT n.name AS node, e.reported_at, e.name, e.models, e.is_driven, e.in_flight, e.max_concurrency,
               e.paused_until, e.reason, e.tokens_per_second, e.cache_hit_percent, e.models_out, e.prefix_cache,
               e.process
        FROM engine_reports e JOIN nodes n ON n.seq = e.node ORDER BY e.name, n.name, e.node;

-- nodes::engine_reports::STORE, SQLite
INSERT INTO engine_reports
                (node, name, reported_at, models, is_driven, in_flight, max_concurrency, paused_until, reason,
                 tokens_per_second, cache_hit_percent, models_out, prefix_cache, process)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
            ON CONFLICT (node, name) DO UPDATE SET reported_at = excluded.reported_at, models = excluded.models,
                is_driven = excluded.is_driven, in_flight = excluded.in_flight,
                max_concurrency = excluded.max_concurrency, paused_until = excluded.paused_until,
                reason = excluded.reason, tokens_per_second = excluded.tokens_per_second,
                cache_hit_percent = excluded.cache_hit_percent, models_out = excluded.models_out,
                prefix_cache = excluded.prefix_cache, process = excluded.process;

-- nodes::engine_reports::STORE, PostgreSQL
INSERT INTO engine_reports
                (node, name, reported_at, models, is_driven, in_flight, max_concurrency, paused_until, reason,
                 tokens_per_second, cache_hit_percent, models_out, prefix_cache, process)
            SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[],
                                 $7::bigint[], $8::bigint[], $9::text[], $10::bigint[], $11::bigint[],
                                 $12::text[], $13::text[], $14::text[])
            ON CONFLICT (node, name) DO UPDATE SET reported_at = excluded.reported_at, models = excluded.models,
                is_driven = excluded.is_driven, in_flight = excluded.in_flight,
                max_concurrency = excluded.max_concurrency, paused_until = excluded.paused_until,
                reason = excluded.reason, tokens_per_second = excluded.tokens_per_second,
                cache_hit_percent = excluded.cache_hit_percent, models_out = excluded.models_out,
                prefix_cache = excluded.prefix_cache, process = excluded.process;

-- nodes::hints::GIVE, PostgreSQL
SELECT 1 FROM pg_notify('overnight', '');

-- nodes::lifecycle::DELETE, both
DELETE FROM nodes WHERE seq = $1;

-- nodes::lifecycle::DELETE_ALL, SQLite
DELETE FROM nodes;

-- nodes::lifecycle::DELETE_ALL_COMMIT_MARKERS, SQLite
DELETE FROM commit_markers;

-- nodes::lifecycle::DELETE_REPLICAS, both
DELETE FROM node_replicas WHERE node = $1;

-- nodes::lifecycle::HEARTBEAT, SQLite
INSERT INTO nodes (seq, name, schedules, heartbeat_at) VALUES (?, ?, ?, ?)
            ON CONFLICT (seq) DO UPDATE SET heartbeat_at = excluded.heartbeat_at;

-- nodes::lifecycle::HEARTBEAT, PostgreSQL
INSERT INTO nodes (seq, name, schedules, heartbeat_at)
            VALUES ($1, $2, $3, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 0 * $4::bigint)
            ON CONFLICT (seq) DO UPDATE SET heartbeat_at = excluded.heartbeat_at;

-- nodes::lifecycle::INSERT_COMMIT_MARKER, both
INSERT INTO commit_markers (node, number) VALUES ($1, 0);

-- nodes::lifecycle::RECLAIM, both
UPDATE queue SET phase = 0 /* waiting */, node = NULL WHERE phase = 1 /* leased */ AND node = $1;

-- nodes::lifecycle::RECLAIM_ALL, SQLite
UPDATE queue SET phase = 0 /* waiting */, node = NULL WHERE phase = 1 /* leased */;

-- nodes::lifecycle::REGISTER, SQLite
INSERT INTO nodes (name, schedules, heartbeat_at) VALUES (?, ?, ?) RETURNING seq;

-- nodes::lifecycle::REGISTER, PostgreSQL
INSERT INTO nodes (name, schedules, heartbeat_at)
            VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 0 * $3::bigint) RETURNING seq;

-- nodes::lifecycle::STALE, SQLite
SELECT seq FROM nodes WHERE heartbeat_at < ? AND seq <> ?;

-- nodes::lifecycle::STALE, PostgreSQL
SELECT seq FROM nodes
            WHERE heartbeat_at < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $1::bigint AND seq <> $2
            FOR UPDATE SKIP LOCKED;

-- nodes::replicas::FORGET_NODE_REPLICAS, PostgreSQL
DELETE FROM node_replicas WHERE node = $1 AND name = ANY ($2::text[]);

-- nodes::replicas::HELD, PostgreSQL
SELECT name FROM replicas WHERE node = $1 AND name = ANY ($2::text[]) ORDER BY name;

-- nodes::replicas::INSERT_NODE_REPLICAS, PostgreSQL
WITH me(seq) AS (SELECT seq FROM nodes WHERE seq = $1)
        INSERT INTO node_replicas (node, name) SELECT me.seq, v.name FROM me, unnest($2::text[]) AS v(name)
        ON CONFLICT DO NOTHING;

-- nodes::replicas::MAKE, PostgreSQL
INSERT INTO replicas (name, taken_at) SELECT name, $1 FROM unnest($2::text[]) AS v(name)
        ON CONFLICT DO NOTHING;

-- nodes::replicas::RELEASE, PostgreSQL
UPDATE replicas SET node = NULL WHERE node = $1 AND name = ANY ($2::text[]);

-- nodes::replicas::SHARE, PostgreSQL
SELECT ceil(coalesce(sum(1.0 / c.nodes), 0) - 0.001)::bigint AS share FROM (
            SELECT count(*) AS nodes FROM node_replicas r JOIN nodes n ON n.seq = r.node
            WHERE r.name = ANY ($1::text[]) GROUP BY r.name HAVING bool_or(r.node = $2)) c;

-- nodes::replicas::TAKE, PostgreSQL
UPDATE replicas SET node = $1, taken_at = $2 WHERE name IN (
            SELECT r.name FROM replicas r WHERE r.name = ANY ($3::text[])
              AND (r.node IS NULL OR NOT EXISTS (SELECT 1 FROM nodes n WHERE n.seq = r.node))
            ORDER BY r.name LIMIT $4 FOR UPDATE SKIP LOCKED
        );

-- nodes::statuses::COUNT_ORPHANED, both
SELECT count(*) AS count FROM queue
        WHERE phase = 1 /* leased */ AND node NOT IN (SELECT seq FROM nodes);

-- nodes::statuses::LIST, SQLite
SELECT n.name, n.schedules, ? - n.heartbeat_at AS silent_ms, coalesce(l.leased, 0) AS leased
            FROM nodes n LEFT JOIN (SELECT node, count(*) AS leased FROM queue
                WHERE phase = 1 /* leased */ GROUP BY node) l ON l.node = n.seq
            ORDER BY n.name, n.seq;

-- nodes::statuses::LIST, PostgreSQL
SELECT n.name, n.schedules,
                (extract(epoch FROM clock_timestamp()) * 1000)::bigint - n.heartbeat_at + 0 * $1::bigint AS silent_ms,
                coalesce(l.leased, 0) AS leased
            FROM nodes n LEFT JOIN (SELECT node, count(*) AS leased FROM queue
                WHERE phase = 1 /* leased */ GROUP BY node) l ON l.node = n.seq
            ORDER BY n.name, n.seq;

