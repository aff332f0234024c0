-- That a request is in progress stands in the queue, where its lease is written anyway; `progress`, whose rows lie far
-- apart in the order of the queue, learns of it when the request ends. Deadlines are never moved or taken out: what
-- looks for overdue requests remembers how far it has come.

ALTER TABLE queue ADD COLUMN in_progress_at INTEGER;
UPDATE queue SET in_progress_at = (SELECT p.in_progress_at FROM progress p WHERE p.seq = queue.seq);

DROP INDEX progress_live;
UPDATE progress SET state = 1, in_progress_at = NULL WHERE state = 2;
CREATE INDEX progress_by_deadline ON progress (deadline);
