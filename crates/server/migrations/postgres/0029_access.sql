-- What a key may be used for: 0 everything, 1 what changes nothing. Keys of before, and those that the previous release makes, may do everything.
ALTER TABLE api_keys ADD COLUMN scope BIGINT NOT NULL DEFAULT 0;

-- When an account was suspended, in milliseconds; null where it is not. The previous release takes its calls all the same.
ALTER TABLE accounts ADD COLUMN suspended_at BIGINT;

CREATE OR REPLACE VIEW overnight_accounts AS
SELECT overnight_id('acct', a.id) AS id, a.name, to_timestamp(a.created_at / 1000.0) AS created_at,
       overnight_credits(a.balance) AS balance, overnight_credits(a.held) AS held, overnight_credits(a.balance - a.held) AS available,
       to_timestamp(a.payments_activated_at / 1000.0) AS payments_activated_at, a.live_requests, a.stored_bytes,
       a.live_requests_quota, a.stored_bytes_quota, a.requests_per_second_quota, a.tokens_per_day_quota, a.id AS id_bytes, a.seq,
       to_timestamp(a.suspended_at / 1000.0) AS suspended_at
FROM accounts a;

CREATE OR REPLACE VIEW overnight_api_keys AS
SELECT overnight_id('key', k.id) AS id, overnight_id('acct', a.id) AS account, a.name AS account_name, k.name,
       to_timestamp(k.created_at / 1000.0) AS created_at, to_timestamp(k.expires_at / 1000.0) AS expires_at,
       to_timestamp(k.revoked_at / 1000.0) AS revoked_at, to_timestamp(k.last_used_at / 1000.0) AS last_used_at,
       CASE k.scope WHEN 0 THEN 'write' ELSE 'read' END AS scope
FROM api_keys k
JOIN accounts a ON a.seq = k.account;

COMMENT ON COLUMN api_keys.scope IS 'What it may be used for: 0 everything, 1 what changes nothing.';
COMMENT ON COLUMN accounts.suspended_at IS 'When it was suspended, in milliseconds since 1970; null: it is not.';
