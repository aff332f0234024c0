-- How long ended requests of the account are kept, in milliseconds; null where the settings say. The previous release goes by the settings alone.
ALTER TABLE accounts ADD COLUMN retention_ms INTEGER;

-- When the account was closed for good, in milliseconds, when it was asked to be erased, and when nothing of it was left but the sums of the
-- ledger; null where that has not happened. An account that is closed is suspended too, which the previous release sees.
ALTER TABLE accounts ADD COLUMN closed_at INTEGER;
ALTER TABLE accounts ADD COLUMN erase_at INTEGER;
ALTER TABLE accounts ADD COLUMN erased_at INTEGER;
CREATE INDEX accounts_closed ON accounts (seq) WHERE closed_at IS NOT NULL AND erased_at IS NULL;

-- Of an account that is erased.
CREATE INDEX uploads_by_account ON uploads (account, seq);

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
       strftime('%Y-%m-%d %H:%M:%f', a.erased_at / 1000.0, 'unixepoch') AS erased_at
FROM accounts a;
