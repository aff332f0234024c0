-- Which span of which trace a request came by: 16 bytes of the trace and 8 of the span, in the order of the wire. Null where it is not
-- traced: the previous release traces nothing.
ALTER TABLE requests ADD COLUMN trace BLOB;
