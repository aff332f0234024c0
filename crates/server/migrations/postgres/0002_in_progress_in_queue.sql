-- That a request is in progress stands in the queue, where its lease is written anyway. Deadlines are never moved or
-- taken out: what looks for overdue requests remembers how far it has come.

ALTER TABLE queue ADD COLUMN in_progress_at BIGINT;
CREATE INDEX progress_by_deadline ON progress (deadline);
