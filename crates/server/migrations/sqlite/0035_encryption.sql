-- The name of the key by which what the account sends and gets is encrypted; null where nothing of it is, or where the key was destroyed.
-- The previous release encrypts nothing, and cannot read what is encrypted.
ALTER TABLE accounts ADD COLUMN data_key INTEGER;

-- How long the content of a piece is, in bytes, where that is not the length of what is stored.
ALTER TABLE file_pieces ADD COLUMN bytes INTEGER;
