-- objects::audit::PAGE, both
SELECT name, account, bytes, state = 1 /* in use */ AS is_used FROM objects WHERE name > $1 ORDER BY name LIMIT $2;

-- objects::owner::FIND_ANY, both
SELECT name FROM objects LIMIT 1;

-- objects::sweep::CLAIM, both
UPDATE objects SET state = 3 /* being deleted */ WHERE name IN (
        SELECT name FROM objects WHERE state <> 1 /* in use */ AND delete_at <= $1 ORDER BY delete_at LIMIT $2)
        AND state <> 1 /* in use */ RETURNING name, account, request;

-- objects::sweep::DELETE, SQLite
DELETE FROM objects WHERE name = ?1 AND state = 3 /* being deleted */;

-- objects::sweep::DELETE, PostgreSQL
DELETE FROM objects WHERE name = ANY ($1::bytea[]) AND state = 3 /* being deleted */;

-- objects::sweep::FIND_OF_ACCOUNT, both
SELECT name FROM objects WHERE account = $1 LIMIT 1;

-- objects::sweep::HURRY, both
UPDATE objects SET state = 3 /* being deleted */, delete_at = 0 WHERE name IN (
        SELECT name FROM objects WHERE account = $1 AND state <> 1 /* in use */
            AND (delete_at IS NULL OR delete_at > 0) AND (state = 2 /* in use no more */ OR created_at <= $2) LIMIT $3);

-- objects::sweep::POSTPONE, SQLite
UPDATE objects SET delete_at = ?1 WHERE name = ?2 AND state = 3 /* being deleted */;

-- objects::sweep::POSTPONE, PostgreSQL
UPDATE objects SET delete_at = $1 WHERE name = ANY ($2::bytea[]) AND state = 3 /* being deleted */;

-- objects::sweep::SET_TIME, both
UPDATE objects SET delete_at = $1 WHERE name IN (
        SELECT name FROM objects WHERE state <> 1 /* in use */ AND delete_at IS NULL LIMIT $2);

-- objects::sweep::WAITING, both
SELECT count(*) AS count, CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM objects WHERE state <> 1 /* in use */;

-- objects::table::DISCARD, SQLite
UPDATE objects SET state = 2 /* in use no more */, delete_at = 0 WHERE name = ?1 AND state = 0 /* being put */;

-- objects::table::DISCARD, PostgreSQL
UPDATE objects SET state = 2 /* in use no more */, delete_at = 0
            WHERE name = ANY ($1::bytea[]) AND state = 0 /* being put */;

-- objects::table::LET_GO, SQLite
UPDATE objects SET state = 2 /* in use no more */
            WHERE request = ?1 AND request IS NOT NULL AND state = 1 /* in use */ RETURNING account, bytes;

-- objects::table::LET_GO, PostgreSQL
UPDATE objects SET state = 2 /* in use no more */
            WHERE request = ANY ($1::bigint[]) AND request IS NOT NULL AND state = 1 /* in use */ RETURNING account, bytes;

-- objects::table::RESERVE, SQLite
INSERT INTO objects (name, account, bytes, state, created_at, delete_at)
            VALUES (?1, ?2, ?3, 0 /* being put */, ?4, ?5);

-- objects::table::RESERVE, PostgreSQL
INSERT INTO objects (name, account, bytes, state, created_at, delete_at)
            SELECT name, account, bytes, 0 /* being put */, created_at, delete_at
            FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
                AS v(name, account, bytes, created_at, delete_at);

-- objects::table::USE_FOR_REQUEST, SQLite
UPDATE objects SET state = 1 /* in use */, delete_at = NULL, request = (SELECT seq FROM requests WHERE id = ?2)
            WHERE name = ?1 AND state = 0 /* being put */;

-- objects::table::USE_FOR_REQUEST, PostgreSQL
UPDATE objects o SET state = 1 /* in use */, delete_at = NULL, request = r.seq
            FROM unnest($1::bytea[], $2::bytea[]) AS v(name, id) JOIN requests r ON r.id = v.id
            WHERE o.name = v.name AND o.state = 0 /* being put */;

-- objects::table::USE_FOR_RESULT, SQLite
UPDATE objects SET state = 1 /* in use */, delete_at = NULL, request = ?2
            WHERE name = ?1 AND state = 0 /* being put */;

-- objects::table::USE_FOR_RESULT, PostgreSQL
UPDATE objects o SET state = 1 /* in use */, delete_at = NULL, request = v.request
            FROM unnest($1::bytea[], $2::bigint[]) AS v(name, request)
            WHERE o.name = v.name AND o.state = 0 /* being put */;

-- objects::unused::FIND, both
SELECT live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota,
            (SELECT CAST(coalesce(sum(o.bytes), 0) AS BIGINT) FROM objects o WHERE o.account = a.seq AND o.state <> 1 /* in use */) AS bytes
        FROM accounts a WHERE a.seq = $1;

