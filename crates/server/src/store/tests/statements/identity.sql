-- identity::accounts::ACTIVATE, both
UPDATE accounts SET payments_activated_at = coalesce(payments_activated_at, $1) WHERE id = $2
        RETURNING seq, id, name, created_at, balance, held, payments_activated_at, suspended_at, closed_at, erase_at, erased_at, retention_ms, monthly_credits, low_credits_threshold, low_credits_webhook, live_requests, stored_bytes, live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota;

-- identity::accounts::FIND, both
SELECT seq, id, name, created_at, balance, held, payments_activated_at, suspended_at, closed_at, erase_at, erased_at, retention_ms, monthly_credits, low_credits_threshold, low_credits_webhook, live_requests, stored_bytes, live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota FROM accounts WHERE id = $1;

-- identity::accounts::FIND_TO_CHANGE, SQLite
SELECT seq, id, name, created_at, balance, held, payments_activated_at, suspended_at, closed_at, erase_at, erased_at, retention_ms, monthly_credits, low_credits_threshold, low_credits_webhook, live_requests, stored_bytes, live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota FROM accounts WHERE id = ?;

-- identity::accounts::FIND_TO_CHANGE, PostgreSQL
SELECT seq, id, name, created_at, balance, held, payments_activated_at, suspended_at, closed_at, erase_at, erased_at, retention_ms, monthly_credits, low_credits_threshold, low_credits_webhook, live_requests, stored_bytes, live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota FROM accounts WHERE id = $1 FOR UPDATE;

-- identity::accounts::GET, both
SELECT seq, id, name, created_at, balance, held, payments_activated_at, suspended_at, closed_at, erase_at, erased_at, retention_ms, monthly_credits, low_credits_threshold, low_credits_webhook, live_requests, stored_bytes, live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota FROM accounts WHERE seq = $1;

-- identity::accounts::INSERT, both
INSERT INTO accounts (id, name, created_at, payments_activated_at) VALUES ($1, $2, $3, $4)
        RETURNING seq, id, name, created_at, balance, held, payments_activated_at, suspended_at, closed_at, erase_at, erased_at, retention_ms, monthly_credits, low_credits_threshold, low_credits_webhook, live_requests, stored_bytes, live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota;

-- identity::accounts::LIST, both
SELECT seq, id, name, created_at, balance, held, payments_activated_at, suspended_at, closed_at, erase_at, erased_at, retention_ms, monthly_credits, low_credits_threshold, low_credits_webhook, live_requests, stored_bytes, live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota FROM accounts ORDER BY seq;

-- identity::accounts::LIST_PAGE, both
SELECT seq, id, name, created_at, balance, held, payments_activated_at, suspended_at, closed_at, erase_at, erased_at, retention_ms, monthly_credits, low_credits_threshold, low_credits_webhook, live_requests, stored_bytes, live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota FROM accounts WHERE seq > $1 ORDER BY seq LIMIT $2;

-- identity::accounts::SET_QUOTAS, both
UPDATE accounts SET live_requests_quota = $1, stored_bytes_quota = $2, requests_per_second_quota = $3,
               tokens_per_day_quota = $4
        WHERE id = $5
        RETURNING seq, id, name, created_at, balance, held, payments_activated_at, suspended_at, closed_at, erase_at, erased_at, retention_ms, monthly_credits, low_credits_threshold, low_credits_webhook, live_requests, stored_bytes, live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota;

-- identity::accounts::SET_SUSPENDED, both
UPDATE accounts SET suspended_at = CASE WHEN $1 = 1 OR closed_at IS NOT NULL THEN coalesce(suspended_at, $2) END WHERE id = $3
        RETURNING seq, id, name, created_at, balance, held, payments_activated_at, suspended_at, closed_at, erase_at, erased_at, retention_ms, monthly_credits, low_credits_threshold, low_credits_webhook, live_requests, stored_bytes, live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota;

-- identity::api_keys::COUNT_USABLE, both
SELECT count(*) AS count FROM (SELECT 1 FROM api_keys
        WHERE account = $1 AND revoked_at IS NULL AND coalesce(expires_at, 9223372036854775807) > $2 LIMIT $3) v;

-- identity::api_keys::FIND, both
SELECT id, prefix, name, scope, created_at, expires_at, revoked_at, last_used_at FROM api_keys WHERE id = $1 AND account = $2;

-- identity::api_keys::FIND_HOLDER, both
SELECT k.account, a.id AS account_id, k.seq, k.id, k.scope, k.expires_at, k.last_used_at,
               a.suspended_at IS NOT NULL AS is_suspended, a.payments_activated_at IS NOT NULL AS is_activated, a.requests_per_second_quota
        FROM api_keys k JOIN accounts a ON a.seq = k.account WHERE k.sha256 = $1 AND k.revoked_at IS NULL;

-- identity::api_keys::FIND_OWN, both
SELECT seq FROM api_keys WHERE id = $1 AND account = $2;

-- identity::api_keys::FIND_TO_REVOKE, SQLite
SELECT account, id, prefix, name, scope, created_at, expires_at, revoked_at, last_used_at FROM api_keys WHERE id = ?;

-- identity::api_keys::FIND_TO_REVOKE, PostgreSQL
SELECT account, id, prefix, name, scope, created_at, expires_at, revoked_at, last_used_at FROM api_keys WHERE id = $1
        FOR UPDATE;

-- identity::api_keys::INSERT, both
INSERT INTO api_keys (id, account, sha256, prefix, name, scope, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- identity::api_keys::LIST, both
SELECT seq, id, prefix, name, scope, created_at, expires_at, revoked_at, last_used_at FROM (
            SELECT seq, id, prefix, name, scope, created_at, expires_at, revoked_at, last_used_at FROM api_keys
            WHERE account = $1 AND revoked_at IS NULL AND coalesce(expires_at, 9223372036854775807) > $2
            UNION ALL
            SELECT seq, id, prefix, name, scope, created_at, expires_at, revoked_at, last_used_at FROM (
                SELECT seq, id, prefix, name, scope, created_at, expires_at, revoked_at, last_used_at FROM api_keys
                WHERE account = $3 AND (revoked_at IS NOT NULL OR expires_at <= $4) ORDER BY seq DESC LIMIT $5) ended
        ) v ORDER BY seq;

-- identity::api_keys::LIST_SPENT, both
SELECT k.id, g.amount FROM (
            SELECT seq, id FROM api_keys
            WHERE account = $1 AND revoked_at IS NULL AND coalesce(expires_at, 9223372036854775807) > $2
            UNION ALL
            SELECT seq, id FROM (
                SELECT seq, id FROM api_keys
                WHERE account = $3 AND (revoked_at IS NOT NULL OR expires_at <= $4) ORDER BY seq DESC LIMIT $5) ended
        ) k
        JOIN (SELECT api_key, CAST(sum(amount) AS BIGINT) AS amount FROM spend_by_key WHERE account = $6 AND day >= $7 GROUP BY api_key) g
            ON g.api_key = k.seq;

-- identity::api_keys::NOTE, SQLite
UPDATE api_keys SET last_used_at = ?2 WHERE seq = ?1 AND coalesce(last_used_at, 0) < ?2;

-- identity::api_keys::NOTE, PostgreSQL
WITH k AS (
                SELECT api_keys.seq, v.used_at FROM unnest($1::bigint[], $2::bigint[]) AS v(key, used_at)
                JOIN api_keys ON api_keys.seq = v.key ORDER BY api_keys.seq FOR UPDATE OF api_keys
            ) UPDATE api_keys SET last_used_at = k.used_at FROM k
              WHERE api_keys.seq = k.seq AND coalesce(api_keys.last_used_at, 0) < k.used_at;

-- identity::api_keys::REVOKE, both
UPDATE api_keys SET revoked_at = $1 WHERE id = $2;

-- identity::invitations::DELETE, both
DELETE FROM invitations WHERE account = $1 AND email = $2;

-- identity::invitations::DELETE_ENDED, both
DELETE FROM invitations WHERE expires_at <= $1;

-- identity::invitations::FIND, both
SELECT i.email, i.role, i.expires_at, a.seq, a.id, a.name, a.created_at, a.balance, a.held, a.payments_activated_at, a.suspended_at, a.closed_at, a.erase_at, a.erased_at, a.retention_ms, a.monthly_credits, a.low_credits_threshold, a.low_credits_webhook, a.live_requests, a.stored_bytes,
               a.live_requests_quota, a.stored_bytes_quota, a.requests_per_second_quota, a.tokens_per_day_quota
        FROM invitations i JOIN accounts a ON a.seq = i.account WHERE i.sha256 = $1 AND i.expires_at > $2;

-- identity::invitations::INSERT, both
INSERT INTO invitations (account, email, sha256, role, created_at, expires_at)
        SELECT $1, $2, $3, $4, $5, $6 WHERE (SELECT count(*) FROM invitations WHERE account = $7) < $8
        ON CONFLICT (account, email) DO UPDATE SET sha256 = excluded.sha256, role = excluded.role,
            created_at = excluded.created_at, expires_at = excluded.expires_at;

-- identity::invitations::IS_INVITED, both
SELECT 1 AS one FROM invitations WHERE email = $1 AND expires_at > $2 LIMIT 1;

-- identity::invitations::LIST, both
SELECT email, role, expires_at FROM invitations WHERE account = $1 AND expires_at > $2 ORDER BY email;

-- identity::invitations::USE, both
DELETE FROM invitations WHERE sha256 = $1 AND expires_at > $2 RETURNING account, role;

-- identity::invitations::USE_ALL, both
DELETE FROM invitations WHERE email = $1 RETURNING account, role, expires_at;

-- identity::members::DELETE, both
DELETE FROM members WHERE account = $1 AND user_seq = $2;

-- identity::members::FIND_ACCOUNT, both
SELECT m.role, a.seq, a.id, a.name, a.created_at, a.balance, a.held, a.payments_activated_at, a.suspended_at, a.closed_at, a.erase_at, a.erased_at, a.retention_ms, a.monthly_credits, a.low_credits_threshold, a.low_credits_webhook, a.live_requests, a.stored_bytes,
               a.live_requests_quota, a.stored_bytes_quota, a.requests_per_second_quota, a.tokens_per_day_quota
        FROM accounts a LEFT JOIN members m ON m.account = a.seq AND m.user_seq = $1
        WHERE a.id = $2 AND ((m.role IS NOT NULL AND a.closed_at IS NULL) OR $3 = 1);

-- identity::members::FIND_USER, both
SELECT id, email FROM users WHERE seq = $1;

-- identity::members::INSERT, both
INSERT INTO members (account, user_seq, role, created_at)
        SELECT $1, seq, $2, $3 FROM users WHERE seq = $4 ON CONFLICT DO NOTHING;

-- identity::members::LIST, both
SELECT m.role, m.created_at AS member_created_at, u.seq, u.id, u.email, u.password IS NOT NULL AS has_password, u.issuer,
               u.is_operator, u.created_at, u.signed_in_at
        FROM members m JOIN users u ON u.seq = m.user_seq WHERE m.account = $1 ORDER BY m.created_at, u.seq;

-- identity::members::LIST_ACCOUNTS, both
SELECT m.role, a.seq, a.id, a.name, a.created_at, a.balance, a.held, a.payments_activated_at, a.suspended_at, a.closed_at, a.erase_at, a.erased_at, a.retention_ms, a.monthly_credits, a.low_credits_threshold, a.low_credits_webhook, a.live_requests, a.stored_bytes,
               a.live_requests_quota, a.stored_bytes_quota, a.requests_per_second_quota, a.tokens_per_day_quota
        FROM members m JOIN accounts a ON a.seq = m.account WHERE m.user_seq = $1 AND a.closed_at IS NULL ORDER BY m.created_at, a.seq;

-- identity::members::LIST_ROLES, both
SELECT m.user_seq, m.role, u.id, u.email FROM members m JOIN users u ON u.seq = m.user_seq WHERE m.account = $1;

-- identity::members::LOCK_ACCOUNT, SQLite
SELECT seq FROM accounts WHERE seq = ?;

-- identity::members::LOCK_ACCOUNT, PostgreSQL
SELECT seq FROM accounts WHERE seq = $1 FOR UPDATE;

-- identity::members::UPDATE, both
UPDATE members SET role = $1 WHERE account = $2 AND user_seq = $3;

-- identity::sessions::DELETE, both
DELETE FROM sessions WHERE sha256 = $1;

-- identity::sessions::DELETE_ENDED, both
DELETE FROM sessions WHERE expires_at <= $1;

-- identity::sessions::DELETE_LINKS, both
DELETE FROM sign_in_links WHERE user_seq = $1 OR expires_at <= $2;

-- identity::sessions::FIND, both
SELECT s.sha256, s.created_at AS session_created_at, s.seen_at, s.expires_at, s.is_by_link, s.agent,
               u.seq, u.id, u.email, u.password IS NOT NULL AS has_password, u.issuer, u.is_operator, u.created_at, u.signed_in_at
        FROM sessions s JOIN users u ON u.seq = s.user_seq WHERE s.sha256 = $1;

-- identity::sessions::FIND_LINK, both
SELECT u.seq, u.id, u.email, u.password IS NOT NULL AS has_password, u.issuer, u.is_operator, u.created_at,
               u.signed_in_at
        FROM sign_in_links l JOIN users u ON u.seq = l.user_seq WHERE l.sha256 = $1 AND l.expires_at > $2;

-- identity::sessions::INSERT, both
INSERT INTO sessions (sha256, user_seq, created_at, seen_at, expires_at, is_by_link, agent)
        VALUES ($1, $2, $3, $4, $5, $6, $7);

-- identity::sessions::INSERT_LINK, both
INSERT INTO sign_in_links (sha256, user_seq, created_at, expires_at)
        SELECT $1, seq, $2, $3 FROM users WHERE seq = $4;

-- identity::sessions::LIST, both
SELECT sha256, created_at AS session_created_at, seen_at, expires_at, is_by_link, agent
        FROM sessions WHERE user_seq = $1 ORDER BY created_at DESC;

-- identity::sessions::NOTE_SIGN_IN, both
UPDATE users SET signed_in_at = $1 WHERE seq = $2;

-- identity::sessions::NOTE_SIGN_IN_BY_LINK, both
UPDATE users SET signed_in_at = $1, password = NULL WHERE seq = $2;

-- identity::sessions::NOTE_SIGN_IN_BY_PASSWORD, both
UPDATE users SET signed_in_at = $1 WHERE seq = $2 AND password = $3;

-- identity::sessions::TOUCH, both
UPDATE sessions SET seen_at = $1 WHERE sha256 = $2;

-- identity::sessions::USE_LINK, both
DELETE FROM sign_in_links WHERE sha256 = $1 AND expires_at > $2 RETURNING user_seq;

-- identity::sign_in_failures::COUNT, both
INSERT INTO sign_in_failures (subject, failures, last_at) VALUES ($1, 1, $2)
        ON CONFLICT (subject) DO UPDATE SET failures =
            CASE WHEN sign_in_failures.last_at < $3 THEN 1 ELSE sign_in_failures.failures + 1 END
        RETURNING failures - 1 AS failures, last_at;

-- identity::sign_in_failures::DELETE, both
DELETE FROM sign_in_failures WHERE subject = $1;

-- identity::sign_in_failures::DELETE_OLD, both
DELETE FROM sign_in_failures WHERE last_at < $1;

-- identity::sign_in_failures::FIND, both
SELECT failures, last_at FROM sign_in_failures WHERE subject = $1;

-- identity::sign_in_failures::NOTE_TIME, both
UPDATE sign_in_failures SET last_at = $1 WHERE subject = $2;

-- identity::sign_in_failures::TAKE_BACK, both
UPDATE sign_in_failures SET failures = failures - 1,
            last_at = CASE WHEN failures = $1 AND last_at = $2 THEN $3 ELSE last_at END
        WHERE subject = $4 AND failures > 0;

-- identity::users::DELETE, both
DELETE FROM users WHERE seq = $1;

-- identity::users::DELETE_LINKS, both
DELETE FROM sign_in_links WHERE user_seq = $1;

-- identity::users::DELETE_MEMBERSHIPS, both
DELETE FROM members WHERE user_seq = $1;

-- identity::users::DELETE_SESSIONS, both
DELETE FROM sessions WHERE user_seq = $1 AND sha256 <> $2;

-- identity::users::FIND, both
SELECT seq, id, email, password IS NOT NULL AS has_password, issuer, is_operator, created_at, signed_in_at
        FROM users WHERE id = $1;

-- identity::users::FIND_BY_EMAIL, both
SELECT seq, id, email, password IS NOT NULL AS has_password, issuer, is_operator, created_at, signed_in_at,
               password
        FROM users WHERE email = $1;

-- identity::users::FIND_BY_SUBJECT, both
SELECT seq, id, email, password IS NOT NULL AS has_password, issuer, is_operator, created_at, signed_in_at
        FROM users WHERE issuer = $1 AND subject = $2;

-- identity::users::FIND_PASSWORD, both
SELECT password FROM users WHERE seq = $1;

-- identity::users::FIND_SUBJECT, both
SELECT subject FROM users WHERE seq = $1;

-- identity::users::FIND_TO_REMOVE, SQLite
SELECT seq FROM users WHERE id = ?;

-- identity::users::FIND_TO_REMOVE, PostgreSQL
SELECT seq FROM users WHERE id = $1 FOR UPDATE;

-- identity::users::GET, both
SELECT seq, id, email, password IS NOT NULL AS has_password, issuer, is_operator, created_at, signed_in_at
        FROM users WHERE seq = $1;

-- identity::users::INSERT, both
INSERT INTO users (id, email, password, issuer, subject, is_operator, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT DO NOTHING
        RETURNING seq, id, email, password IS NOT NULL AS has_password, issuer, is_operator, created_at, signed_in_at;

-- identity::users::LINK, both
UPDATE users SET issuer = $1, subject = $2, password = NULL
        WHERE seq = $3 AND subject IS NULL AND NOT EXISTS (SELECT 1 FROM users o WHERE o.issuer = $4 AND o.subject = $5);

-- identity::users::LIST, both
SELECT seq, id, email, password IS NOT NULL AS has_password, issuer, is_operator, created_at, signed_in_at
        FROM users ORDER BY seq;

-- identity::users::LOCK_OPERATORS, SQLite
SELECT id FROM users WHERE is_operator = 1 ORDER BY seq;

-- identity::users::LOCK_OPERATORS, PostgreSQL
SELECT id FROM users WHERE is_operator = 1 ORDER BY seq FOR UPDATE;

-- identity::users::RELINK, both
UPDATE users SET issuer = $1, subject = $2, password = NULL WHERE seq = $3;

-- identity::users::SET_CREDENTIALS, both
UPDATE users SET email = coalesce($1, email), password = coalesce($2, password)
        WHERE seq = $3 AND NOT EXISTS (SELECT 1 FROM users o WHERE o.seq <> $4 AND o.email = $5);

