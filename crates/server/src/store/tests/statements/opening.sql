-- opening::LAST_NUMBERS, SQLite
SELECT (SELECT coalesce(max(seq), 0) FROM requests) AS request,
                   max((SELECT coalesce(max(seq), 0) FROM results),
                       (SELECT coalesce(max(result), 0) FROM ledger WHERE result IS NOT NULL)) AS result;

-- opening::TAKE_TURN, PostgreSQL
SELECT 1 FROM settings WHERE name = 'sort_key_secret' FOR UPDATE;

