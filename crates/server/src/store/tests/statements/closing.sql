-- closing::CLOSE, both
UPDATE accounts SET closed_at = $1, suspended_at = coalesce(suspended_at, $2) WHERE seq = $3 AND closed_at IS NULL;

-- closing::DELETE_INVITATIONS, both
DELETE FROM invitations WHERE account = $1;

-- closing::LIST_LIVING, both
SELECT seq FROM accounts a WHERE closed_at IS NOT NULL AND erased_at IS NULL
          AND (live_requests > 0 OR EXISTS (SELECT 1 FROM batch_inputs i WHERE i.account = a.seq AND i.state = 0 /* being filled */))
        ORDER BY seq;

-- closing::LIST_TO_ERASE, both
SELECT seq FROM accounts a WHERE closed_at IS NOT NULL AND erased_at IS NULL AND erase_at IS NOT NULL
          AND live_requests = 0 AND NOT EXISTS (SELECT 1 FROM batch_inputs i WHERE i.account = a.seq AND i.state = 0 /* being filled */)
        ORDER BY seq;

-- closing::MARK, both
UPDATE accounts SET erase_at = $1 WHERE seq = $2 AND closed_at IS NOT NULL AND erase_at IS NULL;

-- closing::REVOKE_KEYS, both
UPDATE api_keys SET revoked_at = $1 WHERE account = $2 AND revoked_at IS NULL;

-- closing::erase::DELETE_API_KEYS, both
DELETE FROM api_keys WHERE account = $1;

-- closing::erase::DELETE_EVENTS, both
DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE account = $1 ORDER BY seq LIMIT $2) RETURNING seq;

-- closing::erase::DELETE_INVITATIONS, both
DELETE FROM invitations WHERE account = $1;

-- closing::erase::DELETE_KEYS, both
DELETE FROM idempotency_keys WHERE (account, key) IN (
        SELECT account, key FROM idempotency_keys WHERE account = $1 ORDER BY key LIMIT $2);

-- closing::erase::DELETE_MEMBERS, both
DELETE FROM members WHERE account = $1;

-- closing::erase::DELETE_SECRETS, both
DELETE FROM webhook_secrets WHERE account = $1;

-- closing::erase::DELETE_SPEND_BY_KEY, both
DELETE FROM spend_by_key WHERE (account, day, model, api_key) IN (
        SELECT account, day, model, api_key FROM spend_by_key WHERE account = $1 ORDER BY day, model, api_key LIMIT $2);

-- closing::erase::DELETE_UPLOADS, both
DELETE FROM uploads WHERE seq IN (SELECT seq FROM uploads WHERE account = $1 ORDER BY seq LIMIT $2) RETURNING account;

-- closing::erase::FIND_STORED, both
SELECT stored_bytes FROM accounts WHERE seq = $1;

-- closing::erase::FORGET_ENTRIES, both
UPDATE audit_log SET details = NULL, actor_name = CASE WHEN is_operator = 1 THEN actor_name END,
               address = CASE WHEN is_operator = 1 THEN address END, target_id = CASE WHEN target_type <> 'invitation' THEN target_id END
        WHERE seq IN (SELECT seq FROM audit_log WHERE account = $1
            AND (details IS NOT NULL OR target_type = 'invitation' AND target_id IS NOT NULL
                 OR is_operator = 0 AND (actor_name IS NOT NULL OR address IS NOT NULL)) LIMIT $2)
        RETURNING seq;

-- closing::erase::FORGET_USER, both
UPDATE audit_log SET details = NULL, actor_name = NULL, address = NULL WHERE actor_id = $1;

-- closing::erase::LIST_BATCHES, both
SELECT id FROM batches WHERE account = $1 ORDER BY seq LIMIT $2;

-- closing::erase::LIST_ERASED_WITH_SPEND, both
SELECT seq FROM accounts a WHERE erased_at IS NOT NULL
          AND (SELECT 1 FROM spend_by_key y WHERE y.account = a.seq LIMIT 1) IS NOT NULL ORDER BY seq LIMIT $1;

-- closing::erase::LIST_ONLY_HERE, both
SELECT u.id FROM members m JOIN users u ON u.seq = m.user_seq
        WHERE m.account = $1 AND u.is_operator = 0
          AND NOT EXISTS (SELECT 1 FROM members o WHERE o.user_seq = m.user_seq AND o.account <> m.account);

-- closing::erase::SET_ERASED, both
UPDATE accounts SET name = $1, erased_at = $2, retention_ms = NULL, low_credits_threshold = NULL, low_credits_webhook = NULL,
               low_credits_notified = NULL
        WHERE seq = $3 AND erased_at IS NULL AND stored_bytes = 0;

-- closing::live::LIST_UNFINISHED, both
SELECT id FROM batches WHERE account = $1 AND completed_at IS NULL AND cancelled_at IS NULL LIMIT $2;

-- closing::live::NEXT_OF_ACCOUNT, both
SELECT seq, model, account, sort_key, state, ready_at, in_progress_at, ended_at FROM current_states
        WHERE account = $1 AND seq > $2 ORDER BY seq LIMIT $3;

