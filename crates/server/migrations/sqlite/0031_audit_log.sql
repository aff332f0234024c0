-- Changes of who may do what, of money and of settings of accounts, each written with the change: who, when, from where.
CREATE TABLE audit_log (
    seq         INTEGER PRIMARY KEY,
    created_at  INTEGER NOT NULL,
    actor_kind  INTEGER NOT NULL,
    actor_id    TEXT,
    actor_name  TEXT,
    is_operator INTEGER NOT NULL,
    account     INTEGER,
    action      TEXT NOT NULL,
    target_type TEXT NOT NULL,
    target_id   TEXT,
    details     TEXT,
    address     TEXT
);
CREATE INDEX audit_log_by_time ON audit_log (created_at, seq);
CREATE INDEX audit_log_by_action ON audit_log (action, created_at, seq);
CREATE INDEX audit_log_by_account ON audit_log (account, created_at, seq) WHERE account IS NOT NULL;
CREATE INDEX audit_log_by_account_and_action ON audit_log (account, action, created_at, seq) WHERE account IS NOT NULL;
CREATE INDEX audit_log_by_actor ON audit_log (actor_id, created_at) WHERE actor_id IS NOT NULL;

CREATE VIEW overnight_audit_log AS
SELECT strftime('%Y-%m-%d %H:%M:%f', l.created_at / 1000.0, 'unixepoch') AS created_at,
       CASE l.actor_kind WHEN 0 THEN 'service' WHEN 1 THEN 'operator' WHEN 2 THEN 'user' WHEN 3 THEN 'api_key' END AS actor_kind,
       l.actor_id, l.actor_name, l.is_operator = 1 AS is_operator, a.id AS account, a.name AS account_name, l.action, l.target_type, l.target_id, l.details, l.address, l.seq
FROM audit_log l
LEFT JOIN overnight_accounts a ON a.seq = l.account;

DROP VIEW overnight_api_keys;
CREATE VIEW overnight_api_keys AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'key_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(k.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(k.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND k.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name, k.name,
       strftime('%Y-%m-%d %H:%M:%f', k.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', k.expires_at / 1000.0, 'unixepoch') AS expires_at,
       strftime('%Y-%m-%d %H:%M:%f', k.revoked_at / 1000.0, 'unixepoch') AS revoked_at,
       strftime('%Y-%m-%d %H:%M:%f', k.last_used_at / 1000.0, 'unixepoch') AS last_used_at,
       CASE k.scope WHEN 0 THEN 'write' WHEN 1 THEN 'read' WHEN 2 THEN 'admin' END AS scope
FROM api_keys k
JOIN overnight_accounts a ON a.seq = k.account;
