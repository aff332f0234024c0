-- Models of which an engine is sent nothing, while it is sent others', as JSON. Null where there are none: the previous release fills
-- it never.
ALTER TABLE engine_reports ADD COLUMN models_out TEXT;
