-- waits::EVENTS, SQLite
UPDATE events SET due_at = min(max(due_at - ?, ?), ?) WHERE due_at IS NOT NULL AND due_at > ?;

-- waits::EVENTS, PostgreSQL
UPDATE events SET due_at = least(greatest(due_at - $1, $2), $3) WHERE seq IN (
            SELECT seq FROM events WHERE due_at IS NOT NULL AND due_at > $4 FOR UPDATE SKIP LOCKED);

-- waits::GATHERING, SQLite
UPDATE request_states SET ready_at = min(max(ready_at - ?, ?), ?)
            WHERE state = 0 /* gathering */ AND ready_at > ?;

-- waits::GATHERING, PostgreSQL
UPDATE request_states SET ready_at = least(greatest(ready_at - $1, $2), $3) WHERE seq IN (
            SELECT seq FROM request_states
            WHERE state = 0 /* gathering */ AND ready_at IS NOT NULL AND ready_at > $4 FOR UPDATE SKIP LOCKED);

-- waits::NEWEST, both
SELECT max(at) AS at FROM (
            SELECT created_at AS at FROM requests WHERE seq = (SELECT max(seq) FROM requests)
            UNION ALL SELECT created_at FROM events WHERE seq = (SELECT max(seq) FROM events)) n;

-- waits::RETRIES, SQLite
UPDATE queue SET retry_at = min(max(retry_at - ?, ?), ?) WHERE retry_at > ?;

-- waits::RETRIES, PostgreSQL
UPDATE queue SET retry_at = least(greatest(retry_at - $1, $2), $3) WHERE (model, account, sort_key, seq) IN (
            SELECT model, account, sort_key, seq FROM queue WHERE retry_at > $4 FOR UPDATE SKIP LOCKED);

