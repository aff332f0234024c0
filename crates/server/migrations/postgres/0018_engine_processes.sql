-- How the process of an engine is that the service starts and stops, as JSON. Null of any other: the previous release fills it never.
ALTER TABLE engine_reports ADD COLUMN process TEXT;
