-- database::migrations::IS_VERSIONED, PostgreSQL
SELECT count(*) = 2 AS is_there FROM pg_attribute WHERE attrelid = to_regclass('schema_version')
            AND attname IN ('version', 'applied_at');

-- database::migrations::VERSION_OF_FILE, SQLite
SELECT user_version AS version FROM pragma_user_version;

-- database::migrations::VERSION_OF_SERVER, PostgreSQL
SELECT coalesce(max(version), 0) AS version FROM schema_version;

-- database::ownership::FIRST_TABLE, SQLite
SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name LIMIT 1;

-- database::ownership::LOOK, PostgreSQL
SELECT (SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass('schema_version')
                       AND attname IN ('version', 'applied_at')) = 2 AS is_versioned,
                     (SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass('requests')
                       AND attname IN ('seq', 'id', 'account', 'model', 'created_at', 'expires_at', 'body'))
                     + (SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass('settings')
                       AND attname IN ('name', 'value')) AS marks,
                     (SELECT min(c.relname::text) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                       WHERE n.nspname = current_schema() AND c.relname::text = ANY ($1::text[])) AS taken;

-- database::ownership::MARKS, SQLite
SELECT (SELECT count(*) FROM pragma_table_info('requests')
                     WHERE name IN ('seq', 'id', 'account', 'model', 'created_at', 'expires_at', 'body'))
                   + (SELECT count(*) FROM pragma_table_info('settings') WHERE name IN ('name', 'value')) AS marks;

-- database::settings::FIND_SORT_KEY_SECRET, both
SELECT value FROM settings WHERE name = 'sort_key_secret';

-- database::settings::INSERT_SORT_KEY_SECRET, SQLite
INSERT INTO settings (name, value) VALUES ('sort_key_secret', coalesce(?, randomblob(32)))
            ON CONFLICT DO NOTHING;

-- database::settings::INSERT_SORT_KEY_SECRET, PostgreSQL
INSERT INTO settings (name, value) VALUES ('sort_key_secret', coalesce($1::bytea,
                sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))))
            ON CONFLICT DO NOTHING;

-- database::transaction::LAST_COMMIT, PostgreSQL
SELECT number FROM commit_markers WHERE node = $1 FOR UPDATE;

