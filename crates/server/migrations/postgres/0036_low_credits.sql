-- Below how many credits that are available, in nano-credits, the account is told so, and the webhook that is told; both null where none is. And how far
-- that has come: null while as much is available, 0 once less is, 1 once an event tells of it; and when the last event was made, in milliseconds.
-- The previous release notes nothing; the next move of the account's credits does.
ALTER TABLE accounts ADD COLUMN low_credits_threshold BIGINT;
ALTER TABLE accounts ADD COLUMN low_credits_webhook TEXT;
ALTER TABLE accounts ADD COLUMN low_credits_notified BIGINT;
ALTER TABLE accounts ADD COLUMN low_credits_notified_at BIGINT;
CREATE INDEX accounts_low_credits ON accounts (seq) WHERE low_credits_notified = 0;

CREATE OR REPLACE VIEW overnight_accounts AS
SELECT overnight_id('acct', a.id) AS id, a.name, to_timestamp(a.created_at / 1000.0) AS created_at,
       overnight_credits(a.balance) AS balance, overnight_credits(a.held) AS held, overnight_credits(a.balance - a.held) AS available,
       to_timestamp(a.payments_activated_at / 1000.0) AS payments_activated_at, a.live_requests, a.stored_bytes,
       a.live_requests_quota, a.stored_bytes_quota, a.requests_per_second_quota, a.tokens_per_day_quota, a.id AS id_bytes, a.seq,
       to_timestamp(a.suspended_at / 1000.0) AS suspended_at, a.retention_ms, to_timestamp(a.closed_at / 1000.0) AS closed_at,
       to_timestamp(a.erase_at / 1000.0) AS erase_at, to_timestamp(a.erased_at / 1000.0) AS erased_at,
       overnight_credits(a.monthly_credits) AS monthly_credits, overnight_credits(a.low_credits_threshold) AS low_credits_threshold,
       CASE a.low_credits_notified WHEN 0 THEN 'to be told' WHEN 1 THEN 'told' END AS low_credits,
       to_timestamp(a.low_credits_notified_at / 1000.0) AS low_credits_notified_at
FROM accounts a;

CREATE OR REPLACE VIEW overnight_webhook_events AS
SELECT overnight_id('evt', e.id) AS id, overnight_id('acct', a.id) AS account, a.name AS account_name,
       CASE e.kind WHEN 0 THEN 'request.completed' WHEN 1 THEN 'request.failed' WHEN 2 THEN 'request.cancelled'
                   WHEN 3 THEN 'batch.completed' WHEN 4 THEN 'batch.cancelled' WHEN 5 THEN 'webhook.test'
                   WHEN 6 THEN 'account.low_credits' END AS type,
       coalesce(overnight_id('req', r.id), overnight_id('batch', b.id)) AS subject,
       CASE e.state WHEN 0 THEN 'pending' WHEN 1 THEN 'delivered' WHEN 2 THEN 'exhausted' END AS state,
       to_timestamp(e.created_at / 1000.0) AS created_at, to_timestamp(e.due_at / 1000.0) AS due_at,
       CASE WHEN e.node IS NOT NULL THEN to_timestamp(e.claimed_at / 1000.0) END AS sending_since,
       to_timestamp(e.ended_at / 1000.0) AS ended_at, e.number AS attempts,
       regexp_replace(substring(e.url FROM '^[^:]+://([^/?#]*)'), '^.*@', '') AS host,
       d.status AS last_http_status, d.failure AS last_failure, e.id AS id_bytes, e.seq
FROM events e
JOIN accounts a ON a.seq = e.account
LEFT JOIN requests r ON r.seq = e.request
LEFT JOIN batches b ON b.seq = e.batch
LEFT JOIN deliveries d ON d.event = e.seq AND d.number = CASE WHEN e.node IS NULL THEN e.number ELSE e.number - 1 END;

COMMENT ON COLUMN accounts.low_credits_threshold IS 'Below how many nano-credits that are available its webhook is told; null: never.';
COMMENT ON COLUMN accounts.low_credits_webhook IS 'The webhook that is told of low credits.';
COMMENT ON COLUMN accounts.low_credits_notified IS 'null: no less than the threshold is available, 0: less is, and is to be told of, 1: less is, and an event tells of it.';
COMMENT ON COLUMN accounts.low_credits_notified_at IS 'When the last event of low credits was made, in milliseconds since 1970.';
COMMENT ON COLUMN events.kind IS '0 request.completed, 1 request.failed, 2 request.cancelled, 3 batch.completed, 4 batch.cancelled, 5 webhook.test, 6 account.low_credits.';
