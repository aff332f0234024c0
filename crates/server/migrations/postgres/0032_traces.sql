-- Which span of which trace a request came by: 16 bytes of the trace and 8 of the span, in the order of the wire. Null where it is not
-- traced: the previous release traces nothing.
ALTER TABLE requests ADD COLUMN trace BYTEA;
COMMENT ON COLUMN requests.trace IS 'The trace (16 bytes) and the span in it (8 bytes) by which it came; null where it is not traced.';
