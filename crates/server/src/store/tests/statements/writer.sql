-- writer::core::TEST_WRITE, SQLite
INSERT INTO settings (name, value) VALUES ('test_write', randomblob(16384))
            ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- writer::core::TEST_WRITE, PostgreSQL
INSERT INTO settings (name, value) VALUES ('test_write', ''::bytea)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value;

