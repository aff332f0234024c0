-- When the provider is next asked whether an order was paid, in milliseconds; null where it is not asked again. Orders of the previous release
-- have no time until then, but for those that stand now: each of those is asked for at least once.
ALTER TABLE payments ADD COLUMN check_at BIGINT;
UPDATE payments SET check_at = created_at WHERE paid_at IS NULL AND session IS NOT NULL;
CREATE INDEX payments_to_check ON payments (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX payments_to_check_by_account ON payments (account) WHERE check_at IS NOT NULL;
