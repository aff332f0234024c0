-- The engine that an attempt failed at, by its name in the settings, for operators. Null in every row of the previous release, which does
-- not fill it; so is the next one.
ALTER TABLE attempts ADD COLUMN engine TEXT;

-- When a request was released to the queue, in milliseconds.
ALTER TABLE request_states ADD COLUMN released_at INTEGER;

-- What of a quarter of an hour ended in its first and in its second five minutes; the rest ended in the third, with all that the previous
-- release counts. tokens are those of prompts and completions together.
ALTER TABLE activity ADD COLUMN completed_1 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN failed_1 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN cancelled_1 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN tokens_1 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN amount_1 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN completed_2 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN failed_2 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN cancelled_2 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN tokens_2 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN amount_2 INTEGER NOT NULL DEFAULT 0;
