-- low_credits::LIST_DUE, both
SELECT seq FROM accounts
        WHERE low_credits_notified = 0 /* to be told */ AND closed_at IS NULL
          AND (low_credits_notified_at IS NULL OR low_credits_notified_at NOT BETWEEN $1 AND $2)
        ORDER BY seq LIMIT $3;

-- low_credits::SET, both
UPDATE accounts SET low_credits_threshold = $1, low_credits_webhook = $2,
               low_credits_notified = CASE WHEN balance - held < $3 THEN 0 /* to be told */ END
        WHERE seq = $4 AND (low_credits_threshold IS DISTINCT FROM $5 OR low_credits_webhook IS DISTINCT FROM $6);

-- low_credits::TAKE, both
UPDATE accounts SET low_credits_notified = 1 /* told */, low_credits_notified_at = $1
        WHERE seq = $2 AND low_credits_notified = 0 /* to be told */ AND closed_at IS NULL
          AND (low_credits_notified_at IS NULL OR low_credits_notified_at NOT BETWEEN $3 AND $4)
        RETURNING id, balance, held, low_credits_threshold, low_credits_webhook;

