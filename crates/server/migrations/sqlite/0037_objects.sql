-- Objects beside the database that hold bodies above a size. What stands in the place of such a body has the `name` of its object. A row is
-- committed before its object is put, and deleted after its object is.
--
-- state: 0 being put, 1 in use by a request, 2 in use no more, 3 being deleted. One in use is never deleted. What is not in use is deleted at
-- `delete_at`, in milliseconds; null where that time is not set yet. `request` is null until it is in use.
-- The previous release puts nothing there, and cannot read what is.
CREATE TABLE objects (
    name       BLOB NOT NULL PRIMARY KEY,
    account    INTEGER NOT NULL,
    request    INTEGER,
    bytes      INTEGER NOT NULL,
    state      INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    delete_at  INTEGER
) WITHOUT ROWID;
CREATE INDEX objects_by_request ON objects (request) WHERE request IS NOT NULL;
CREATE INDEX objects_by_account ON objects (account);
CREATE INDEX objects_to_delete ON objects (delete_at) WHERE state <> 1;
