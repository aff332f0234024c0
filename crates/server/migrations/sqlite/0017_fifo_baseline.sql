-- What engines' prefix caches would hold of a prompt if requests were sent in order of arrival, in thousandths, estimated when the
-- request came; and what a process knows of its engines' prefix caches, as JSON. Null where nothing is known: the previous release
-- fills neither.
ALTER TABLE requests ADD COLUMN fifo_hit_permille INTEGER;
ALTER TABLE engine_reports ADD COLUMN prefix_cache TEXT;
