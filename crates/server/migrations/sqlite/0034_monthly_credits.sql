-- What the account is granted each calendar month (UTC), in nano-credits; null where it is granted nothing. And the last month of which it was, in
-- months since 1970. The previous release grants nothing by itself.
ALTER TABLE accounts ADD COLUMN monthly_credits INTEGER;
ALTER TABLE accounts ADD COLUMN monthly_credits_month INTEGER;
CREATE INDEX accounts_monthly ON accounts (seq) WHERE monthly_credits IS NOT NULL;

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
       strftime('%Y-%m-%d %H:%M:%f', a.suspended_at / 1000.0, 'unixepoch') AS suspended_at, a.retention_ms,
       strftime('%Y-%m-%d %H:%M:%f', a.closed_at / 1000.0, 'unixepoch') AS closed_at,
       strftime('%Y-%m-%d %H:%M:%f', a.erase_at / 1000.0, 'unixepoch') AS erase_at,
       strftime('%Y-%m-%d %H:%M:%f', a.erased_at / 1000.0, 'unixepoch') AS erased_at,
       a.monthly_credits / 1e9 AS monthly_credits
FROM accounts a;
