-- The bytes of an account's objects that are in use no more are read before more of them are put.
CREATE INDEX objects_unused_by_account ON objects (account, state, bytes) WHERE state > 1;
