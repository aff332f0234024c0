-- For people with a SQL prompt: views with identifiers as the API writes them, states as words, times and credits, and a comment on every table and column.
-- The views hold no bodies, metadata, URLs, messages of engines, keys or secrets. The service reads none of them. A later migration may
-- replace or drop any of them (CONTRIBUTING.md says how).

-- The engine replica that completed a request, or failed it last, by its name in the settings. Null where none did, and in every row of
-- the previous release, which does not fill it.
ALTER TABLE results ADD COLUMN engine TEXT;

-- The identifier as the API writes it: a prefix, and 26 digits of 5 bits, of which the first two bits are 0.
CREATE FUNCTION overnight_id(prefix text, id bytea) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT prefix || '_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz',
                                              1 + substring(B'00' || ('x' || encode(id, 'hex'))::bit(128) FROM place FOR 5)::int, 1),
                                       '' ORDER BY place)
    FROM generate_series(1, 126, 5) AS place
$$;

-- The bytes of such an identifier, as `id_bytes` has them, so that an index finds them; null for any other text.
CREATE FUNCTION overnight_id_bytes(id text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT decode(string_agg(lpad(to_hex(substring(bits FROM place FOR 8)::int), 2, '0'), '' ORDER BY place), 'hex')
    FROM (SELECT substring(string_agg((position(digit IN '0123456789abcdefghjkmnpqrstvwxyz') - 1)::bit(5)::text, '' ORDER BY at)
                           FROM 3)::varbit AS bits
          FROM regexp_split_to_table(substring(id FROM '_([0-7][0-9a-hjkmnp-tv-z]{25})$'), '') WITH ORDINALITY AS digits(digit, at)) AS read,
         generate_series(1, 121, 8) AS place
$$;

-- Nano-credits as credits.
CREATE FUNCTION overnight_credits(nanos bigint) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT trim_scale(nanos * 0.000000001)
$$;

CREATE VIEW overnight_accounts AS
SELECT overnight_id('acct', a.id) AS id, a.name, to_timestamp(a.created_at / 1000.0) AS created_at,
       overnight_credits(a.balance) AS balance, overnight_credits(a.held) AS held, overnight_credits(a.balance - a.held) AS available,
       to_timestamp(a.payments_activated_at / 1000.0) AS payments_activated_at, a.live_requests, a.stored_bytes,
       a.live_requests_quota, a.stored_bytes_quota, a.requests_per_second_quota, a.tokens_per_day_quota, a.id AS id_bytes, a.seq
FROM accounts a;

CREATE VIEW overnight_batches AS
SELECT overnight_id('batch', b.id) AS id, overnight_id('acct', a.id) AS account, a.name AS account_name,
       CASE WHEN b.cancelled_at IS NOT NULL THEN 'cancelled' WHEN b.completed_at IS NOT NULL THEN 'completed'
            WHEN b.in_progress_at IS NOT NULL THEN 'in progress' ELSE 'registered' END AS status,
       to_timestamp(b.created_at / 1000.0) AS created_at, to_timestamp(b.in_progress_at / 1000.0) AS in_progress_at,
       to_timestamp(b.completed_at / 1000.0) AS completed_at, to_timestamp(b.cancelled_at / 1000.0) AS cancelled_at,
       b.registered, b.in_progress, b.completed, b.failed, b.cancelled, b.deleted,
       overnight_id('file', i.file_id) AS file, i.lines AS file_lines, i.filled AS file_lines_filled, i.fault_count AS file_faults,
       b.id AS id_bytes, b.seq
FROM batches b
JOIN accounts a ON a.seq = b.account
LEFT JOIN batch_inputs i ON i.batch = b.seq;

CREATE VIEW overnight_requests AS
SELECT overnight_id('req', r.id) AS id, overnight_id('acct', a.id) AS account, a.name AS account_name,
       overnight_id('batch', b.id) AS batch, m.name AS model,
       CASE r.endpoint WHEN 0 THEN '/v1/chat/completions' WHEN 1 THEN '/v1/completions' WHEN 2 THEN '/v1/embeddings' END AS endpoint,
       CASE s.state WHEN 0 THEN 'registered' WHEN 1 THEN 'registered' WHEN 2 THEN 'in progress' WHEN 3 THEN 'completed'
                    WHEN 4 THEN 'failed' WHEN 5 THEN 'cancelled' END AS status,
       CASE s.state WHEN 0 THEN 'gathering' WHEN 1 THEN 'queued' WHEN 2 THEN 'in progress' WHEN 3 THEN 'completed'
                    WHEN 4 THEN 'failed' WHEN 5 THEN 'cancelled' END AS state,
       to_timestamp(r.created_at / 1000.0) AS created_at, to_timestamp(s.deadline / 1000.0) AS expires_at,
       to_timestamp(rs.released_at / 1000.0) AS released_at, to_timestamp(s.in_progress_at / 1000.0) AS in_progress_at,
       to_timestamp(s.ended_at / 1000.0) AS ended_at,
       (SELECT count(*) FROM attempts t WHERE t.request = r.seq) AS failed_attempts,
       t.engine, t.prompt_tokens, t.completion_tokens, overnight_credits(-l.amount) AS charged, overnight_credits(rs.hold) AS held,
       octet_length(r.body) AS body_bytes, octet_length(t.body) AS result_bytes, r.id AS id_bytes, r.seq
FROM current_states s
JOIN request_states rs ON rs.seq = s.seq
JOIN requests r ON r.seq = s.seq
JOIN accounts a ON a.seq = r.account
JOIN models m ON m.seq = r.model
LEFT JOIN batches b ON b.seq = s.batch
LEFT JOIN results t ON t.seq = s.result_seq
LEFT JOIN ledger l ON l.result = s.result_seq AND l.result IS NOT NULL;

CREATE VIEW overnight_queue AS
SELECT overnight_id('req', r.id) AS id, overnight_id('acct', a.id) AS account, a.name AS account_name, m.name AS model,
       CASE WHEN q.phase = 1 THEN 'leased' WHEN q.in_progress_at IS NULL THEN 'waiting' ELSE 'waiting again' END AS state,
       n.name AS node, to_timestamp(q.deadline / 1000.0) AS expires_at, to_timestamp(q.in_progress_at / 1000.0) AS in_progress_at,
       q.attempts AS failed_attempts, CASE WHEN q.retry_at > 0 THEN to_timestamp(q.retry_at / 1000.0) END AS retry_at,
       q.suspect > 0 AS is_suspect, q.seq
FROM queue q
JOIN requests r ON r.seq = q.seq
JOIN accounts a ON a.seq = q.account
JOIN models m ON m.seq = q.model
LEFT JOIN nodes n ON n.seq = q.node;

CREATE VIEW overnight_attempts AS
SELECT overnight_id('req', r.id) AS request, overnight_id('acct', a.id) AS account, a.name AS account_name, m.name AS model,
       t.number, to_timestamp(t.ended_at / 1000.0) AS ended_at, t.status AS http_status, t.engine
FROM attempts t
JOIN requests r ON r.seq = t.request
JOIN accounts a ON a.seq = r.account
JOIN models m ON m.seq = r.model;

CREATE VIEW overnight_files AS
SELECT overnight_id('file', f.id) AS id, overnight_id('acct', a.id) AS account, a.name AS account_name,
       CASE f.state WHEN 0 THEN 'coming' WHEN 1 THEN 'ready' WHEN 2 THEN 'deleted' END AS state,
       to_timestamp(f.created_at / 1000.0) AS created_at, to_timestamp(f.expires_at / 1000.0) AS expires_at,
       f.bytes, f.endpoint, f.lines, f.fault_count AS faults, f.id AS id_bytes, f.seq
FROM files f
JOIN accounts a ON a.seq = f.account;

CREATE VIEW overnight_api_keys AS
SELECT overnight_id('key', k.id) AS id, overnight_id('acct', a.id) AS account, a.name AS account_name, k.name,
       to_timestamp(k.created_at / 1000.0) AS created_at, to_timestamp(k.expires_at / 1000.0) AS expires_at,
       to_timestamp(k.revoked_at / 1000.0) AS revoked_at, to_timestamp(k.last_used_at / 1000.0) AS last_used_at
FROM api_keys k
JOIN accounts a ON a.seq = k.account;

CREATE VIEW overnight_users AS
SELECT overnight_id('usr', u.id) AS id, u.email, u.is_operator = 1 AS is_operator,
       to_timestamp(u.created_at / 1000.0) AS created_at, to_timestamp(u.signed_in_at / 1000.0) AS signed_in_at
FROM users u;

CREATE VIEW overnight_members AS
SELECT overnight_id('acct', a.id) AS account, a.name AS account_name, overnight_id('usr', u.id) AS user_id, u.email,
       CASE m.role WHEN 0 THEN 'viewer' WHEN 1 THEN 'developer' WHEN 2 THEN 'owner' END AS role,
       to_timestamp(m.created_at / 1000.0) AS created_at
FROM members m
JOIN accounts a ON a.seq = m.account
JOIN users u ON u.seq = m.user_seq;

CREATE VIEW overnight_ledger AS
SELECT overnight_id('acct', a.id) AS account, a.name AS account_name,
       CASE l.kind WHEN 0 THEN 'grant' WHEN 1 THEN 'top_up' WHEN 2 THEN 'charge' WHEN 3 THEN 'refund' WHEN 4 THEN 'dispute' END AS kind,
       overnight_credits(l.amount) AS amount, to_timestamp(l.created_at / 1000.0) AS created_at, l.source,
       overnight_id('req', l.request) AS request, m.name AS model, l.seq
FROM ledger l
JOIN accounts a ON a.seq = l.account
LEFT JOIN models m ON m.seq = l.model;

CREATE VIEW overnight_spend AS
SELECT overnight_id('acct', a.id) AS account, a.name AS account_name, DATE '1970-01-01' + s.day::int AS day, m.name AS model,
       s.requests, s.prompt_tokens, s.completion_tokens, overnight_credits(s.amount) AS amount
FROM spend s
JOIN accounts a ON a.seq = s.account
JOIN models m ON m.seq = s.model;

CREATE VIEW overnight_payments AS
SELECT overnight_id('pay', p.id) AS id, overnight_id('acct', a.id) AS account, a.name AS account_name, p.provider,
       overnight_credits(p.credits) AS credits, p.amount, p.currency, to_timestamp(p.created_at / 1000.0) AS created_at,
       to_timestamp(p.paid_at / 1000.0) AS paid_at, to_timestamp(p.check_at / 1000.0) AS check_at, p.reference
FROM payments p
JOIN accounts a ON a.seq = p.account;

CREATE VIEW overnight_webhook_events AS
SELECT overnight_id('evt', e.id) AS id, overnight_id('acct', a.id) AS account, a.name AS account_name,
       CASE e.kind WHEN 0 THEN 'request.completed' WHEN 1 THEN 'request.failed' WHEN 2 THEN 'request.cancelled'
                   WHEN 3 THEN 'batch.completed' WHEN 4 THEN 'batch.cancelled' WHEN 5 THEN 'webhook.test' END AS type,
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

CREATE VIEW overnight_webhook_attempts AS
SELECT overnight_id('evt', e.id) AS event, overnight_id('acct', a.id) AS account, a.name AS account_name, d.number,
       to_timestamp(d.started_at / 1000.0) AS started_at, d.duration_ms, d.status AS http_status, d.failure
FROM deliveries d
JOIN events e ON e.seq = d.event
JOIN accounts a ON a.seq = d.account;

CREATE VIEW overnight_nodes AS
SELECT n.seq AS number, n.name, to_timestamp(n.heartbeat_at / 1000.0) AS heartbeat_at, n.schedules = 1 AS is_scheduler,
       (SELECT count(*) FROM queue q WHERE q.node = n.seq) AS leased_requests
FROM nodes n;

CREATE VIEW overnight_engines AS
SELECT e.name, n.name AS node, to_timestamp(e.reported_at / 1000.0) AS reported_at, replace(e.models, E'\n', ', ') AS models,
       e.is_driven = 1 AS is_driven, e.in_flight, e.max_concurrency,
       CASE WHEN e.reason IS NOT NULL THEN 'paused' WHEN e.paused_until IS NOT NULL THEN 'outside its hours' ELSE 'open' END AS state,
       to_timestamp(e.paused_until / 1000.0) AS paused_until, e.tokens_per_second, e.cache_hit_percent
FROM engine_reports e
LEFT JOIN nodes n ON n.seq = e.node;

COMMENT ON VIEW overnight_accounts IS 'Accounts; credits as numbers.';
COMMENT ON VIEW overnight_batches IS 'Batches and the counts of their requests.';
COMMENT ON VIEW overnight_requests IS 'Requests and how they stand; no bodies.';
COMMENT ON VIEW overnight_queue IS 'Requests that wait or run: the queue.';
COMMENT ON VIEW overnight_attempts IS 'Failed attempts at requests, and the engines that they failed at.';
COMMENT ON VIEW overnight_files IS 'Files that were uploaded, and parts of uploads.';
COMMENT ON VIEW overnight_api_keys IS 'API keys; no digests.';
COMMENT ON VIEW overnight_users IS 'Who signs in to the console.';
COMMENT ON VIEW overnight_members IS 'Users of accounts, with their roles.';
COMMENT ON VIEW overnight_ledger IS 'Changes of balances, in credits.';
COMMENT ON VIEW overnight_spend IS 'What completed, by day and model, in credits.';
COMMENT ON VIEW overnight_payments IS 'Orders of credits; amount in the smallest unit of the currency.';
COMMENT ON VIEW overnight_webhook_events IS 'Ends to be told by webhook, and how far that has come.';
COMMENT ON VIEW overnight_webhook_attempts IS 'Attempts to deliver events.';
COMMENT ON VIEW overnight_nodes IS 'Running nodes.';
COMMENT ON VIEW overnight_engines IS 'Engine replicas, as nodes last reported them.';
COMMENT ON FUNCTION overnight_id(text, bytea) IS 'The identifier as the API writes it: overnight_id(''req'', requests.id).';
COMMENT ON FUNCTION overnight_id_bytes(text) IS 'The bytes of an identifier of the API, to find it by an index: WHERE id_bytes = overnight_id_bytes(''req_…'').';
COMMENT ON FUNCTION overnight_credits(bigint) IS 'Nano-credits as credits.';

-- The first text is the table's, the others are of its columns. What a column of the same name means in every table stands under '*'.
DO $$
DECLARE
    documented record;
    note text;
    general jsonb := '{}';
BEGIN
    FOR documented IN SELECT * FROM (VALUES
('*', NULL, ARRAY['seq: Number of the row, in order of creation; other tables refer to it.', 'id: The 16 bytes of its identifier (a UUIDv7); overnight_id() spells it.',
  'account: Whose it is: accounts.seq.', 'model: Which model: models.seq.', 'batch: Which batch: batches.seq; null outside batches.', 'node: Which node: nodes.seq.',
  'created_at: When it was made, in milliseconds since 1970.', 'expires_at: When it ends by itself, in milliseconds since 1970.', 'user_seq: Which user: users.seq.',
  'endpoint: What is asked for: the path of the endpoint.', 'fault_count: How many bad lines there are.', 'faults: What is wrong with the first bad lines: a JSON array.',
  'prompt_tokens: Tokens of prompts.', 'completion_tokens: Tokens of completions.']),
('schema_version', 'Migrations that this database has seen.', ARRAY['version: Number of the migration.', 'applied_at: When it ran.']),
('settings', 'What the installation keeps for itself. Not the settings of nodes, which stand in their files.',
 ARRAY['name: Name.', 'value: Value. The secret of sort keys is one of them: keep it from readers.']),
('last_deleted', 'Highest row numbers that were deleted, so that none is given out twice.', ARRAY['table_name: Of which table.', 'seq: The number.']),
('accounts', 'Accounts: who has requests, members, keys and credits. For people: overnight_accounts.',
 ARRAY['name: Name.', 'balance: Nano-credits: the sum of its ledger.', 'held: Nano-credits that its live requests hold; no part of the ledger.',
  'payments_activated_at: When it was activated to spend, in milliseconds since 1970; null: not yet.', 'live_requests: How many of its requests have not ended.',
  'stored_bytes: What it stores, as its quota counts.', 'live_requests_quota: Its own quota; null: that of the settings.', 'stored_bytes_quota: Its own quota; null: that of the settings.',
  'requests_per_second_quota: Its own quota; null: that of the settings.', 'tokens_per_day_quota: Its own quota; null: that of the settings.']),
('api_keys', 'API keys, known by digests. For people: overnight_api_keys.',
 ARRAY['sha256: SHA-256 of the key.', 'prefix: Its first characters, by which people know it.', 'name: What its owner calls it.', 'expires_at: When it stops working, in milliseconds since 1970; null: never.',
  'revoked_at: When it was revoked, in milliseconds since 1970.', 'last_used_at: When it was last used, to the minute, in milliseconds since 1970.']),
('models', 'Models that requests ever named.', ARRAY['name: As clients name it.']),
('price_points', 'Pairs of prices at which requests were accepted.', ARRAY['input: Nano-credits a million tokens of prompts.', 'output: Nano-credits a million tokens of completions.']),
('requests', 'What was asked for; written once. Its state stands in request_states. For people: overnight_requests.',
 ARRAY['expires_at: Its deadline, in milliseconds since 1970.', 'metadata: JSON of the client.', 'webhook: URL that is told of its end.', 'body: What was sent: JSON.',
  'max_tokens: Output limit that was held; null: that of the settings.', 'fifo_hit_permille: What a prefix cache would hold of its prompt in order of arrival, in thousandths, estimated.',
  'endpoint: 0 chat completions, 1 completions, 2 embeddings.']),
('request_states', 'The state of each request. Until it ends, the view current_states has it whole.',
 ARRAY['state: 0 gathering, 1 queued (or in progress: queue.in_progress_at), 2 in progress (of earlier releases), 3 completed, 4 failed, 5 cancelled.', 'ready_at: When one that gathers is released, in milliseconds since 1970.',
  'deadline: When it fails unless it has ended, in milliseconds since 1970.', 'in_progress_at: When it was first leased, in milliseconds since 1970; of one that has not ended: queue.in_progress_at.', 'ended_at: When it ended, in milliseconds since 1970.',
  'result_seq: Its result: results.seq.', 'cost: Estimated cost for engines, in tokens.', 'sort_key: Its place in the order of prompts: a keyed hash.', 'hold: Nano-credits that it holds while it lives.',
  'price: At which price: price_points.seq; null: for nothing.', 'lane: In which lane its end is told; null: nobody is told.', 'released_at: When it was released to the queue, in milliseconds since 1970.']),
('queue', 'Requests that wait or run, in the order of prompts. Rows go when requests end. For people: overnight_queue.',
 ARRAY['sort_key: Its place in the order of prompts.', 'seq: Which request: requests.seq.', 'phase: 0 waiting, 1 leased.', 'deadline: When it fails unless it has ended, in milliseconds since 1970.',
  'cost: Estimated cost for engines, in tokens.', 'lease_epoch: Raised by each lease: a write under an older one changes nothing.', 'node: Who leases it: nodes.seq.', 'attempts: Failed attempts that count.',
  'retry_at: Not before this time, in milliseconds since 1970.', 'suspect: Above 0: it may break engines.', 'in_progress_at: When it was first leased, in milliseconds since 1970.',
  'hold: Nano-credits that it holds.', 'price: At which price: price_points.seq; null: for nothing.', 'lane: In which lane its end is told.']),
('results', 'Completions and errors of requests that ended, in order of ending.',
 ARRAY['request: Which request: requests.seq.', 'body: What was answered: JSON.', 'warnings: Fields that the engine did not honour: a JSON array.',
  'engine: Name of the engine replica that completed it, or failed it last; null: none, or not known.']),
('attempts', 'Attempts at requests that failed and count. For people: overnight_attempts.',
 ARRAY['request: Which request: requests.seq.', 'number: Which attempt, from 1.', 'ended_at: When it failed, in milliseconds since 1970.', 'status: HTTP status of the engine, if it answered.', 'message: Words of the engine, or why there were none.',
  'engine: Name of the engine replica; null: not known.']),
('batches', 'Batches and the counts of their requests. For people: overnight_batches.',
 ARRAY['account: Whose it is: accounts.seq; less than 0 while it is being deleted.', 'in_progress_at: When its first request started or ended, in milliseconds since 1970.', 'completed_at: When its last request ended, in milliseconds since 1970.',
  'cancelled_at: When it was cancelled, in milliseconds since 1970.', 'cancelling: 1 while its requests are being cancelled.', 'registered: Requests that have not started.', 'in_progress: Requests in progress.',
  'completed: Requests that completed.', 'failed: Requests that failed.', 'cancelled: Requests that were cancelled.', 'webhook: URL that is told of its end.', 'metadata: JSON of the client.',
  'lane: In which lane its end is told; null: nobody is told.', 'deleted: Requests whose records were deleted; they are counted as they ended.']),
('batch_members', 'The identifiers of the requests of a batch, in the order in which they were sent.', ARRAY['place: Which part of the list.', 'ids: Identifiers, 16 bytes each.']),
('batch_ends', 'The order in which the requests of a batch ended.', ARRAY['ended: How many had ended with this row.', 'requests: Which ones: requests.seq, 8 bytes each.']),
('batch_inputs', 'Batches whose requests are made of the lines of a file.',
 ARRAY['state: 0 being filled, 1 filled or ended.', 'file: Which file: files.seq.', 'file_id: The identifier of the file, 16 bytes.', 'lines: Lines of the file.', 'filled: Lines that are requests.', 'next_piece: Where the next line is: file_pieces.place.',
  'next_line: Which line of that piece, from 0.', 'filler_at: When a node last worked on it, in milliseconds since 1970.', 'deleted_outputs: Outputs that the client deleted: 1 the output file, 2 the error file, 3 both.']),
('files', 'Files that were uploaded, and parts of uploads. For people: overnight_files.',
 ARRAY['state: 0 coming, 1 ready, 2 being deleted.', 'expires_at: When it is deleted, in milliseconds since 1970; null: never.', 'bytes: Its size.', 'name: As the client named it.', 'endpoint: The one that all of its lines name.',
  'lines: Lines of it.', 'hold: Nano-credits that its requests may cost at most.', 'upload: Of a part: uploads.seq.']),
('file_pieces', 'What files hold, in pieces of whole lines.', ARRAY['file: Which file: files.seq.', 'place: Which piece, from 0.', 'content: The lines.']),
('uploads', 'Files that come in parts.',
 ARRAY['state: 0 pending, 1 completed, 2 cancelled.', 'expires_at: When it is given up, in milliseconds since 1970.', 'bytes: Size that the file is to have.', 'name: As the client named it.', 'file_lasts_ms: How long the file is kept, in milliseconds; null: for good.',
  'file: The identifier of the file, 16 bytes, once it is completed.', 'digest: SHA-256 of what completed it.']),
('ledger', 'Changes of balances; never changed. For people: overnight_ledger.',
 ARRAY['kind: 0 grant, 1 top-up, 2 charge, 3 refund, 4 dispute.', 'amount: Nano-credits; less than 0 takes them.', 'source: What it comes from, once a kind; null for charges.', 'request: Of a charge: the identifier of its request, 16 bytes.',
  'result: Of a charge: results.seq.', 'model: Of a charge: models.seq.']),
('spend', 'What completed, by day and model. For people: overnight_spend.', ARRAY['day: Days since 1970, in UTC.', 'requests: How many.', 'amount: Nano-credits.']),
('payments', 'Orders of credits. For people: overnight_payments.',
 ARRAY['provider: Who is paid through.', 'credits: Nano-credits.', 'amount: In the smallest unit of the currency.', 'currency: Its code.', 'session: The page of the provider at which it is paid.', 'paid_at: When it was paid, in milliseconds since 1970; null: not yet.',
  'reference: The payment, as the provider names it.', 'check_at: When the provider is next asked whether it was paid, in milliseconds since 1970; null: not again.']),
('events', 'Ends of requests and batches, to be told by webhook. For people: overnight_webhook_events.',
 ARRAY['lane: In which lane it waits: 256 times the account, and a part of the digest of its host.', 'kind: 0 request.completed, 1 request.failed, 2 request.cancelled, 3 batch.completed, 4 batch.cancelled, 5 webhook.test.',
  'request: Which request: requests.seq.', 'batch: Which batch: batches.seq.', 'state: 0 pending, 1 delivered, 2 exhausted.', 'due_at: When it is sent next, in milliseconds since 1970; null while it is sent.', 'node: Who sends it: nodes.seq.', 'claimed_at: Since when it is sent, in milliseconds since 1970.',
  'ended_at: When it was delivered or given up, in milliseconds since 1970.', 'number: Attempts.', 'failures: Failed attempts in a row.', 'url: Where it is sent.', 'payload: What is sent: JSON.', 'tries_max: After how many attempts it is given up; null: that of the schedule.']),
('deliveries', 'Attempts to deliver events. For people: overnight_webhook_attempts.',
 ARRAY['event: Which event: events.seq.', 'number: Which attempt, from 1.', 'started_at: When it began, in milliseconds since 1970.', 'duration_ms: How long it took; null: not known.', 'status: HTTP status of the answer.', 'failure: Why there was none.']),
('webhook_secrets', 'What webhooks are signed with. Secret: keep it from readers.', ARRAY['secret: The key.', 'expires_at: When it stops signing, in milliseconds since 1970; null: it is the current one.']),
('users', 'Who signs in to the console. For people: overnight_users.',
 ARRAY['email: Address, in small letters.', 'password: Argon2id hash. Secret: keep it from readers.', 'issuer: The OpenID provider that knows the user.', 'subject: As that provider names the user.', 'is_operator: 1: an operator.',
  'signed_in_at: When the user last signed in, in milliseconds since 1970.']),
('members', 'Users of accounts. For people: overnight_members.', ARRAY['role: 0 viewer, 1 developer, 2 owner.']),
('invitations', 'Links that make their holders members.', ARRAY['email: Whom it is for.', 'sha256: SHA-256 of its token.', 'role: 0 viewer, 1 developer, 2 owner.']),
('sessions', 'Browsers that are signed in.', ARRAY['sha256: SHA-256 of its token.', 'seen_at: When it was last used, in milliseconds since 1970.', 'is_by_link: 1: signed in by a link.', 'agent: Name of the browser.']),
('sign_in_links', 'Links that sign users in once.', ARRAY['sha256: SHA-256 of its token.']),
('sign_in_failures', 'Failed sign-ins in a row.', ARRAY['subject: SHA-256 of an address or of where they came from.', 'failures: How many.', 'last_at: When the last one was, in milliseconds since 1970.']),
('activity', 'What ended, by quarter of an hour.',
 ARRAY['quarter: Quarters of an hour since 1970.', 'completed: Requests that completed.', 'failed: Requests that failed.', 'cancelled: Requests that were cancelled.', 'amount: Nano-credits.',
  'completed_1: Of them in the first five minutes.', 'failed_1: Of them in the first five minutes.', 'cancelled_1: Of them in the first five minutes.', 'tokens_1: Tokens in the first five minutes.', 'amount_1: Nano-credits in the first five minutes.',
  'completed_2: Of them in the second five minutes.', 'failed_2: Of them in the second five minutes.', 'cancelled_2: Of them in the second five minutes.', 'tokens_2: Tokens in the second five minutes.', 'amount_2: Nano-credits in the second five minutes.']),
('idempotency_keys', 'Calls that are done once; deleted after 48 hours.', ARRAY['key: SHA-256 of the method, the path and the key that was sent.', 'digest: SHA-256 of what was sent.', 'response: What was answered.']),
('nodes', 'Running nodes; rows go when they end. For people: overnight_nodes.', ARRAY['heartbeat_at: When it was last heard of, in milliseconds since 1970.', 'name: As its settings name it.', 'schedules: 1: it drives engines.']),
('commit_markers', 'The last group of writes that a node committed.', ARRAY['number: Number of the group.']),
('node_replicas', 'Engine replicas that nodes could drive.', ARRAY['name: Name of the engine in the settings.']),
('replicas', 'Engine replicas, and who drives them.', ARRAY['name: Name of the engine in the settings.', 'node: Who drives it: nodes.seq; null: nobody.', 'taken_at: Since when, in milliseconds since 1970.']),
('segments', 'Stretches of the queue that engine replicas sweep.',
 ARRAY['begin_key: Behind which sort key it begins.', 'begin_seq: Behind which request of that key.', 'cursor_key: How far its sweep has come: the sort key.', 'cursor_seq: The request of that key.', 'node: Whose replica: nodes.seq.',
  'replica: Which one, by the number that the node gave it.', 'scanned_at: When it was last scanned, in milliseconds since 1970.']),
('engine_reports', 'What nodes last said of their engine replicas. For people: overnight_engines.',
 ARRAY['name: Name of the engine in the settings.', 'reported_at: When, in milliseconds since 1970.', 'models: Models that it serves, one a line.', 'is_driven: 1: the node sends to it.', 'in_flight: Requests at the engine.', 'max_concurrency: How many there may be.',
  'paused_until: Until when nothing is sent, in milliseconds since 1970.', 'reason: Why it is paused; null with paused_until: outside its hours.', 'tokens_per_second: How fast it works.', 'cache_hit_percent: Hits of its prefix cache.',
  'models_out: Models of which it is sent nothing: JSON.', 'prefix_cache: What is known of its prefix cache: JSON.', 'process: Its process, where the service starts it: JSON.']),
('engine_days', 'What engines with a daily budget were sent.', ARRAY['day: Days since 1970, in UTC.', 'name: Name of the engine in the settings.', 'requests: How many.', 'tokens: How many.'])
        ) AS v(name, about, columns)
    LOOP
        IF documented.name = '*' THEN
            SELECT jsonb_object_agg(split_part(each, ': ', 1), substr(each, strpos(each, ': ') + 2)) INTO general FROM unnest(documented.columns) AS each;
            CONTINUE;
        END IF;
        EXECUTE format('COMMENT ON TABLE %I IS %L', documented.name, documented.about);
        FOR note IN SELECT c.attname || ': ' || (general->>c.attname) FROM pg_attribute c
                    WHERE c.attrelid = documented.name::regclass AND c.attnum > 0 AND NOT c.attisdropped AND general ? c.attname LOOP
            EXECUTE format('COMMENT ON COLUMN %I.%I IS %L', documented.name, split_part(note, ': ', 1), substr(note, strpos(note, ': ') + 2));
        END LOOP;
        FOREACH note IN ARRAY documented.columns LOOP
            EXECUTE format('COMMENT ON COLUMN %I.%I IS %L', documented.name, split_part(note, ': ', 1), substr(note, strpos(note, ': ') + 2));
        END LOOP;
    END LOOP;
END $$;
