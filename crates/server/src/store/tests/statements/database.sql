-- database::migrations::IS_VERSIONED, PostgreSQL
SELECT to_regclass('schema_version') IS NOT NULL AS is_there;

-- database::migrations::VERSION_OF_FILE, SQLite
SELECT user_version AS version FROM pragma_user_version;

-- database::migrations::VERSION_OF_SERVER, PostgreSQL
SELECT coalesce(max(version), 0) AS version FROM schema_version;

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

