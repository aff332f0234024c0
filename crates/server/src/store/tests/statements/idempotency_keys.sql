-- idempotency_keys::DELETE_OLD, both
DELETE FROM idempotency_keys WHERE (account, key) IN (
        SELECT account, key FROM idempotency_keys WHERE created_at < $1 ORDER BY created_at LIMIT $2);

-- idempotency_keys::FIND, both
SELECT digest, response FROM idempotency_keys WHERE account = $1 AND key = $2;

-- idempotency_keys::FIND_TAKEN, SQLite
SELECT account, key, digest, response FROM idempotency_keys WHERE account = ?1 AND key = ?2;

-- idempotency_keys::FIND_TAKEN, PostgreSQL
SELECT k.account, k.key, k.digest, k.response FROM unnest($1::bigint[], $2::bytea[]) AS v(account, key)
            JOIN idempotency_keys k ON k.account = v.account AND k.key = v.key;

-- idempotency_keys::GIVE_BACK, SQLite
DELETE FROM idempotency_keys WHERE account = ?1 AND key = ?2;

-- idempotency_keys::GIVE_BACK, PostgreSQL
DELETE FROM idempotency_keys WHERE (account, key) IN (SELECT * FROM unnest($1::bigint[], $2::bytea[]));

-- idempotency_keys::SET_RESPONSE, SQLite
UPDATE idempotency_keys SET response = ?3 WHERE account = ?1 AND key = ?2;

-- idempotency_keys::SET_RESPONSE, PostgreSQL
UPDATE idempotency_keys SET response = v.response
            FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) AS v(account, key, response)
            WHERE idempotency_keys.account = v.account AND idempotency_keys.key = v.key;

-- idempotency_keys::TAKE, SQLite
INSERT INTO idempotency_keys (account, key, digest, response, created_at) VALUES (?1, ?2, ?3, x'', ?4)
            ON CONFLICT DO NOTHING RETURNING account, key;

-- idempotency_keys::TAKE, PostgreSQL
INSERT INTO idempotency_keys (account, key, digest, response, created_at)
            SELECT v.account, v.key, v.digest, ''::bytea, v.created_at
            FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[]) AS v(account, key, digest, created_at)
            ON CONFLICT DO NOTHING RETURNING account, key;

