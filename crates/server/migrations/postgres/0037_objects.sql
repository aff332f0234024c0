-- Objects beside the database that hold bodies above a size. What stands in the place of such a body has the `name` of its object. A row is
-- committed before its object is put, and deleted after its object is.
--
-- state: 0 being put, 1 in use by a request, 2 in use no more, 3 being deleted. One in use is never deleted. What is not in use is deleted at
-- `delete_at`, in milliseconds; null where that time is not set yet. `request` is null until it is in use.
-- The previous release puts nothing there, and cannot read what is.
CREATE TABLE objects (
    name       BYTEA NOT NULL PRIMARY KEY,
    account    BIGINT NOT NULL,
    request    BIGINT,
    bytes      BIGINT NOT NULL,
    state      BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    delete_at  BIGINT
);
CREATE INDEX objects_by_request ON objects (request) WHERE request IS NOT NULL;
CREATE INDEX objects_by_account ON objects (account);
CREATE INDEX objects_to_delete ON objects (delete_at) WHERE state <> 1;

COMMENT ON TABLE objects IS 'Objects beside the database that hold bodies above a size.';
COMMENT ON COLUMN objects.name IS '128 bits of chance; the name of the object under the prefix of its account.';
COMMENT ON COLUMN objects.account IS 'Whose it is: accounts.seq.';
COMMENT ON COLUMN objects.request IS 'The request whose body or result it is: requests.seq; null until it is in use.';
COMMENT ON COLUMN objects.bytes IS 'How long it is, in bytes.';
COMMENT ON COLUMN objects.state IS '0 being put, 1 in use, 2 in use no more, 3 being deleted.';
COMMENT ON COLUMN objects.created_at IS 'When it was to be put, in milliseconds.';
COMMENT ON COLUMN objects.delete_at IS 'When it is deleted if it is not in use, in milliseconds; null: not set yet.';
