-- files::coming::DISCARD, both
UPDATE files SET state = 2 /* deleted */ WHERE seq = $1 AND state = 0 /* coming */ RETURNING bytes;

-- files::coming::FINISH, both
UPDATE files SET state = 1 /* ready */, expires_at = $1, name = $2, endpoint = $3, lines = $4, hold = $5, fault_count = $6, faults = $7
        WHERE seq = $8 AND state = 0 /* coming */;

-- files::coming::GROW, both
UPDATE files SET bytes = bytes + $1, expires_at = $2 WHERE seq = $3 AND state = 0 /* coming */;

-- files::coming::INSERT, both
INSERT INTO files (id, account, state, created_at, expires_at, bytes, name, lines, hold, fault_count)
        VALUES ($1, $2, 0, $3, $4, 0, '', 0, 0, 0) RETURNING seq;

-- files::coming::INSERT_PIECE, both
INSERT INTO file_pieces (file, place, content, bytes) VALUES ($1, $2, $3, $4);

-- files::deletion::DELETE, both
UPDATE files SET state = 2 /* deleted */ WHERE id = $1 AND account = $2 AND state = 1 /* ready */
        RETURNING account, bytes + coalesce(octet_length(faults), 0) AS bytes;

-- files::deletion::DELETE_EXPIRED, both
UPDATE files SET state = 2 /* deleted */ WHERE state < 2 /* coming, ready */ AND seq IN (
            SELECT seq FROM files WHERE expires_at <= $1 AND expires_at IS NOT NULL AND state < 2 /* coming, ready */ ORDER BY expires_at LIMIT $2)
        RETURNING account, bytes + coalesce(octet_length(faults), 0) AS bytes;

-- files::deletion::DELETE_OF_ACCOUNT, both
UPDATE files SET state = 2 /* deleted */ WHERE state < 2 /* coming, ready */ AND seq IN (
            SELECT seq FROM files WHERE account = $1 AND state < 2 /* coming, ready */ ORDER BY seq LIMIT $2)
        RETURNING account, bytes + coalesce(octet_length(faults), 0) AS bytes;

-- files::deletion::DELETE_PIECES, both
DELETE FROM file_pieces WHERE (file, place) IN (
        SELECT file, place FROM file_pieces WHERE file = $1 ORDER BY place LIMIT $2);

-- files::deletion::DELETE_ROW, both
DELETE FROM files WHERE seq = $1 AND state = 2 /* deleted */;

-- files::deletion::FIND_DELETED, both
SELECT seq FROM files f WHERE state = 2 /* deleted */
          AND NOT EXISTS (SELECT 1 FROM batch_inputs i WHERE i.file = f.seq AND i.state = 0 /* being filled */) ORDER BY seq LIMIT 1;

-- files::parts::ATTACH, both
UPDATE files SET upload = $1, expires_at = $2 WHERE seq = $3 AND state = 0 /* coming */;

-- files::parts::LIST, both
SELECT seq, id, bytes FROM files WHERE upload = $1 AND state = 0 /* coming */ ORDER BY seq;

-- files::parts::SUM, both
SELECT count(*) AS parts, CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM files WHERE upload = $1 AND state = 0 /* coming */;

-- files::reads::FIND, both
SELECT seq, id, created_at, expires_at, bytes, name, endpoint, lines, hold, fault_count, faults
        FROM files WHERE id = $1 AND account = $2 AND state = 1 /* ready */;

-- files::reads::NEXT_PIECE, both
SELECT place, content FROM file_pieces WHERE file = $1 AND place >= $2 ORDER BY place LIMIT 1;

-- files::reads::PAGE, both
SELECT seq, id, created_at, expires_at, bytes, name, endpoint, lines, hold, fault_count, NULL AS faults
        FROM files WHERE account = $1 AND seq > $2 AND state = 1 /* ready */ ORDER BY seq LIMIT $3;

-- files::reads::PAGE_FROM_NEWEST, both
SELECT seq, id, created_at, expires_at, bytes, name, endpoint, lines, hold, fault_count, NULL AS faults
        FROM files WHERE account = $1 AND seq < $2 AND state = 1 /* ready */ ORDER BY seq DESC LIMIT $3;

-- files::upload_ends::CANCEL, both
UPDATE uploads SET state = 2 /* cancelled */ WHERE seq = $1 AND state = 0 /* pending */;

-- files::upload_ends::COMPLETE, both
UPDATE uploads SET state = 1 /* completed */, file = $1, digest = $2 WHERE seq = $3 AND state = 0 /* pending */;

-- files::upload_ends::DROP_PARTS, both
UPDATE files SET state = 2 /* deleted */ WHERE upload = $1 AND state = 0 /* coming */ RETURNING account, bytes;

-- files::uploads::COUNT_PENDING, both
SELECT count(*) AS uploads FROM uploads WHERE account = $1 AND state = 0 /* pending */ AND expires_at > $2;

-- files::uploads::FIND, both
SELECT seq, id, state, created_at, expires_at, bytes, name, file_lasts_ms, file, digest FROM uploads WHERE id = $1 AND account = $2;

-- files::uploads::FORGET, both
DELETE FROM uploads WHERE seq IN (SELECT seq FROM uploads WHERE created_at <= $1 ORDER BY created_at LIMIT $2) RETURNING account;

-- files::uploads::INSERT, both
INSERT INTO uploads (id, account, state, created_at, expires_at, bytes, name, file_lasts_ms) VALUES ($1, $2, 0, $3, $4, $5, $6, $7);

-- files::uploads::LOCK, SQLite
SELECT seq, id, state, created_at, expires_at, bytes, name, file_lasts_ms, file, digest FROM uploads WHERE id = ? AND account = ?;

-- files::uploads::LOCK, PostgreSQL
SELECT seq, id, state, created_at, expires_at, bytes, name, file_lasts_ms, file, digest FROM uploads WHERE id = $1 AND account = $2 FOR UPDATE;

