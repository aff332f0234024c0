-- operations::backup::restoring::COUNTS, SQLite
SELECT (SELECT count(*) FROM requests) AS requests,
                        (SELECT coalesce(sum(live_requests), 0) FROM accounts) AS live_requests,
                        (SELECT count(*) FROM events WHERE state = 0 /* waiting */) AS waiting_events,
                        (SELECT count(*) FROM objects WHERE state = 1 /* in use */) AS objects;

-- operations::backup::taking::PAGE, SQLite
SELECT data FROM sqlite_dbpage WHERE pgno = ?1;

-- operations::backup::taking::SIZE, SQLite
SELECT page_count, page_size FROM pragma_page_count, pragma_page_size;

-- operations::integrity::CHECK, SQLite
SELECT quick_check AS said FROM pragma_quick_check WHERE quick_check <> 'ok' UNION ALL SELECT quick_check FROM pragma_quick_check('sqlite_schema') WHERE quick_check <> 'ok' LIMIT 1;

-- operations::integrity::CHECKSUM_FAILURES, PostgreSQL
SELECT coalesce(checksum_failures, 0) AS failures FROM pg_stat_database WHERE datname = current_database();

-- operations::transfer::target::SERVING, PostgreSQL
SELECT coalesce(nullif(name, ''), 'a service') AS name FROM nodes
            WHERE to_timestamp(heartbeat_at / 1000.0) > clock_timestamp() - interval '60 seconds' LIMIT 1;

-- operations::vacuum::USED, SQLite
SELECT (page_count - freelist_count) * page_size AS bytes FROM pragma_page_count, pragma_freelist_count, pragma_page_size;

