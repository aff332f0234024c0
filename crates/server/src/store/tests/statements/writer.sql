-- writer::core::PROBE, SQLite
INSERT INTO settings (name, value) VALUES ('probe', randomblob(16384))
            ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- writer::core::PROBE, PostgreSQL
INSERT INTO settings (name, value) VALUES ('probe', ''::bytea)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value;

