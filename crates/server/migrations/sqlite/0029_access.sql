-- What a key may be used for: 0 everything, 1 what changes nothing. Keys of before, and those that the previous release makes, may do everything.
ALTER TABLE api_keys ADD COLUMN scope INTEGER NOT NULL DEFAULT 0;

-- When an account was suspended, in milliseconds; null where it is not. The previous release takes its calls all the same.
ALTER TABLE accounts ADD COLUMN suspended_at INTEGER;

DROP VIEW overnight_accounts;
CREATE VIEW overnight_accounts AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'acct_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(a.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(a.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND a.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.name, strftime('%Y-%m-%d %H:%M:%f', a.created_at / 1000.0, 'unixepoch') AS created_at,
       a.balance / 1e9 AS balance, a.held / 1e9 AS held, (a.balance - a.held) / 1e9 AS available,
       strftime('%Y-%m-%d %H:%M:%f', a.payments_activated_at / 1000.0, 'unixepoch') AS payments_activated_at, a.live_requests, a.stored_bytes,
       a.live_requests_quota, a.stored_bytes_quota, a.requests_per_second_quota, a.tokens_per_day_quota, a.id AS id_bytes, a.seq,
       strftime('%Y-%m-%d %H:%M:%f', a.suspended_at / 1000.0, 'unixepoch') AS suspended_at
FROM accounts a;

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
       CASE k.scope WHEN 0 THEN 'write' ELSE 'read' END AS scope
FROM api_keys k
JOIN overnight_accounts a ON a.seq = k.account;
