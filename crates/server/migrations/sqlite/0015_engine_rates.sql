-- How fast engine replicas work. Null where a node does not tell: the previous release fills neither.
ALTER TABLE engine_reports ADD COLUMN tokens_per_second INTEGER;
ALTER TABLE engine_reports ADD COLUMN cache_hit_percent INTEGER;
