-- encryption::CLEAR, both
UPDATE accounts SET data_key = NULL WHERE seq = $1;

-- encryption::FIND, both
SELECT data_key FROM accounts WHERE seq = $1;

-- encryption::LIST, both
SELECT data_key FROM accounts WHERE data_key IS NOT NULL;

-- encryption::SET, both
UPDATE accounts SET data_key = $1 WHERE seq = $2 AND data_key IS NULL AND erased_at IS NULL;

