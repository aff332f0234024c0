-- How long ended requests of the account are kept, in milliseconds; null where the settings say. The previous release goes by the settings alone.
ALTER TABLE accounts ADD COLUMN retention_ms BIGINT;

-- When the account was closed for good, in milliseconds, when it was asked to be erased, and when nothing of it was left but the sums of the
-- ledger; null where that has not happened. An account that is closed is suspended too, which the previous release sees.
ALTER TABLE accounts ADD COLUMN closed_at BIGINT;
ALTER TABLE accounts ADD COLUMN erase_at BIGINT;
ALTER TABLE accounts ADD COLUMN erased_at BIGINT;
CREATE INDEX accounts_closed ON accounts (seq) WHERE closed_at IS NOT NULL AND erased_at IS NULL;

-- Of an account that is erased.
CREATE INDEX uploads_by_account ON uploads (account, seq);

CREATE OR REPLACE VIEW overnight_accounts AS
SELECT overnight_id('acct', a.id) AS id, a.name, to_timestamp(a.created_at / 1000.0) AS created_at,
       overnight_credits(a.balance) AS balance, overnight_credits(a.held) AS held, overnight_credits(a.balance - a.held) AS available,
       to_timestamp(a.payments_activated_at / 1000.0) AS payments_activated_at, a.live_requests, a.stored_bytes,
       a.live_requests_quota, a.stored_bytes_quota, a.requests_per_second_quota, a.tokens_per_day_quota, a.id AS id_bytes, a.seq,
       to_timestamp(a.suspended_at / 1000.0) AS suspended_at, a.retention_ms, to_timestamp(a.closed_at / 1000.0) AS closed_at,
       to_timestamp(a.erase_at / 1000.0) AS erase_at, to_timestamp(a.erased_at / 1000.0) AS erased_at
FROM accounts a;

COMMENT ON COLUMN accounts.retention_ms IS 'How long its ended requests are kept, in milliseconds; null: as the settings say.';
COMMENT ON COLUMN accounts.closed_at IS 'When it was closed for good, in milliseconds since 1970; null: it is not.';
COMMENT ON COLUMN accounts.erase_at IS 'When it was asked to be erased, in milliseconds since 1970; null: it was not.';
COMMENT ON COLUMN accounts.erased_at IS 'When nothing of it was left but the sums of the ledger, in milliseconds since 1970; null: it is not erased.';
