-- What the account is granted each calendar month (UTC), in nano-credits; null where it is granted nothing. And the last month of which it was, in
-- months since 1970. The previous release grants nothing by itself.
ALTER TABLE accounts ADD COLUMN monthly_credits BIGINT;
ALTER TABLE accounts ADD COLUMN monthly_credits_month BIGINT;
CREATE INDEX accounts_monthly ON accounts (seq) WHERE monthly_credits IS NOT NULL;

CREATE OR REPLACE VIEW overnight_accounts AS
SELECT overnight_id('acct', a.id) AS id, a.name, to_timestamp(a.created_at / 1000.0) AS created_at,
       overnight_credits(a.balance) AS balance, overnight_credits(a.held) AS held, overnight_credits(a.balance - a.held) AS available,
       to_timestamp(a.payments_activated_at / 1000.0) AS payments_activated_at, a.live_requests, a.stored_bytes,
       a.live_requests_quota, a.stored_bytes_quota, a.requests_per_second_quota, a.tokens_per_day_quota, a.id AS id_bytes, a.seq,
       to_timestamp(a.suspended_at / 1000.0) AS suspended_at, a.retention_ms, to_timestamp(a.closed_at / 1000.0) AS closed_at,
       to_timestamp(a.erase_at / 1000.0) AS erase_at, to_timestamp(a.erased_at / 1000.0) AS erased_at,
       overnight_credits(a.monthly_credits) AS monthly_credits
FROM accounts a;

COMMENT ON COLUMN accounts.monthly_credits IS 'What it is granted each calendar month (UTC), in nano-credits; null: nothing.';
COMMENT ON COLUMN accounts.monthly_credits_month IS 'The last month of which it was granted its monthly credits, in months since 1970.';
