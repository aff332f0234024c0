//! Recounts invariants on a live database, in one consistent read: for operators, crash tests and the simulation.

use crate::database::{Connection, migrations, sql};
use crate::operations::{integrity, own_schema};
use crate::{Store, StoreError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub rule: &'static str,
    pub checked: i64,
    /// Rows that break the rule; 0 on a sound database.
    pub breaches: i64,
}

/// Each rule: its words, rows examined, and rows that break it.
pub(crate) const RULES: [(&str, &str, &str); 34] = [
    (
        "every request has one state row, of the same account and model",
        "SELECT count(*) AS count FROM requests",
        "SELECT count(*) AS breaches FROM requests r FULL JOIN request_states rs ON rs.seq = r.seq
         WHERE rs.seq IS NULL OR r.seq IS NULL OR rs.account <> r.account OR rs.model <> r.model",
    ),
    (
        "a state has the times that belong to it, in their order",
        "SELECT count(*) AS count FROM request_states",
        "SELECT count(*) AS breaches FROM request_states WHERE state NOT BETWEEN 0 AND 5
            OR (ended_at IS NOT NULL) <> (state >= 3)
            OR state = 2
            OR (state < 2 AND in_progress_at IS NOT NULL)
            OR (state = 3 AND in_progress_at IS NULL)
            OR ended_at < in_progress_at",
    ),
    (
        "each block of an account's requests has their marks, and none is left without requests",
        "SELECT count(*) AS count FROM request_blocks",
        "SELECT (SELECT count(*) FROM (
               SELECT account, seq / 1024 AS block, CASE WHEN state >= 3 THEN state ELSE 0 END AS mark FROM request_states
               UNION SELECT account, seq / 1024, 16 + created_at / 16384 FROM requests
               UNION SELECT account, seq / 1024, -coalesce(alias, model) FROM requests) m
             LEFT JOIN request_blocks b ON b.account = m.account AND b.block = m.block AND b.mark = m.mark WHERE b.account IS NULL)
           + (SELECT count(*) FROM request_blocks b WHERE NOT EXISTS (SELECT 1 FROM request_states rs
             WHERE rs.account = b.account AND rs.seq >= 1024 * b.block AND rs.seq < 1024 * b.block + 1024)) AS breaches",
    ),
    (
        "a request has a result exactly if it completed or failed, and the result is its own",
        "SELECT count(*) AS count FROM request_states WHERE state >= 3",
        "SELECT count(*) AS breaches FROM request_states rs LEFT JOIN results s ON s.seq = rs.result_seq
         WHERE (rs.state IN (3, 4)) <> (s.seq IS NOT NULL) OR s.request <> rs.seq",
    ),
    (
        "no result without its request: none is stored twice",
        "SELECT count(*) AS count FROM results",
        "SELECT count(*) AS breaches FROM results s LEFT JOIN request_states rs ON rs.seq = s.request AND rs.result_seq = s.seq
         WHERE rs.seq IS NULL",
    ),
    (
        "only a completed request has usage, and it is not negative",
        "SELECT count(*) AS count FROM results",
        "SELECT count(*) AS breaches FROM results s JOIN request_states rs ON rs.seq = s.request
         WHERE (rs.state = 3) <> (s.prompt_tokens IS NOT NULL AND s.completion_tokens IS NOT NULL)
            OR s.prompt_tokens < 0 OR s.completion_tokens < 0",
    ),
    (
        "exactly the queued and the running stand in the queue, each at its own place",
        "SELECT count(*) AS count FROM queue",
        // Each looks up the other by its key: the queue has no other index, and may be long.
        "SELECT (SELECT count(*) FROM request_states rs
             LEFT JOIN queue q ON q.model = rs.model AND q.account = rs.account AND q.sort_key = rs.sort_key AND q.seq = rs.seq
             WHERE rs.state = 1 AND (q.seq IS NULL OR coalesce(q.batch, 0) <> coalesce(rs.batch, 0)
                 OR q.hold <> rs.hold OR coalesce(q.price, 0) <> coalesce(rs.price, 0)
                 OR coalesce(q.lane, 0) <> coalesce(rs.lane, 0)))
           + (SELECT count(*) FROM queue q LEFT JOIN request_states rs ON rs.seq = q.seq
             WHERE rs.seq IS NULL OR rs.state <> 1 OR q.model <> rs.model OR q.account <> rs.account OR q.sort_key <> rs.sort_key) AS breaches",
    ),
    (
        "a leased request is in progress and has a living node",
        "SELECT count(*) AS count FROM queue WHERE phase = 1",
        "SELECT count(*) AS breaches FROM queue q LEFT JOIN nodes n ON n.seq = q.node
         WHERE q.phase = 1 AND (q.in_progress_at IS NULL OR n.seq IS NULL)",
    ),
    (
        "a batch's counters equal its requests' states, with those that were deleted or never made",
        "SELECT count(*) AS count FROM batches",
        "SELECT count(*) AS breaches FROM batches b LEFT JOIN (
            SELECT batch, count(*) FILTER (WHERE state < 2) AS registered, count(*) FILTER (WHERE state = 2) AS in_progress,
                   count(*) FILTER (WHERE state = 3) AS completed, count(*) FILTER (WHERE state = 4) AS failed,
                   count(*) FILTER (WHERE state = 5) AS cancelled
            FROM current_states WHERE batch IS NOT NULL GROUP BY batch) c ON c.batch = b.seq
         LEFT JOIN batch_inputs i ON i.batch = b.seq
         WHERE b.grouping_at IS NULL AND (b.registered <> coalesce(c.registered, 0) + CASE WHEN i.state = 0 THEN i.lines - i.filled ELSE 0 END OR b.in_progress <> coalesce(c.in_progress, 0)
            OR b.completed < coalesce(c.completed, 0) OR b.failed < coalesce(c.failed, 0) OR b.cancelled < coalesce(c.cancelled, 0)
            OR b.completed + b.failed + b.cancelled
               <> b.deleted + coalesce(c.completed, 0) + coalesce(c.failed, 0) + coalesce(c.cancelled, 0)
            OR (c.batch IS NULL AND b.deleted = 0 AND i.batch IS NULL))",
    ),
    (
        "a batch's state follows its counters, and only what has ended is being deleted",
        "SELECT count(*) AS count FROM batches",
        "SELECT count(*) AS breaches FROM batches WHERE
            (completed_at IS NOT NULL AND (cancelled_at IS NOT NULL OR registered + in_progress > 0))
            OR (completed_at IS NULL AND cancelled_at IS NULL AND registered + in_progress = 0)
            OR (cancelled_at IS NOT NULL AND cancelling = 0 AND registered + in_progress > 0)
            OR (cancelled_at IS NULL AND (in_progress_at IS NULL) <> (in_progress + completed + failed + cancelled = 0))
            OR (account < 0 AND (lane IS NOT NULL OR (grouping_at IS NULL AND registered + in_progress > 0)))
            OR (account > 0 AND grouping_at IS NOT NULL)",
    ),
    (
        "a batch lists exactly its requests",
        "SELECT count(*) AS count FROM batch_members",
        "SELECT count(*) AS breaches FROM batches b WHERE b.grouping_at IS NULL AND
            (SELECT coalesce(sum(length(ids)), 0) FROM batch_members m WHERE m.batch = b.seq)
            <> 16 * (b.registered + b.in_progress + b.completed + b.failed + b.cancelled
                     - (SELECT coalesce(sum(i.lines - i.filled), 0) FROM batch_inputs i WHERE i.batch = b.seq))",
    ),
    (
        "what a batch is filled from is there, and it is filled no further than that",
        "SELECT count(*) AS count FROM batch_inputs",
        "SELECT count(*) AS breaches FROM batch_inputs i LEFT JOIN batches b ON b.seq = i.batch LEFT JOIN files f ON f.seq = i.file
         WHERE b.seq IS NULL OR abs(b.account) <> i.account OR i.filled > i.lines
            OR (i.state = 0 AND (f.seq IS NULL OR i.filled = i.lines OR b.cancelled_at IS NOT NULL OR b.completed_at IS NOT NULL))",
    ),
    (
        "a file is as long as its pieces",
        "SELECT count(*) AS count FROM files",
        "SELECT (SELECT count(*) FROM files f WHERE f.state < 2 AND f.bytes <>
             (SELECT CAST(coalesce(sum(coalesce(p.bytes, octet_length(p.content))), 0) AS BIGINT) FROM file_pieces p WHERE p.file = f.seq))
           + (SELECT count(*) FROM file_pieces p LEFT JOIN files f ON f.seq = p.file WHERE f.seq IS NULL) AS breaches",
    ),
    (
        "an upload in parts has parts while it is pending, and a file once it is completed",
        "SELECT count(*) AS count FROM uploads",
        "SELECT (SELECT count(*) FROM uploads WHERE state NOT BETWEEN 0 AND 2 OR (state = 1) <> (file IS NOT NULL)
                OR (state = 1) <> (digest IS NOT NULL))
           + (SELECT count(*) FROM files f LEFT JOIN uploads u ON u.seq = f.upload
             WHERE f.upload IS NOT NULL AND f.state < 2 AND (f.state <> 0 OR u.state <> 0 OR u.account <> f.account OR u.seq IS NULL)) AS breaches",
    ),
    (
        "the places of a batch's ends lie apart, and none beyond what has ended",
        "SELECT count(*) AS count FROM batch_ends",
        "SELECT count(*) AS breaches FROM batch_ends e LEFT JOIN batches b ON b.seq = e.batch
         WHERE b.seq IS NULL OR e.ended > b.completed + b.failed + b.cancelled
            OR length(e.requests) = 0 OR length(e.requests) % 8 <> 0 OR e.ended < length(e.requests) / 8
            OR EXISTS (SELECT 1 FROM batch_ends p WHERE p.batch = e.batch AND p.ended < e.ended
                AND p.ended > e.ended - length(e.requests) / 8)",
    ),
    (
        "an account's balance is the sum of its ledger entries",
        "SELECT count(*) AS count FROM ledger",
        "SELECT (SELECT count(*) FROM accounts a WHERE a.balance <>
             (SELECT CAST(coalesce(sum(l.amount), 0) AS BIGINT) FROM ledger l WHERE l.account = a.seq))
           + (SELECT count(*) FROM ledger l LEFT JOIN accounts a ON a.seq = l.account WHERE a.seq IS NULL) AS breaches",
    ),
    (
        "an account holds what its live requests hold",
        "SELECT count(*) AS count FROM request_states WHERE state < 3 AND hold <> 0",
        "SELECT count(*) AS breaches FROM accounts a LEFT JOIN (
             SELECT account, CAST(sum(hold) AS BIGINT) AS held FROM request_states WHERE state < 3 GROUP BY account
         ) h ON h.account = a.seq WHERE a.held <> coalesce(h.held, 0)",
    ),
    (
        "an account's live requests are counted",
        "SELECT count(*) AS count FROM accounts",
        "SELECT count(*) AS breaches FROM accounts a LEFT JOIN (
             SELECT account, count(*) AS requests FROM request_states WHERE state < 3 GROUP BY account
         ) c ON c.account = a.seq WHERE a.live_requests <> coalesce(c.requests, 0)",
    ),
    (
        "an account's stored bytes are those of its requests, attempts, results, objects, batches, files, uploads and idempotency keys",
        "SELECT count(*) AS count FROM accounts",
        "SELECT count(*) AS breaches FROM (
             SELECT account FROM (
                 SELECT account, 512 + octet_length(body) + coalesce(octet_length(metadata), 0)
                        + coalesce(1024 + 2 * octet_length(webhook), 0) AS bytes FROM requests
                 UNION ALL SELECT r.account, octet_length(t.body) FROM results t JOIN requests r ON r.seq = t.request
                 UNION ALL SELECT r.account, octet_length(f.message) FROM attempts f JOIN requests r ON r.seq = f.request
                 UNION ALL SELECT abs(account), 512 + coalesce(octet_length(metadata), 0) + coalesce(1024 + 2 * octet_length(webhook), 0)
                        + 16 * (registered + in_progress + completed + failed + cancelled) FROM batches
                 UNION ALL SELECT account, 512 + bytes + coalesce(octet_length(faults), 0) FROM files WHERE state < 2
                 UNION ALL SELECT account, coalesce(octet_length(faults), 0) FROM batch_inputs
                 UNION ALL SELECT account, 512 FROM uploads
                 UNION ALL SELECT account, coalesce(bytes, 0) FROM idempotency_keys
                 UNION ALL SELECT account, bytes FROM objects WHERE state = 1
                 UNION ALL SELECT seq, -stored_bytes FROM accounts
             ) s GROUP BY account HAVING sum(bytes) <> 0
         ) c",
    ),
    (
        "an object in use is the body or the result of a request of its account, and no other is of a request that there is",
        "SELECT count(*) AS count FROM objects",
        // The name is in the value, after a mark and the account's number.
        "SELECT (SELECT count(*) FROM objects o LEFT JOIN request_states rs ON rs.seq = o.request
                 LEFT JOIN requests r ON r.seq = o.request LEFT JOIN results t ON t.seq = rs.result_seq
             WHERE o.state = 1 AND (r.seq IS NULL OR r.account <> o.account
                OR (substr(r.body, 17, 16) <> o.name AND coalesce(substr(t.body, 17, 16) <> o.name, TRUE))))
           + (SELECT count(*) FROM objects o WHERE o.state NOT BETWEEN 0 AND 3 OR (o.state = 1 AND o.delete_at IS NOT NULL)
                OR (o.state = 0 AND (o.request IS NOT NULL OR o.delete_at IS NULL))) AS breaches",
    ),
    (
        "only an account that is closed is erased, and of one that is nothing is left but its ledger",
        "SELECT count(*) AS count FROM accounts WHERE closed_at IS NOT NULL",
        "SELECT count(*) AS breaches FROM accounts a WHERE (a.erase_at IS NOT NULL AND a.closed_at IS NULL)
            OR (a.erased_at IS NOT NULL AND (a.erase_at IS NULL OR a.live_requests <> 0 OR a.stored_bytes <> 0
                OR EXISTS (SELECT 1 FROM members m WHERE m.account = a.seq)
                OR EXISTS (SELECT 1 FROM api_keys k WHERE k.account = a.seq)))",
    ),
    (
        "no two accounts have one encryption key",
        "SELECT count(*) AS count FROM accounts WHERE data_key IS NOT NULL",
        "SELECT count(*) - count(DISTINCT data_key) AS breaches FROM accounts WHERE data_key IS NOT NULL",
    ),
    (
        "no hold is negative, and only what has a price holds anything",
        "SELECT count(*) AS count FROM request_states",
        "SELECT count(*) AS breaches FROM request_states rs LEFT JOIN price_points x ON x.seq = rs.price
         WHERE rs.hold < 0 OR (rs.price IS NULL AND rs.hold <> 0) OR (rs.price IS NOT NULL AND x.seq IS NULL)",
    ),
    (
        "no account has less than nothing available, but for what a refund or dispute took",
        "SELECT count(*) AS count FROM accounts",
        "SELECT count(*) AS breaches FROM accounts a WHERE a.balance - a.held <
             (SELECT CAST(coalesce(sum(l.amount), 0) AS BIGINT) FROM ledger l
              WHERE l.account = a.seq AND l.kind IN (3, 4) AND l.amount < 0)",
    ),
    (
        "a completed request that had a price is charged once, to its account, and no other request is",
        "SELECT count(*) AS count FROM ledger WHERE kind = 2",
        "SELECT (SELECT count(*) FROM request_states rs LEFT JOIN ledger l ON l.result = rs.result_seq AND l.result IS NOT NULL
             WHERE (rs.state = 3 AND rs.price IS NOT NULL) <> (l.seq IS NOT NULL)
                OR l.account <> rs.account OR l.model <> rs.model OR l.kind <> 2)
           + (SELECT count(*) FROM ledger l LEFT JOIN results s ON s.seq = l.result
             LEFT JOIN requests r ON r.seq = s.request
             WHERE (l.kind = 2) <> (l.result IS NOT NULL) OR (l.kind = 2 AND coalesce(r.id <> l.request,
                 l.result > (SELECT coalesce(max(d.seq), 0) FROM last_deleted d WHERE d.table_name = 'results')
                 OR EXISTS (SELECT 1 FROM requests o WHERE o.id = l.request)))) AS breaches",
    ),
    (
        "a charge is what was used at the price that was accepted, and never above the hold",
        "SELECT count(*) AS count FROM ledger WHERE kind = 2",
        // Skips products beyond 64 bits: tokens by the trillion.
        "SELECT count(*) AS breaches FROM ledger l JOIN results s ON s.seq = l.result JOIN request_states rs ON rs.seq = s.request
         JOIN price_points x ON x.seq = rs.price
         WHERE l.amount > 0 OR -l.amount > rs.hold OR CASE
           WHEN s.prompt_tokens > 4000000000000000000 / (x.input + 1) THEN FALSE
           WHEN s.completion_tokens > 4000000000000000000 / (x.output + 1) THEN FALSE
           WHEN (s.prompt_tokens * x.input + s.completion_tokens * x.output + 999999) / 1000000 < rs.hold
           THEN -l.amount <> (s.prompt_tokens * x.input + s.completion_tokens * x.output + 999999) / 1000000
           ELSE -l.amount <> rs.hold END",
    ),
    (
        "what was spent by day and model is what was charged",
        "SELECT count(*) AS count FROM spend",
        "SELECT count(*) AS breaches FROM (
             SELECT account, day, model, sum(amount) AS amount FROM (
                 SELECT account, day, model, amount FROM spend
                 UNION ALL SELECT account, created_at / 86400000, model, amount FROM ledger WHERE kind = 2
             ) e GROUP BY account, day, model) s WHERE s.amount <> 0",
    ),
    (
        "what was spent by API key is of keys of the account, and no more than was spent by day and model",
        "SELECT count(*) AS count FROM spend_by_key",
        // Completions without a key are in the days only. Keys go with the erased account.
        "SELECT (SELECT count(*) FROM (
                 SELECT account, day, model, CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(prompt_tokens) AS BIGINT) AS prompt_tokens,
                        CAST(sum(completion_tokens) AS BIGINT) AS completion_tokens, CAST(sum(amount) AS BIGINT) AS amount
                 FROM spend_by_key GROUP BY account, day, model
             ) k LEFT JOIN spend s ON s.account = k.account AND s.day = k.day AND s.model = k.model
             WHERE s.account IS NULL OR k.requests > s.requests OR k.prompt_tokens > s.prompt_tokens
                OR k.completion_tokens > s.completion_tokens OR k.amount > s.amount
                OR (k.requests = s.requests AND (k.amount <> s.amount OR k.prompt_tokens <> s.prompt_tokens
                    OR k.completion_tokens <> s.completion_tokens)))
           + (SELECT count(*) FROM spend_by_key k LEFT JOIN api_keys y ON y.seq = k.api_key LEFT JOIN accounts a ON a.seq = k.account
             WHERE k.requests <= 0 OR k.amount < 0 OR a.seq IS NULL
                OR (a.erased_at IS NULL AND coalesce(y.account, 0) <> k.account)) AS breaches",
    ),
    (
        "a request that came by an API key came by one of its account",
        "SELECT count(*) AS count FROM request_states WHERE api_key IS NOT NULL",
        "SELECT count(*) AS breaches FROM request_states rs LEFT JOIN api_keys k ON k.seq = rs.api_key
         WHERE rs.api_key IS NOT NULL AND coalesce(k.account, 0) <> rs.account",
    ),
    (
        "the credits of an account are noted as low exactly where less than its threshold is available",
        "SELECT count(*) AS count FROM accounts WHERE low_credits_threshold IS NOT NULL",
        "SELECT count(*) AS breaches FROM accounts
         WHERE coalesce(balance - held < low_credits_threshold, false) <> (low_credits_notified IS NOT NULL)
            OR (low_credits_threshold IS NULL) <> (low_credits_webhook IS NULL)",
    ),
    (
        "an account's quarters of an hour tell of no more that completed, and of no more charged, than its days",
        "SELECT count(*) AS count FROM activity",
        // The days have been counted for longer.
        "SELECT count(*) AS breaches FROM (
             SELECT account, sum(completed) AS requests, sum(amount) AS amount FROM activity GROUP BY account
         ) a LEFT JOIN (
             SELECT account, sum(requests) AS requests, sum(amount) AS amount FROM spend GROUP BY account
         ) s ON s.account = a.account
         WHERE a.requests > coalesce(s.requests, 0) OR a.amount > coalesce(s.amount, 0)",
    ),
    (
        "what ended and names a webhook has one event, of its kind and its account's; others are of accounts",
        "SELECT count(*) AS count FROM events",
        "SELECT (SELECT count(*) FROM request_states rs LEFT JOIN events e ON e.request = rs.seq
             WHERE rs.lane IS NOT NULL AND (rs.state >= 3) <> (e.seq IS NOT NULL))
           + (SELECT count(*) FROM batches b LEFT JOIN events e ON e.batch = b.seq
             WHERE b.lane IS NOT NULL AND (b.completed_at IS NOT NULL OR (b.cancelled_at IS NOT NULL AND b.cancelling = 0))
                 <> (e.seq IS NOT NULL))
           + (SELECT count(*) FROM request_states rs JOIN requests r ON r.seq = rs.seq
             WHERE rs.state < 3 AND (r.webhook IS NULL) <> (rs.lane IS NULL))
           + (SELECT count(*) FROM batches b WHERE b.completed_at IS NULL AND b.cancelled_at IS NULL
                 AND b.grouping_at IS NULL AND (b.webhook IS NULL) <> (b.lane IS NULL))
           + (SELECT count(*) FROM events e LEFT JOIN request_states rs ON rs.seq = e.request LEFT JOIN batches b ON b.seq = e.batch
             WHERE e.kind < 5 AND ((e.request IS NULL) = (e.batch IS NULL)
                OR coalesce(rs.account, b.account, -1) <> e.account OR coalesce(rs.lane, b.lane, -1) <> e.lane
                OR e.kind <> CASE WHEN e.request IS NOT NULL THEN rs.state - 3
                                  WHEN b.completed_at IS NOT NULL THEN 3 ELSE 4 END))
           + (SELECT count(*) FROM events e LEFT JOIN accounts a ON a.seq = e.account
             WHERE e.kind >= 5 AND (e.request IS NOT NULL OR e.batch IS NOT NULL OR e.url IS NULL OR e.payload IS NULL
                OR e.lane / 256 <> e.account OR a.seq IS NULL)) AS breaches",
    ),
    (
        "an event waits, or is being sent by a living process, or has ended",
        "SELECT count(*) AS count FROM events",
        "SELECT count(*) AS breaches FROM events e LEFT JOIN nodes n ON n.seq = e.node
         WHERE e.state NOT BETWEEN 0 AND 2 OR (e.state = 0) <> (e.ended_at IS NULL)
            OR (e.state = 0) <> ((e.due_at IS NULL) <> (e.node IS NULL)) OR (e.due_at IS NOT NULL AND e.node IS NOT NULL)
            OR (e.node IS NOT NULL AND n.seq IS NULL) OR (e.number > 0 AND (e.payload IS NULL OR e.url IS NULL))",
    ),
    (
        "the newest tries of an event are kept, and one that was delivered was answered so last",
        "SELECT count(*) AS count FROM deliveries",
        "SELECT (SELECT count(*) FROM events e LEFT JOIN (
                 SELECT event, count(*) AS tries, min(number) AS first, max(number) AS last FROM deliveries GROUP BY event) d
               ON d.event = e.seq
             LEFT JOIN deliveries f ON f.event = e.seq AND f.number = e.number
             WHERE coalesce(d.last, 0) <> e.number - CASE WHEN e.node IS NULL THEN 0 ELSE 1 END
                OR d.last - d.first + 1 <> d.tries OR (d.first > 1 AND d.tries < 100)
                OR (e.state = 1 AND coalesce(f.status, 0) NOT BETWEEN 200 AND 299))
           + (SELECT count(*) FROM deliveries d LEFT JOIN events e ON e.seq = d.event
             WHERE e.seq IS NULL OR e.account <> d.account OR (d.status IS NULL) = (d.failure IS NULL)) AS breaches",
    ),
];

/// Checks the schema of the database, its pages, then every rule, as of one moment, while the service continues. Fails with
/// [`StoreError::OtherSchema`] (SQLite) and [`StoreError::DamagedPages`].
pub async fn run(store: &Store) -> Result<Vec<Check>, StoreError> {
    let mut reader = store.readers().take().await?;
    reader.begin_snapshot().await?;
    own_schema::check_in(&mut reader, migrations::NEWEST).await?;
    integrity::check_in(&mut reader).await?;
    let checks = recount(&mut reader).await?;
    reader.execute_all("ROLLBACK").await?;
    reader.give_back();
    Ok(checks)
}

/// In the current transaction.
pub(crate) async fn recount(connection: &mut Connection) -> Result<Vec<Check>, StoreError> {
    let mut checks = Vec::with_capacity(RULES.len());
    for (rule, scope, breach) in RULES {
        let checked = connection.fetch_one(sql(scope)).await?.get("count")?;
        let breaches = connection.fetch_one(sql(breach)).await?.get("breaches")?;
        checks.push(Check { rule, checked, breaches });
    }
    Ok(checks)
}
