-- opening::LAST_NUMBERS, SQLite
SELECT max((SELECT coalesce(max(seq), 0) FROM requests),
                       (SELECT coalesce(max(seq), 0) FROM last_deleted WHERE table_name = 'requests')) AS request,
                   max((SELECT coalesce(max(seq), 0) FROM results),
                       (SELECT coalesce(max(seq), 0) FROM last_deleted WHERE table_name = 'results'),
                       (SELECT coalesce(max(result), 0) FROM ledger WHERE result IS NOT NULL)) AS result;

-- opening::TAKE_TURN, PostgreSQL
SELECT 1 FROM settings WHERE name = 'sort_key_secret' FOR UPDATE;

