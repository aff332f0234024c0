-- ledger::activity::ADD, SQLite
INSERT INTO activity (account, quarter, completed, failed, cancelled, prompt_tokens, completion_tokens, amount,
                completed_1, failed_1, cancelled_1, tokens_1, amount_1,
                completed_2, failed_2, cancelled_2, tokens_2, amount_2)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
            ON CONFLICT (account, quarter) DO UPDATE SET completed = activity.completed + excluded.completed,
                failed = activity.failed + excluded.failed, cancelled = activity.cancelled + excluded.cancelled,
                prompt_tokens = activity.prompt_tokens + excluded.prompt_tokens,
                completion_tokens = activity.completion_tokens + excluded.completion_tokens,
                amount = activity.amount + excluded.amount,
                completed_1 = activity.completed_1 + excluded.completed_1, failed_1 = activity.failed_1 + excluded.failed_1,
                cancelled_1 = activity.cancelled_1 + excluded.cancelled_1, tokens_1 = activity.tokens_1 + excluded.tokens_1,
                amount_1 = activity.amount_1 + excluded.amount_1,
                completed_2 = activity.completed_2 + excluded.completed_2, failed_2 = activity.failed_2 + excluded.failed_2,
                cancelled_2 = activity.cancelled_2 + excluded.cancelled_2, tokens_2 = activity.tokens_2 + excluded.tokens_2,
                amount_2 = activity.amount_2 + excluded.amount_2;

-- ledger::activity::ADD, PostgreSQL
INSERT INTO activity (account, quarter, completed, failed, cancelled, prompt_tokens, completion_tokens, amount,
                completed_1, failed_1, cancelled_1, tokens_1, amount_1,
                completed_2, failed_2, cancelled_2, tokens_2, amount_2)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
                $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[])
            ON CONFLICT (account, quarter) DO UPDATE SET completed = activity.completed + excluded.completed,
                failed = activity.failed + excluded.failed, cancelled = activity.cancelled + excluded.cancelled,
                prompt_tokens = activity.prompt_tokens + excluded.prompt_tokens,
                completion_tokens = activity.completion_tokens + excluded.completion_tokens,
                amount = activity.amount + excluded.amount,
                completed_1 = activity.completed_1 + excluded.completed_1, failed_1 = activity.failed_1 + excluded.failed_1,
                cancelled_1 = activity.cancelled_1 + excluded.cancelled_1, tokens_1 = activity.tokens_1 + excluded.tokens_1,
                amount_1 = activity.amount_1 + excluded.amount_1,
                completed_2 = activity.completed_2 + excluded.completed_2, failed_2 = activity.failed_2 + excluded.failed_2,
                cancelled_2 = activity.cancelled_2 + excluded.cancelled_2, tokens_2 = activity.tokens_2 + excluded.tokens_2,
                amount_2 = activity.amount_2 + excluded.amount_2;

-- ledger::activity::LIST, both
SELECT quarter, completed, failed, cancelled, prompt_tokens, completion_tokens, amount,
            completed_1, failed_1, cancelled_1, tokens_1, amount_1,
            completed_2, failed_2, cancelled_2, tokens_2, amount_2
        FROM activity WHERE account = $1 AND quarter >= $2 ORDER BY quarter;

-- ledger::activity::LIST_ALL, both
SELECT t.quarter, CAST(sum(t.completed) AS BIGINT) AS completed, CAST(sum(t.failed) AS BIGINT) AS failed,
            CAST(sum(t.cancelled) AS BIGINT) AS cancelled, CAST(sum(t.prompt_tokens) AS BIGINT) AS prompt_tokens,
            CAST(sum(t.completion_tokens) AS BIGINT) AS completion_tokens, CAST(sum(t.amount) AS BIGINT) AS amount,
            CAST(sum(t.completed_1) AS BIGINT) AS completed_1, CAST(sum(t.failed_1) AS BIGINT) AS failed_1,
            CAST(sum(t.cancelled_1) AS BIGINT) AS cancelled_1, CAST(sum(t.tokens_1) AS BIGINT) AS tokens_1,
            CAST(sum(t.amount_1) AS BIGINT) AS amount_1, CAST(sum(t.completed_2) AS BIGINT) AS completed_2,
            CAST(sum(t.failed_2) AS BIGINT) AS failed_2, CAST(sum(t.cancelled_2) AS BIGINT) AS cancelled_2,
            CAST(sum(t.tokens_2) AS BIGINT) AS tokens_2, CAST(sum(t.amount_2) AS BIGINT) AS amount_2
        FROM accounts a CROSS JOIN activity t WHERE t.account = a.seq AND t.quarter >= $1
        GROUP BY t.quarter ORDER BY t.quarter;

-- ledger::entries::FIND_AMOUNT, both
SELECT amount FROM ledger WHERE kind = $1 AND source = $2 AND source IS NOT NULL;

-- ledger::entries::FLOOR, both
SELECT seq FROM ledger WHERE account = $1 AND seq < $2 ORDER BY seq DESC LIMIT 1 OFFSET $3;

-- ledger::entries::INSERT, both
INSERT INTO ledger (account, kind, amount, created_at, source) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (kind, source) WHERE source IS NOT NULL DO NOTHING;

-- ledger::entries::INSERT_CHARGES, SQLite
INSERT INTO ledger (account, kind, amount, created_at, result, model, request)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, (SELECT r.id FROM requests r WHERE r.seq = ?7));

-- ledger::entries::INSERT_CHARGES, PostgreSQL
INSERT INTO ledger (account, kind, amount, created_at, result, model, request)
            SELECT v.account, v.kind, v.amount, v.created_at, v.result, v.model, r.id
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
                AS v(account, kind, amount, created_at, result, model, request)
            LEFT JOIN requests r ON r.seq = v.request ORDER BY v.result;

-- ledger::entries::LIST, both
SELECT l.seq, l.kind, l.amount, l.created_at, l.source, l.request, m.name AS model
        FROM ledger l LEFT JOIN models m ON m.seq = l.model
        WHERE l.account = $1 AND l.seq < $2 AND l.seq >= $3 AND l.kind BETWEEN $4 AND $5 ORDER BY l.seq DESC LIMIT $6;

-- ledger::entries::MOVE_BALANCE, both
UPDATE accounts SET balance = balance + $1,
               low_credits_notified = CASE WHEN balance + $2 - held < low_credits_threshold
                   THEN coalesce(low_credits_notified, 0 /* to be told */) END
        WHERE seq = $3 AND balance + $4 BETWEEN $5 AND $6 AND balance - held + $7 >= $8;

-- ledger::monthly_grants::LIST_DUE, both
SELECT seq, id FROM accounts
        WHERE monthly_credits IS NOT NULL AND coalesce(monthly_credits_month, -1) < $1 AND suspended_at IS NULL ORDER BY seq;

-- ledger::monthly_grants::SET, both
UPDATE accounts SET monthly_credits = $1 WHERE seq = $2 AND monthly_credits IS DISTINCT FROM $3;

-- ledger::monthly_grants::TAKE, both
UPDATE accounts SET monthly_credits_month = $1
        WHERE seq = $2 AND monthly_credits IS NOT NULL AND coalesce(monthly_credits_month, -1) < $3 AND suspended_at IS NULL
        RETURNING id, monthly_credits;

-- ledger::payment_checks::ASKED_FOR, both
SELECT account FROM payments WHERE account = $1 AND check_at IS NOT NULL LIMIT 1000;

-- ledger::payment_checks::DUE, both
SELECT id, account, provider, credits, amount, currency, created_at, session, paid_at, reference, check_at
        FROM payments WHERE check_at <= $1 ORDER BY check_at LIMIT $2;

-- ledger::payment_checks::NOTE_SESSION, both
UPDATE payments SET session = $1, check_at = $2 WHERE id = $3;

-- ledger::payment_checks::PUT_OFF, both
UPDATE payments SET check_at = $1 WHERE id = $2 AND check_at = $3;

-- ledger::payment_checks::STOP, both
UPDATE payments SET check_at = NULL WHERE id = $1;

-- ledger::payments::ACTIVATE, both
UPDATE accounts SET payments_activated_at = coalesce(payments_activated_at, $1) WHERE seq = $2;

-- ledger::payments::FIND, both
SELECT id, account, provider, credits, amount, currency, created_at, session, paid_at, reference
        FROM payments WHERE id = $1;

-- ledger::payments::FIND_PAID, both
SELECT id, account, provider, credits, amount, currency, created_at, session, paid_at, reference
        FROM payments WHERE reference = $1;

-- ledger::payments::FLOOR, both
SELECT seq FROM payments WHERE account = $1 AND seq < $2 ORDER BY seq DESC LIMIT 1 OFFSET $3;

-- ledger::payments::INSERT, both
INSERT INTO payments (id, account, provider, credits, amount, currency, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7);

-- ledger::payments::LIST, both
SELECT seq, id, account, provider, credits, amount, currency, created_at, session, paid_at, reference
        FROM payments WHERE account = $1 AND seq < $2 AND seq >= $3 AND (session IS NOT NULL OR paid_at IS NOT NULL) ORDER BY seq DESC LIMIT $4;

-- ledger::payments::NOTE_PAID, both
UPDATE payments SET paid_at = $1, reference = $2, credits = $3, amount = $4, check_at = NULL WHERE id = $5 AND paid_at IS NULL;

-- ledger::payments::PAYS_ANOTHER, both
SELECT seq FROM payments WHERE reference = $1 AND id <> $2;

-- ledger::price_points::FIND, both
SELECT seq FROM price_points WHERE input = $1 AND output = $2;

-- ledger::price_points::INSERT, both
INSERT INTO price_points (input, output) VALUES ($1, $2) ON CONFLICT (input, output) DO NOTHING;

-- ledger::spend::ADD, SQLite
INSERT INTO spend (account, day, model, requests, prompt_tokens, completion_tokens, amount)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT (account, day, model) DO UPDATE SET requests = spend.requests + excluded.requests,
                prompt_tokens = spend.prompt_tokens + excluded.prompt_tokens,
                completion_tokens = spend.completion_tokens + excluded.completion_tokens,
                amount = spend.amount + excluded.amount;

-- ledger::spend::ADD, PostgreSQL
INSERT INTO spend (account, day, model, requests, prompt_tokens, completion_tokens, amount)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
            ON CONFLICT (account, day, model) DO UPDATE SET requests = spend.requests + excluded.requests,
                prompt_tokens = spend.prompt_tokens + excluded.prompt_tokens,
                completion_tokens = spend.completion_tokens + excluded.completion_tokens,
                amount = spend.amount + excluded.amount;

-- ledger::spend::LIST, both
SELECT s.day, m.name AS model, s.requests, s.prompt_tokens, s.completion_tokens, s.amount
        FROM spend s JOIN models m ON m.seq = s.model WHERE s.account = $1 AND s.day >= $2 ORDER BY s.day, m.name;

-- ledger::spend::SUM, both
SELECT CAST(coalesce(sum(amount), 0) AS BIGINT) AS amount, CAST(coalesce(sum(CASE WHEN day = $1 THEN amount END), 0) AS BIGINT) AS amount_of_day,
               CAST(coalesce(sum(requests), 0) AS BIGINT) AS requests, CAST(coalesce(sum(prompt_tokens), 0) AS BIGINT) AS prompt_tokens,
               CAST(coalesce(sum(completion_tokens), 0) AS BIGINT) AS completion_tokens
        FROM spend WHERE account = $2;

-- ledger::spend::TOKENS_OF_DAY, both
SELECT CAST(coalesce(sum(prompt_tokens + completion_tokens), 0) AS BIGINT) AS tokens
        FROM spend WHERE account = $1 AND day = $2;

-- ledger::spend_by_key::ADD, SQLite
UPDATE spend_by_key SET requests = requests + ?5, prompt_tokens = prompt_tokens + ?6,
                   completion_tokens = completion_tokens + ?7, amount = amount + ?8
            WHERE account = ?1 AND day = ?2 AND model = ?3 AND api_key = ?4 RETURNING account, day, model, api_key;

-- ledger::spend_by_key::ADD, PostgreSQL
UPDATE spend_by_key s SET requests = s.requests + v.requests, prompt_tokens = s.prompt_tokens + v.prompt_tokens,
                   completion_tokens = s.completion_tokens + v.completion_tokens, amount = s.amount + v.amount
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
                AS v(account, day, model, api_key, requests, prompt_tokens, completion_tokens, amount)
            WHERE s.account = v.account AND s.day = v.day AND s.model = v.model AND s.api_key = v.api_key
            RETURNING s.account, s.day, s.model, s.api_key;

-- ledger::spend_by_key::COUNT_OF_DAY, SQLite
SELECT ?2 AS account, ?3 AS day, count(*) AS count
            FROM (SELECT 1 FROM spend_by_key WHERE account = ?2 AND day = ?3 LIMIT ?1) v;

-- ledger::spend_by_key::COUNT_OF_DAY, PostgreSQL
SELECT v.account, v.day,
                   (SELECT count(*) FROM (SELECT 1 FROM spend_by_key s WHERE s.account = v.account AND s.day = v.day LIMIT $1) c) AS count
            FROM unnest($2::bigint[], $3::bigint[]) AS v(account, day);

-- ledger::spend_by_key::INSERT, SQLite
INSERT INTO spend_by_key (account, day, model, api_key, requests, prompt_tokens, completion_tokens, amount)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- ledger::spend_by_key::INSERT, PostgreSQL
INSERT INTO spend_by_key (account, day, model, api_key, requests, prompt_tokens, completion_tokens, amount)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[]);

-- ledger::totals::APPLY, SQLite
UPDATE accounts SET balance = balance + ?2, held = held + ?3, live_requests = live_requests + ?4,
                   stored_bytes = stored_bytes + ?5,
                   low_credits_notified = CASE WHEN balance + ?2 - held - ?3 < low_credits_threshold
                       THEN coalesce(low_credits_notified, 0 /* to be told */) END
            WHERE seq = ?1;

-- ledger::totals::APPLY, PostgreSQL
UPDATE accounts SET balance = balance + v.balance_by, held = held + v.held_by,
                   live_requests = live_requests + v.live_by, stored_bytes = stored_bytes + v.stored_by,
                   low_credits_notified = CASE WHEN balance + v.balance_by - held - v.held_by < low_credits_threshold
                       THEN coalesce(low_credits_notified, 0 /* to be told */) END
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
                AS v(account, balance_by, held_by, live_by, stored_by)
            WHERE accounts.seq = v.account;

-- ledger::totals::LOCK, SQLite
SELECT seq, balance, held, live_requests, stored_bytes, suspended_at, closed_at,
                   live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota
            FROM accounts WHERE seq = ?1;

-- ledger::totals::LOCK, PostgreSQL
SELECT seq, balance, held, live_requests, stored_bytes, suspended_at, closed_at,
                   live_requests_quota, stored_bytes_quota, requests_per_second_quota, tokens_per_day_quota
            FROM accounts WHERE seq = ANY ($1::bigint[]) ORDER BY seq FOR UPDATE;

-- ledger::usage::BY_KEY, both
SELECT g.day, g.model, g.api_key, m.name AS model_name, k.id AS key_id, k.name AS key_name,
               g.requests, g.prompt_tokens, g.completion_tokens, g.amount
        FROM (
            SELECT day, model, api_key, CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(prompt_tokens) AS BIGINT) AS prompt_tokens,
                   CAST(sum(completion_tokens) AS BIGINT) AS completion_tokens, CAST(sum(amount) AS BIGINT) AS amount
            FROM (
                SELECT y.day * CAST($1 AS BIGINT) AS day, y.model * CAST($2 AS BIGINT) AS model, y.api_key,
                       y.requests, y.prompt_tokens, y.completion_tokens, y.amount
                FROM spend_by_key y JOIN api_keys k ON k.seq = y.api_key WHERE y.account = $3 AND y.day >= $4 AND y.day <= $5
                UNION ALL
                SELECT day * CAST($6 AS BIGINT), model * CAST($7 AS BIGINT), CAST(0 AS BIGINT), requests, prompt_tokens, completion_tokens, amount
                FROM (
                    SELECT account, day, model, requests, prompt_tokens, completion_tokens, amount FROM spend
                    UNION ALL
                    SELECT y.account, y.day, y.model, CAST(-sum(y.requests) AS BIGINT), CAST(-sum(y.prompt_tokens) AS BIGINT),
                           CAST(-sum(y.completion_tokens) AS BIGINT), CAST(-sum(y.amount) AS BIGINT)
                    FROM spend_by_key y JOIN api_keys k ON k.seq = y.api_key GROUP BY y.account, y.day, y.model
                ) rest WHERE account = $8 AND day >= $9 AND day <= $10
            ) told
            WHERE (day, model, api_key) > ($11, $12, $13)
            GROUP BY day, model, api_key HAVING sum(requests) <> 0 ORDER BY day, model, api_key LIMIT $14
        ) g LEFT JOIN models m ON m.seq = g.model LEFT JOIN api_keys k ON k.seq = g.api_key ORDER BY g.day, g.model, g.api_key;

-- ledger::usage::DEAREST_KEYS, both
WITH by_key AS (
            SELECT g.api_key, k.id AS key_id, k.name AS key_name, g.requests, g.prompt_tokens, g.completion_tokens, g.amount
            FROM (
                SELECT api_key, CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(prompt_tokens) AS BIGINT) AS prompt_tokens,
                       CAST(sum(completion_tokens) AS BIGINT) AS completion_tokens, CAST(sum(amount) AS BIGINT) AS amount
                FROM spend_by_key WHERE account = $1 AND day >= $2 GROUP BY api_key
            ) g JOIN api_keys k ON k.seq = g.api_key
        ), listed AS (
            SELECT api_key, key_id, key_name, requests, prompt_tokens, completion_tokens, amount FROM by_key
            UNION ALL
            SELECT CAST(0 AS BIGINT), NULL, NULL, CAST(sum(requests) AS BIGINT), CAST(sum(prompt_tokens) AS BIGINT),
                   CAST(sum(completion_tokens) AS BIGINT), CAST(sum(amount) AS BIGINT)
            FROM (SELECT requests, prompt_tokens, completion_tokens, amount FROM spend WHERE account = $3 AND day >= $4
                  UNION ALL SELECT -requests, -prompt_tokens, -completion_tokens, -amount FROM by_key) told
            HAVING sum(requests) <> 0
        )
        SELECT CAST(0 AS BIGINT) AS day, CAST(0 AS BIGINT) AS model, api_key, CAST(NULL AS TEXT) AS model_name, key_id, key_name,
               requests, prompt_tokens, completion_tokens, amount
        FROM listed ORDER BY amount DESC, requests DESC, api_key LIMIT $5;

-- ledger::usage::FIND_ROWS, both
SELECT (SELECT seq FROM models WHERE name = $1) AS model,
               (SELECT seq FROM api_keys WHERE id = $2 AND account = $3) AS api_key;

-- ledger::usage::OF_ALL_KEYS, both
SELECT g.day, g.model, CAST(0 AS BIGINT) AS api_key, m.name AS model_name, g.requests, g.prompt_tokens, g.completion_tokens, g.amount
        FROM (
            SELECT day, model, CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(prompt_tokens) AS BIGINT) AS prompt_tokens,
                   CAST(sum(completion_tokens) AS BIGINT) AS completion_tokens, CAST(sum(amount) AS BIGINT) AS amount
            FROM (SELECT day * CAST($1 AS BIGINT) AS day, model * CAST($2 AS BIGINT) AS model, requests, prompt_tokens, completion_tokens, amount
                  FROM spend WHERE account = $3 AND day >= $4 AND day <= $5) told
            WHERE (day, model) > ($6, $7) GROUP BY day, model ORDER BY day, model LIMIT $8
        ) g LEFT JOIN models m ON m.seq = g.model ORDER BY g.day, g.model;

