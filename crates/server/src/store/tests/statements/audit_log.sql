-- audit_log::bounds::COUNT_OF_ACCOUNT, both
SELECT count(*) AS count FROM (SELECT 1 AS one FROM audit_log
        WHERE account = $1 AND created_at > $2 AND actor_kind = 2 /* user */ AND is_operator = 0
            AND action NOT IN ('sign_in', 'password.change', 'webhook_secret.rotate', 'api_key.revoke', 'member.remove', 'invitation.withdraw', 'user.sign_out')
        LIMIT $3) v;

-- audit_log::bounds::COUNT_OF_ACTOR, both
SELECT count(*) AS count FROM (SELECT 1 AS one FROM audit_log
        WHERE actor_id = $1 AND created_at > $2 AND is_operator = 0 AND coalesce(account, 0) = $3
            AND CASE WHEN action = 'sign_in' THEN 1
                     WHEN action IN ('password.change', 'webhook_secret.rotate') THEN 2
                     WHEN action IN ('api_key.revoke', 'member.remove', 'invitation.withdraw', 'user.sign_out') THEN 3
                     ELSE 0 END = $4
        LIMIT $5) v;

-- audit_log::entries::FIND_ACCOUNT, both
SELECT id FROM accounts WHERE seq = $1;

-- audit_log::entries::FIND_API_KEY, both
SELECT id, prefix, name, scope = 2 /* admin */ AS is_admin FROM api_keys WHERE seq = $1;

-- audit_log::entries::FIND_USER, both
SELECT id, email, is_operator FROM users WHERE seq = $1;

-- audit_log::entries::INSERT, both
INSERT INTO audit_log (created_at, actor_kind, actor_id, actor_name, is_operator, account, action, target_type, target_id, details, address)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- audit_log::reads::LIST, both
SELECT page.seq, page.created_at, page.actor_kind, page.actor_id, page.actor_name, page.is_operator, page.action, page.target_type, page.target_id, page.details, page.address,
               a.id AS account_id
        FROM (SELECT seq, created_at, actor_kind, actor_id, actor_name, is_operator, account, action, target_type, target_id, details, address
              FROM audit_log WHERE (created_at, seq) < ($1, $2) AND created_at >= $3 ORDER BY created_at DESC, seq DESC LIMIT $4) page
        LEFT JOIN accounts a ON a.seq = page.account ORDER BY page.created_at DESC, page.seq DESC;

-- audit_log::reads::LIST_OF_ACCOUNT, both
SELECT page.seq, page.created_at, page.actor_kind, page.actor_id, page.actor_name, page.is_operator, page.action, page.target_type, page.target_id, page.details, page.address,
               a.id AS account_id
        FROM (SELECT seq, created_at, actor_kind, actor_id, actor_name, is_operator, account, action, target_type, target_id, details, address
              FROM audit_log WHERE account = $1 AND (created_at, seq) < ($2, $3) AND created_at >= $4
              ORDER BY created_at DESC, seq DESC LIMIT $5) page
        LEFT JOIN accounts a ON a.seq = page.account ORDER BY page.created_at DESC, page.seq DESC;

-- audit_log::reads::LIST_OF_ACCOUNT_AND_ACTION, SQLite
SELECT page.seq, page.created_at, page.actor_kind, page.actor_id, page.actor_name, page.is_operator, page.action, page.target_type, page.target_id, page.details,
               page.address, a.id AS account_id
        FROM (SELECT seq, created_at, actor_kind, actor_id, actor_name, is_operator, account, action, target_type, target_id, details, address
              FROM audit_log INDEXED BY audit_log_by_account_and_action WHERE account = ? AND action = ? AND (created_at, seq) < (?, ?) AND created_at >= ?
              ORDER BY created_at DESC, seq DESC LIMIT ?) page
        LEFT JOIN accounts a ON a.seq = page.account ORDER BY page.created_at DESC, page.seq DESC;

-- audit_log::reads::LIST_OF_ACCOUNT_AND_ACTION, PostgreSQL
SELECT page.seq, page.created_at, page.actor_kind, page.actor_id, page.actor_name, page.is_operator, page.action, page.target_type, page.target_id, page.details,
               page.address, a.id AS account_id
        FROM (SELECT seq, created_at, actor_kind, actor_id, actor_name, is_operator, account, action, target_type, target_id, details, address
              FROM audit_log WHERE account = $1 AND action = $2 AND (created_at, seq) < ($3, $4) AND created_at >= $5
              ORDER BY created_at DESC, seq DESC LIMIT $6) page
        LEFT JOIN accounts a ON a.seq = page.account ORDER BY page.created_at DESC, page.seq DESC;

-- audit_log::reads::LIST_OF_ACTION, both
SELECT page.seq, page.created_at, page.actor_kind, page.actor_id, page.actor_name, page.is_operator, page.action, page.target_type, page.target_id, page.details, page.address,
               a.id AS account_id
        FROM (SELECT seq, created_at, actor_kind, actor_id, actor_name, is_operator, account, action, target_type, target_id, details, address
              FROM audit_log WHERE action = $1 AND (created_at, seq) < ($2, $3) AND created_at >= $4
              ORDER BY created_at DESC, seq DESC LIMIT $5) page
        LEFT JOIN accounts a ON a.seq = page.account ORDER BY page.created_at DESC, page.seq DESC;

-- audit_log::retention::DELETE_OLD, both
DELETE FROM audit_log WHERE seq IN (
        SELECT seq FROM audit_log WHERE created_at < $1 ORDER BY created_at, seq LIMIT $2);

