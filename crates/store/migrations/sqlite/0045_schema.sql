-- The whole schema of release 0.1.0: facts are written once (requests, results, ledger), request_states moves, the queue holds what waits or runs.
-- Times are milliseconds since 1970; ids are the 16 bytes of a UUIDv7; bodies are JSON text kept as bytes; money is whole nano-credits.
-- Until 0.1.0 is tagged this file is edited, and its number raised: CONTRIBUTING.md says how.

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

-- The highest row numbers that were deleted, so that none is given out twice.
CREATE TABLE last_deleted (
    table_name TEXT PRIMARY KEY,
    seq        INTEGER NOT NULL
) WITHOUT ROWID;

-- balance is the sum of the account's ledger entries, held that of its live requests' holds. live_requests and stored_bytes are counted here by every write
-- that changes them, so that a create knows them without counting; quotas are null where those of the settings apply.
--
-- A request stores 512 bytes for its rows, and the bytes of its body, metadata, failed attempts and result. A batch stores 512 bytes, those of its
-- metadata, and 16 for each request. A webhook stores its URL twice, and 1,024 bytes for its event. Faults of files and batches count too.
--
-- suspended_at, closed_at, erase_at (when it was asked to be erased) and erased_at (when nothing of it was left but the sums of the ledger) are null where
-- that has not happened. An account that is closed is suspended too. monthly_credits_month is the last month of which monthly_credits were granted, in months
-- since 1970. data_key names the key by which its bodies and files are encrypted; null where nothing of it is, or where the key was destroyed.
-- low_credits_notified is null while at least the threshold is available, 0 once less is, 1 once an event tells of it.
CREATE TABLE accounts (
    seq                       INTEGER PRIMARY KEY,
    id                        BLOB NOT NULL UNIQUE,
    name                      TEXT NOT NULL,
    created_at                INTEGER NOT NULL,
    balance                   INTEGER NOT NULL DEFAULT 0,
    held                      INTEGER NOT NULL DEFAULT 0,
    payments_activated_at     INTEGER,
    live_requests             INTEGER NOT NULL DEFAULT 0,
    stored_bytes              INTEGER NOT NULL DEFAULT 0,
    live_requests_quota       INTEGER,
    stored_bytes_quota        INTEGER,
    requests_per_second_quota INTEGER,
    tokens_per_day_quota      INTEGER,
    suspended_at              INTEGER,
    retention_ms              INTEGER,
    closed_at                 INTEGER,
    erase_at                  INTEGER,
    erased_at                 INTEGER,
    monthly_credits           INTEGER,
    monthly_credits_month     INTEGER,
    data_key                  INTEGER,
    low_credits_threshold     INTEGER,
    low_credits_webhook       TEXT,
    low_credits_notified      INTEGER,
    low_credits_notified_at   INTEGER
);
CREATE INDEX accounts_closed ON accounts (seq) WHERE closed_at IS NOT NULL AND erased_at IS NULL;
CREATE INDEX accounts_monthly ON accounts (seq) WHERE monthly_credits IS NOT NULL;
CREATE INDEX accounts_low_credits ON accounts (seq) WHERE low_credits_notified = 0;

-- last_used_at is to the minute. scope: 0 everything, 1 what changes nothing, 2 everything and administration. Those that work are counted when one is made,
-- and listed, without looking through all that ever were: api_keys_usable.
CREATE TABLE api_keys (
    seq          INTEGER PRIMARY KEY,
    id           BLOB NOT NULL UNIQUE,
    account      INTEGER NOT NULL,
    sha256       BLOB NOT NULL UNIQUE,
    prefix       TEXT NOT NULL,
    name         TEXT,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER,
    scope        INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX api_keys_by_account ON api_keys (account, seq);
CREATE INDEX api_keys_usable ON api_keys (account, coalesce(expires_at, 9223372036854775807)) WHERE revoked_at IS NULL;

CREATE TABLE models (
    seq  INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- Every pair of prices that requests were ever accepted at, per million tokens.
CREATE TABLE price_points (
    seq    INTEGER PRIMARY KEY,
    input  INTEGER NOT NULL,
    output INTEGER NOT NULL,
    UNIQUE (input, output)
);

-- max_tokens is the output limit that was held, which the engine is sent; the settings of now, where it is null. fifo_hit_permille is what engines' prefix
-- caches would hold of its prompt if requests were sent in order of arrival, in thousandths, estimated when it came; null where nothing is known.
-- endpoint: 0 a chat completion, 1 a completion, 2 embeddings. trace is 16 bytes of the trace and 8 of the span by which it came. alias is by which name the
-- client named the model, a row of models; null where it named the model itself.
CREATE TABLE requests (
    seq               INTEGER PRIMARY KEY,
    id                BLOB NOT NULL UNIQUE,
    account           INTEGER NOT NULL,
    model             INTEGER NOT NULL,
    created_at        INTEGER NOT NULL,
    expires_at        INTEGER NOT NULL,
    metadata          BLOB,
    webhook           TEXT,
    body              BLOB NOT NULL,
    max_tokens        INTEGER,
    fifo_hit_permille INTEGER,
    endpoint          INTEGER NOT NULL DEFAULT 0,
    trace             BLOB,
    alias             INTEGER
);

-- state: 0 gathering, 1 queued, 2 in progress, 3 completed, 4 failed, 5 cancelled. Live is < 3. That a request is in progress stands in the queue, where its lease
-- is written anyway; this row, which lies far from its neighbours in the order of the queue, learns of it when the request ends.
--
-- A lane is in which the end is told, from acceptance on; null where nobody is told. It is an account and one of its receivers' hosts, or some of very many:
-- 256 times the account's number, and a part of the host's digest. No price: the request costs nothing, whatever it uses. api_key is by which key the
-- request came, null where by none (the console, an operator).
--
-- Deadlines are never moved or taken out of their index: what looks for overdue requests remembers how far it has come.
CREATE TABLE request_states (
    seq            INTEGER PRIMARY KEY,
    account        INTEGER NOT NULL,
    model          INTEGER NOT NULL,
    state          INTEGER NOT NULL,
    batch          INTEGER,
    ready_at       INTEGER NOT NULL,
    deadline       INTEGER NOT NULL,
    in_progress_at INTEGER,
    ended_at       INTEGER,
    result_seq     INTEGER,
    cost           INTEGER NOT NULL,
    sort_key       BLOB NOT NULL,
    hold           INTEGER NOT NULL DEFAULT 0,
    price          INTEGER,
    lane           INTEGER,
    released_at    INTEGER,
    api_key        INTEGER
);
CREATE INDEX request_states_by_account ON request_states (account, seq);
CREATE INDEX request_states_by_batch ON request_states (batch, seq) WHERE batch IS NOT NULL;
CREATE INDEX request_states_gathering ON request_states (ready_at, seq) WHERE state = 0;
CREATE INDEX request_states_gathering_by_account ON request_states (account, deadline) WHERE state = 0;
CREATE INDEX request_states_by_deadline ON request_states (deadline);

-- phase: 0 waiting, 1 leased. What a lease, a settle and an end must know of a request stands here from its release on.
CREATE TABLE queue (
    model          INTEGER NOT NULL,
    account        INTEGER NOT NULL,
    sort_key       BLOB NOT NULL,
    seq            INTEGER NOT NULL,
    phase          INTEGER NOT NULL,
    deadline       INTEGER NOT NULL,
    cost           INTEGER NOT NULL,
    lease_epoch    INTEGER NOT NULL,
    node           INTEGER,
    attempts       INTEGER NOT NULL,
    retry_at       INTEGER NOT NULL,
    suspect        INTEGER NOT NULL,
    in_progress_at INTEGER,
    batch          INTEGER,
    hold           INTEGER NOT NULL DEFAULT 0,
    price          INTEGER,
    lane           INTEGER,
    PRIMARY KEY (model, account, sort_key, seq)
) WITHOUT ROWID;

-- warnings is what a completion shows of fields that its engine did not honour, as JSON; engine the replica that completed the request, or failed it last,
-- by its name in the settings.
CREATE TABLE results (
    seq               INTEGER PRIMARY KEY,
    request           INTEGER NOT NULL,
    prompt_tokens     INTEGER,
    completion_tokens INTEGER,
    body              BLOB NOT NULL,
    warnings          BLOB,
    engine            TEXT
);

-- What the requests of an account in a block of 1,024 row numbers have in common. mark: 0 some are live, or were until lately; 3 completed, 4 failed, 5 cancelled; from 16 on, when they were created,
-- in units of 16,384 ms since 1970, plus 16; below 0, the model that they name. Written with the first, deleted with the account's last request in the block.
CREATE TABLE request_blocks (
    account INTEGER NOT NULL,
    block   INTEGER NOT NULL,
    mark    INTEGER NOT NULL,
    PRIMARY KEY (account, block, mark)
) WITHOUT ROWID;
CREATE INDEX request_blocks_live ON request_blocks (account, block) WHERE mark = 0;

-- The attempts at a request that failed and count against it, for its owner to read; engine is for operators.
CREATE TABLE attempts (
    request  INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    status   INTEGER,
    message  TEXT NOT NULL,
    engine   TEXT,
    PRIMARY KEY (request, number)
) STRICT, WITHOUT ROWID;

-- Objects beside the database that hold bodies above a size. What stands in the place of such a body has the `name` of its object. A row is
-- committed before its object is put, and deleted after its object is.
--
-- state: 0 being put, 1 in use by a request, 2 in use no more, 3 being deleted. One in use is never deleted. What is not in use is deleted at
-- `delete_at`; null where that time is not set yet. `request` is null until it is in use. The bytes of an account's objects that are in use no more are
-- read before more of them are put: objects_unused_by_account.
CREATE TABLE objects (
    name       BLOB NOT NULL PRIMARY KEY,
    account    INTEGER NOT NULL,
    request    INTEGER,
    bytes      INTEGER NOT NULL,
    state      INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    delete_at  INTEGER
) WITHOUT ROWID;
CREATE INDEX objects_by_request ON objects (request) WHERE request IS NOT NULL;
CREATE INDEX objects_by_account ON objects (account);
CREATE INDEX objects_to_delete ON objects (delete_at) WHERE state <> 1;
CREATE INDEX objects_unused_by_account ON objects (account, state, bytes) WHERE state > 1;

-- deleted counts the requests that were deleted when their retention was over; the counters still count them. batches_live is for a count.
-- input_bytes, output_bytes and error_bytes are the lengths of the files that an ended batch is read as; null until one is asked for, and again
-- when a request is deleted. While grouping_at is set, not all of its requests are in it, and it is hidden: account is negative, as it is while the batch
-- is being deleted. 0: it is being taken apart.
CREATE TABLE batches (
    seq            INTEGER PRIMARY KEY,
    id             BLOB NOT NULL UNIQUE,
    account        INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    in_progress_at INTEGER,
    completed_at   INTEGER,
    cancelled_at   INTEGER,
    cancelling     INTEGER NOT NULL DEFAULT 0,
    registered     INTEGER NOT NULL,
    in_progress    INTEGER NOT NULL,
    completed      INTEGER NOT NULL,
    failed         INTEGER NOT NULL,
    cancelled      INTEGER NOT NULL,
    webhook        TEXT,
    metadata       BLOB,
    lane           INTEGER,
    deleted        INTEGER NOT NULL DEFAULT 0,
    input_bytes    INTEGER,
    output_bytes   INTEGER,
    error_bytes    INTEGER,
    grouping_at    INTEGER
);
CREATE INDEX batches_by_account ON batches (account, seq);
CREATE INDEX batches_cancelling ON batches (seq) WHERE cancelling = 1;
CREATE INDEX batches_live ON batches (account) WHERE completed_at IS NULL AND cancelled_at IS NULL;

-- The ids of a batch in the order they were sent, a few hundred to a row, 16 bytes each.
CREATE TABLE batch_members (
    batch INTEGER NOT NULL,
    place INTEGER NOT NULL,
    ids   BLOB NOT NULL,
    PRIMARY KEY (batch, place)
);

-- The order in which the requests of a batch ended: a row for each write that ended some, with their row numbers, 8 bytes each, the
-- first byte the highest. `ended` is how many had ended with it, so a row holds the places up to that one. A batch counts under
-- the lock of its row, so no place is given out before all earlier ones are committed. Requests that ended before they were in the batch, and lines that
-- were cancelled before they were requests, leave places free, which are filled when somebody reads them. 0 is a request that was deleted before.
CREATE TABLE batch_ends (
    batch    INTEGER NOT NULL,
    ended    INTEGER NOT NULL,
    requests BLOB NOT NULL,
    PRIMARY KEY (batch, ended)
) WITHOUT ROWID;

-- A batch whose requests come from a file. state: 0 being filled, 1 filled, or ended before that. Of its `lines` the first `filled` are
-- requests; the next one stands in `next_piece`, behind `next_line` others. Those that are no requests yet are counted as registered in
-- their batch. `filler_at` is when a process last worked on it. `deleted_outputs` is 1 for the output file, 2 for the error file, 3 for both.
CREATE TABLE batch_inputs (
    batch           INTEGER PRIMARY KEY,
    account         INTEGER NOT NULL,
    state           INTEGER NOT NULL,
    file            INTEGER NOT NULL,
    file_id         BLOB NOT NULL,
    endpoint        TEXT NOT NULL,
    lines           INTEGER NOT NULL,
    filled          INTEGER NOT NULL,
    next_piece      INTEGER NOT NULL,
    next_line       INTEGER NOT NULL,
    filler_at       INTEGER NOT NULL,
    fault_count     INTEGER NOT NULL,
    faults          BLOB,
    deleted_outputs INTEGER NOT NULL,
    api_key         INTEGER
);
CREATE INDEX batch_inputs_filling ON batch_inputs (account, batch) WHERE state = 0;
CREATE INDEX batch_inputs_by_file ON batch_inputs (file) WHERE state = 0;

-- Files that clients upload. A file of batch lines is checked while it comes; batches take their requests from it, some at a time. A part of an upload is a
-- file that comes, never a file of its own: it is given up with its upload, or when it has become a part of the file.
--
-- state: 0 coming, 1 ready, 2 deleted: its pieces are deleted some at a time. `expires_at` is when the file is deleted, if ever; that of a coming one
-- moves while it comes. `endpoint` is the one that all of its lines name, `hold` the most that they may cost, `faults` a JSON array of what is wrong with
-- the first bad lines, of which there are `fault_count`. `upload` is, of a whole part, its upload.
CREATE TABLE files (
    seq         INTEGER PRIMARY KEY,
    id          BLOB NOT NULL UNIQUE,
    account     INTEGER NOT NULL,
    state       INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    bytes       INTEGER NOT NULL,
    name        TEXT NOT NULL,
    endpoint    TEXT,
    lines       INTEGER NOT NULL,
    hold        INTEGER NOT NULL,
    fault_count INTEGER NOT NULL,
    faults      BLOB,
    upload      INTEGER
);
CREATE INDEX files_by_account ON files (account, seq);
CREATE INDEX files_by_expiry ON files (expires_at) WHERE expires_at IS NOT NULL AND state < 2;
CREATE INDEX files_deleted ON files (seq) WHERE state = 2;
CREATE INDEX files_by_upload ON files (upload, seq) WHERE upload IS NOT NULL;

-- What a file holds, in pieces of whole lines. bytes is how long the content is, where that is not the length of what is stored.
CREATE TABLE file_pieces (
    file    INTEGER NOT NULL,
    place   INTEGER NOT NULL,
    content BLOB NOT NULL,
    bytes   INTEGER,
    PRIMARY KEY (file, place)
);

-- Files that come in parts. state: 0 pending, 1 completed, 2 cancelled; one that is pending at `expires_at` has expired. `bytes` is how long the file is to
-- be, `file_lasts_ms` how long it is kept, if not for good. A completed upload has the identifier of its `file`, and in `digest` the SHA-256 of what it was
-- completed with. Rows are deleted a day after their creation.
CREATE TABLE uploads (
    seq           INTEGER PRIMARY KEY,
    id            BLOB NOT NULL UNIQUE,
    account       INTEGER NOT NULL,
    state         INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    bytes         INTEGER NOT NULL,
    name          TEXT NOT NULL,
    file_lasts_ms INTEGER,
    file          BLOB,
    digest        BLOB
);
CREATE INDEX uploads_pending ON uploads (account, expires_at) WHERE state = 0;
CREATE INDEX uploads_by_age ON uploads (created_at);
CREATE INDEX uploads_by_account ON uploads (account, seq);

-- Append-only. kind: 0 grant, 1 top-up, 2 charge, 3 refund, 4 dispute. A charge is told by its result, which it has to
-- itself, and names its request by its id; anything else by its source.
CREATE TABLE ledger (
    seq        INTEGER PRIMARY KEY,
    account    INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    amount     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    source     TEXT,
    request    BLOB,
    result     INTEGER,
    model      INTEGER
);
CREATE INDEX ledger_by_account ON ledger (account, seq);
CREATE UNIQUE INDEX ledger_by_source ON ledger (kind, source) WHERE source IS NOT NULL;
CREATE UNIQUE INDEX ledger_by_result ON ledger (result) WHERE result IS NOT NULL;

-- What completed, by day (since 1970, UTC) and model.
CREATE TABLE spend (
    account           INTEGER NOT NULL,
    day               INTEGER NOT NULL,
    model             INTEGER NOT NULL,
    requests          INTEGER NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    amount            INTEGER NOT NULL,
    PRIMARY KEY (account, day, model)
) WITHOUT ROWID;

-- The part of spend that came by an API key.
CREATE TABLE spend_by_key (
    account           INTEGER NOT NULL,
    day               INTEGER NOT NULL,
    model             INTEGER NOT NULL,
    api_key           INTEGER NOT NULL,
    requests          INTEGER NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    amount            INTEGER NOT NULL,
    PRIMARY KEY (account, day, model, api_key)
) WITHOUT ROWID;

-- Orders of credits. amount is in the smallest unit of its currency; session is the provider's name of the page at which it is paid, reference that of the
-- payment, once there is one; check_at when the provider is next asked whether it was paid, null where it is not asked again.
CREATE TABLE payments (
    seq        INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    account    INTEGER NOT NULL,
    provider   TEXT NOT NULL,
    credits    INTEGER NOT NULL,
    amount     INTEGER NOT NULL,
    currency   TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    session    TEXT,
    paid_at    INTEGER,
    reference  TEXT UNIQUE,
    check_at   INTEGER
);
CREATE INDEX payments_by_account ON payments (account, seq);
CREATE INDEX payments_to_check ON payments (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX payments_to_check_by_account ON payments (account) WHERE check_at IS NOT NULL;

-- The outbox. An event is written in the transaction that ended its request or batch, and is delivered or given up later.
--
-- kind: 0 request.completed, 1 request.failed, 2 request.cancelled, 3 batch.completed, 4 batch.cancelled, 5 webhook.test, 6 account.low_credits; the last two are of
-- no request or batch. state: 0 live, 1 delivered, 2 exhausted. A live event waits for due_at, or is being sent by its node since claimed_at. number
-- counts its tries, failures those in a row that the schedule counts; after tries_max of them it is given up, or after as many as the schedule has where
-- that is null. Where it leads and what is sent stand from the first try on.
CREATE TABLE events (
    seq        INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    account    INTEGER NOT NULL,
    lane       INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    request    INTEGER,
    batch      INTEGER,
    created_at INTEGER NOT NULL,
    state      INTEGER NOT NULL DEFAULT 0,
    due_at     INTEGER,
    node       INTEGER,
    claimed_at INTEGER,
    ended_at   INTEGER,
    number     INTEGER NOT NULL DEFAULT 0,
    failures   INTEGER NOT NULL DEFAULT 0,
    url        TEXT,
    payload    BLOB,
    tries_max  INTEGER
);
CREATE INDEX events_by_account ON events (account, seq);
CREATE INDEX events_due ON events (lane, due_at, seq) WHERE due_at IS NOT NULL;
CREATE INDEX events_sending ON events (node) WHERE node IS NOT NULL;
CREATE UNIQUE INDEX events_by_request ON events (request) WHERE request IS NOT NULL;
CREATE UNIQUE INDEX events_by_batch ON events (batch) WHERE batch IS NOT NULL;
CREATE INDEX events_tests ON events (account, seq) WHERE kind = 5;
CREATE INDEX events_exhausted ON events (account, seq) WHERE state = 2;

-- One row a try. status is what the receiver answered; failure, why there was no answer.
CREATE TABLE deliveries (
    event       INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    duration_ms INTEGER,
    status      INTEGER,
    failure     TEXT,
    PRIMARY KEY (event, number)
) WITHOUT ROWID;
CREATE INDEX deliveries_by_account ON deliveries (account, started_at, event, number);

-- What an account's webhooks are signed with; while one replaces another, both are.
CREATE TABLE webhook_secrets (
    seq        INTEGER PRIMARY KEY,
    account    INTEGER NOT NULL,
    secret     BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER
);
CREATE INDEX webhook_secrets_by_account ON webhook_secrets (account, seq);

-- Who signs in to the console. email is in small letters; password an Argon2id hash in PHC form; issuer and subject, by which an OpenID
-- provider knows the user. Any of them may be missing.
CREATE TABLE users (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    id           BLOB NOT NULL UNIQUE,
    email        TEXT UNIQUE,
    password     TEXT,
    issuer       TEXT,
    subject      TEXT,
    is_operator  INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    signed_in_at INTEGER
);
CREATE UNIQUE INDEX users_by_subject ON users (issuer, subject) WHERE subject IS NOT NULL;

-- role: 0 viewer, 1 developer, 2 owner.
CREATE TABLE members (
    account    INTEGER NOT NULL,
    user_seq   INTEGER NOT NULL,
    role       INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account, user_seq)
) WITHOUT ROWID;
CREATE INDEX members_by_user ON members (user_seq, account);

-- Who may become a member of what: known by the SHA-256 of a link's token, and deleted when somebody has. email is what whoever
-- invites calls them; invited_by is users.seq of the inviter, and null for an operator at the command line.
CREATE TABLE invitations (
    account    INTEGER NOT NULL,
    email      TEXT NOT NULL,
    sha256     BLOB NOT NULL UNIQUE,
    role       INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    invited_by INTEGER,
    PRIMARY KEY (account, email)
) WITHOUT ROWID;
CREATE INDEX invitations_by_inviter ON invitations (invited_by) WHERE invited_by IS NOT NULL;

-- Known by the SHA-256 of what the browser holds. expires_at is its absolute end.
CREATE TABLE sessions (
    sha256     BLOB PRIMARY KEY,
    user_seq   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    is_by_link INTEGER NOT NULL,
    agent      TEXT
) WITHOUT ROWID;
CREATE INDEX sessions_by_user ON sessions (user_seq);

-- Links that sign a user in once: known by the SHA-256 of their token, and deleted when they are used.
CREATE TABLE sign_in_links (
    sha256     BLOB PRIMARY KEY,
    user_seq   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sign_in_links_by_user ON sign_in_links (user_seq);

-- Failed sign-ins in a row, by the SHA-256 of an e-mail address or of where they came from.
CREATE TABLE sign_in_failures (
    subject  BLOB PRIMARY KEY,
    failures INTEGER NOT NULL,
    last_at  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sign_in_failures_by_age ON sign_in_failures (last_at);

-- What ended, by quarter of an hour (since 1970), and of it what ended in its first and in its second five minutes; the rest ended in the third. tokens are
-- those of prompts and completions together.
CREATE TABLE activity (
    account           INTEGER NOT NULL,
    quarter           INTEGER NOT NULL,
    completed         INTEGER NOT NULL,
    failed            INTEGER NOT NULL,
    cancelled         INTEGER NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    amount            INTEGER NOT NULL,
    completed_1       INTEGER NOT NULL DEFAULT 0,
    failed_1          INTEGER NOT NULL DEFAULT 0,
    cancelled_1       INTEGER NOT NULL DEFAULT 0,
    tokens_1          INTEGER NOT NULL DEFAULT 0,
    amount_1          INTEGER NOT NULL DEFAULT 0,
    completed_2       INTEGER NOT NULL DEFAULT 0,
    failed_2          INTEGER NOT NULL DEFAULT 0,
    cancelled_2       INTEGER NOT NULL DEFAULT 0,
    tokens_2          INTEGER NOT NULL DEFAULT 0,
    amount_2          INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account, quarter)
) WITHOUT ROWID;

-- What calls with an Idempotency-Key were answered, written with what they did. `key` is the SHA-256 of the method, the path, the
-- key that was sent and, in bulk, the number of the line; `digest` that of what was sent. `bytes` is what the row counts among the stored bytes of its
-- account: null for calls that other bounds limit. Rows are deleted after 48 hours.
CREATE TABLE idempotency_keys (
    account    INTEGER NOT NULL,
    key        BLOB NOT NULL,
    digest     BLOB NOT NULL,
    response   BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    bytes      INTEGER,
    PRIMARY KEY (account, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- Changes of who may do what, of money and of settings of accounts, each written with the change: who, when, from where.
CREATE TABLE audit_log (
    seq         INTEGER PRIMARY KEY,
    created_at  INTEGER NOT NULL,
    actor_kind  INTEGER NOT NULL,
    actor_id    TEXT,
    actor_name  TEXT,
    is_operator INTEGER NOT NULL,
    account     INTEGER,
    action      TEXT NOT NULL,
    target_type TEXT NOT NULL,
    target_id   TEXT,
    details     TEXT,
    address     TEXT
);
CREATE INDEX audit_log_by_time ON audit_log (created_at, seq);
CREATE INDEX audit_log_by_action ON audit_log (action, created_at, seq);
CREATE INDEX audit_log_by_account ON audit_log (account, created_at, seq) WHERE account IS NOT NULL;
CREATE INDEX audit_log_by_account_and_action ON audit_log (account, action, created_at, seq) WHERE account IS NOT NULL;
CREATE INDEX audit_log_by_actor ON audit_log (actor_id, created_at) WHERE actor_id IS NOT NULL;

-- A process that leases; its heartbeat renews all its leases. schedules: whether it drives engines.
CREATE TABLE nodes (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    heartbeat_at INTEGER NOT NULL,
    name         TEXT NOT NULL DEFAULT '',
    schedules    INTEGER NOT NULL DEFAULT 1
);

-- The last group of writes that a process committed: what tells of a commit whose answer was lost.
CREATE TABLE commit_markers (
    node   INTEGER PRIMARY KEY,
    number INTEGER NOT NULL
);

-- Which process could drive which engine replica.
CREATE TABLE node_replicas (
    node INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (node, name)
) WITHOUT ROWID;

-- Which process drives which engine replica.
CREATE TABLE replicas (
    name     TEXT PRIMARY KEY,
    node     INTEGER,
    taken_at INTEGER NOT NULL
) WITHOUT ROWID;

-- The order of a queue partition is cut into segments, of which each engine replica sweeps its own. On SQLite there is one node, which needs no rows
-- for that.
CREATE TABLE segments (
    model      INTEGER NOT NULL,
    account    INTEGER NOT NULL,
    begin_key  BLOB NOT NULL,
    begin_seq  INTEGER NOT NULL,
    cursor_key BLOB NOT NULL,
    cursor_seq INTEGER NOT NULL,
    node       INTEGER NOT NULL,
    replica    INTEGER NOT NULL,
    scanned_at INTEGER NOT NULL,
    PRIMARY KEY (model, account, begin_key, begin_seq)
) WITHOUT ROWID;

-- What each process last said of the engine replicas that it has in its settings. models are names, one a line; models_out are those of which an engine is
-- sent nothing, prefix_cache what is known of its prefix cache, process how the process is that the service starts and stops, each as JSON.
CREATE TABLE engine_reports (
    node              INTEGER NOT NULL,
    name              TEXT NOT NULL,
    reported_at       INTEGER NOT NULL,
    models            TEXT NOT NULL,
    is_driven         INTEGER NOT NULL,
    in_flight         INTEGER NOT NULL,
    max_concurrency   INTEGER NOT NULL,
    paused_until      INTEGER,
    reason            TEXT,
    tokens_per_second INTEGER,
    cache_hit_percent INTEGER,
    models_out        TEXT,
    prefix_cache      TEXT,
    process           TEXT,
    PRIMARY KEY (node, name)
) WITHOUT ROWID;

-- What engines with a daily budget were sent, by the day in UTC: its number since the Unix epoch, and the engine's name in the
-- settings. Nodes add to it about once a second while they send, and read it before they send anything on a day.
CREATE TABLE engine_days (
    day      INTEGER NOT NULL,
    name     TEXT NOT NULL,
    requests INTEGER NOT NULL,
    tokens   INTEGER NOT NULL,
    PRIMARY KEY (day, name)
) WITHOUT ROWID;

-- The visible state of each request: until a request ends, its queue row holds in_progress_at. The first column of the join is
-- null for any other request, which ends the search before it begins.
CREATE VIEW current_states AS
SELECT rs.seq, rs.account, rs.model, rs.batch, rs.sort_key,
       CASE WHEN q.in_progress_at IS NULL THEN rs.state ELSE 2 /* in progress */ END AS state,
       rs.ready_at, coalesce(rs.in_progress_at, q.in_progress_at) AS in_progress_at, rs.ended_at, rs.deadline, rs.result_seq, rs.state AS stored_state
FROM request_states rs
LEFT JOIN queue q ON q.model = CASE rs.state WHEN 1 /* queued */ THEN rs.model END
                 AND q.account = rs.account AND q.sort_key = rs.sort_key AND q.seq = rs.seq;

-- bytes is the size of a request with its result. result and the columns after it, up to warnings, are null until the request has ended.
CREATE VIEW current_requests AS
SELECT s.seq, s.account, s.model, s.batch, s.sort_key, s.state, s.ready_at, s.in_progress_at, s.ended_at,
       r.id, r.created_at, r.expires_at, r.metadata, r.webhook, r.body, CASE WHEN b.grouping_at IS NULL THEN b.id END AS batch_id,
       (SELECT m.name FROM models m WHERE m.seq = coalesce(r.alias, s.model)) AS model_name,
       CAST(octet_length(r.body) AS BIGINT) AS body_bytes,
       CAST(octet_length(r.body) + coalesce(octet_length(r.metadata), 0) + coalesce(octet_length(t.body), 0) AS BIGINT) AS bytes,
       t.body AS result, t.prompt_tokens, t.completion_tokens, -l.amount AS charged, t.warnings, r.endpoint,
       coalesce(r.alias, s.model) AS named_model, s.stored_state
FROM current_states s
JOIN requests r ON r.seq = s.seq
LEFT JOIN batches b ON b.seq = s.batch
LEFT JOIN results t ON t.seq = s.result_seq
LEFT JOIN ledger l ON l.result = s.result_seq AND l.result IS NOT NULL;

-- For people with a SQL prompt: views with identifiers as the API writes them, states as words, times as UTC text and credits as numbers.
-- The views hold no bodies, metadata, URLs, messages of engines, keys or secrets. The service reads none of them. A later migration may
-- replace or drop any of them (CONTRIBUTING.md says how).
--
-- An identifier is a prefix and 26 digits of 5 bits, of which the first two bits are 0: a digit lies within two hexadecimal ones. Where a body is an
-- object, its place holds the object's name, from the 17th byte on.

CREATE VIEW overnight_accounts AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'acct_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(a.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(a.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND a.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.name, strftime('%Y-%m-%d %H:%M:%f', a.created_at / 1000.0, 'unixepoch') AS created_at,
       a.balance / 1e9 AS balance, a.held / 1e9 AS held, (a.balance - a.held) / 1e9 AS available,
       strftime('%Y-%m-%d %H:%M:%f', a.payments_activated_at / 1000.0, 'unixepoch') AS payments_activated_at, a.live_requests, a.stored_bytes,
       a.live_requests_quota, a.stored_bytes_quota, a.requests_per_second_quota, a.tokens_per_day_quota, a.id AS id_bytes, a.seq,
       strftime('%Y-%m-%d %H:%M:%f', a.suspended_at / 1000.0, 'unixepoch') AS suspended_at, a.retention_ms,
       strftime('%Y-%m-%d %H:%M:%f', a.closed_at / 1000.0, 'unixepoch') AS closed_at,
       strftime('%Y-%m-%d %H:%M:%f', a.erase_at / 1000.0, 'unixepoch') AS erase_at,
       strftime('%Y-%m-%d %H:%M:%f', a.erased_at / 1000.0, 'unixepoch') AS erased_at,
       a.monthly_credits / 1e9 AS monthly_credits, a.low_credits_threshold / 1e9 AS low_credits_threshold,
       CASE a.low_credits_notified WHEN 0 THEN 'to be told' WHEN 1 THEN 'told' END AS low_credits,
       strftime('%Y-%m-%d %H:%M:%f', a.low_credits_notified_at / 1000.0, 'unixepoch') AS low_credits_notified_at
FROM accounts a;

CREATE VIEW overnight_batches AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'batch_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(b.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(b.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND b.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name,
       CASE WHEN b.cancelled_at IS NOT NULL THEN 'cancelled' WHEN b.completed_at IS NOT NULL THEN 'completed'
            WHEN b.in_progress_at IS NOT NULL THEN 'in progress' ELSE 'registered' END AS status,
       strftime('%Y-%m-%d %H:%M:%f', b.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', b.in_progress_at / 1000.0, 'unixepoch') AS in_progress_at,
       strftime('%Y-%m-%d %H:%M:%f', b.completed_at / 1000.0, 'unixepoch') AS completed_at,
       strftime('%Y-%m-%d %H:%M:%f', b.cancelled_at / 1000.0, 'unixepoch') AS cancelled_at,
       b.registered, b.in_progress, b.completed, b.failed, b.cancelled, b.deleted,
       (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'file_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(i.file_id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(i.file_id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND i.file_id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS file,
       i.lines AS file_lines, i.filled AS file_lines_filled, i.fault_count AS file_faults,
       b.id AS id_bytes, b.seq
FROM batches b
JOIN overnight_accounts a ON a.seq = b.account
LEFT JOIN batch_inputs i ON i.batch = b.seq;

CREATE VIEW overnight_requests AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'req_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND r.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name,
       (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'batch_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(b.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(b.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND b.id IS NOT NULL AND b.grouping_at IS NULL) SELECT text FROM spelled WHERE place = 26) AS batch,
       m.name AS model,
       CASE r.endpoint WHEN 0 THEN '/v1/chat/completions' WHEN 1 THEN '/v1/completions' WHEN 2 THEN '/v1/embeddings' END AS endpoint,
       CASE s.state WHEN 0 THEN 'registered' WHEN 1 THEN 'registered' WHEN 2 THEN 'in progress' WHEN 3 THEN 'completed'
                    WHEN 4 THEN 'failed' WHEN 5 THEN 'cancelled' END AS status,
       CASE s.state WHEN 0 THEN 'gathering' WHEN 1 THEN 'queued' WHEN 2 THEN 'in progress' WHEN 3 THEN 'completed'
                    WHEN 4 THEN 'failed' WHEN 5 THEN 'cancelled' END AS state,
       strftime('%Y-%m-%d %H:%M:%f', r.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', s.deadline / 1000.0, 'unixepoch') AS expires_at,
       strftime('%Y-%m-%d %H:%M:%f', rs.released_at / 1000.0, 'unixepoch') AS released_at,
       strftime('%Y-%m-%d %H:%M:%f', s.in_progress_at / 1000.0, 'unixepoch') AS in_progress_at,
       strftime('%Y-%m-%d %H:%M:%f', s.ended_at / 1000.0, 'unixepoch') AS ended_at,
       (SELECT count(*) FROM attempts t WHERE t.request = r.seq) AS failed_attempts,
       t.engine, t.prompt_tokens, t.completion_tokens, -l.amount / 1e9 AS charged, rs.hold / 1e9 AS held,
       coalesce(CASE WHEN length(r.body) = 72 THEN (SELECT CAST(o.bytes AS INTEGER) FROM objects o WHERE o.name = substr(r.body, 17, 16)) END,
           length(r.body)) AS body_bytes,
       coalesce(CASE WHEN length(t.body) = 72 THEN (SELECT CAST(o.bytes AS INTEGER) FROM objects o WHERE o.name = substr(t.body, 17, 16)) END,
           length(t.body)) AS result_bytes, r.id AS id_bytes, r.seq
FROM current_states s
JOIN request_states rs ON rs.seq = s.seq
JOIN requests r ON r.seq = s.seq
JOIN overnight_accounts a ON a.seq = r.account
JOIN models m ON m.seq = r.model
LEFT JOIN batches b ON b.seq = s.batch
LEFT JOIN results t ON t.seq = s.result_seq
LEFT JOIN ledger l ON l.result = s.result_seq AND l.result IS NOT NULL;

CREATE VIEW overnight_queue AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'req_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND r.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name, m.name AS model,
       CASE WHEN q.phase = 1 THEN 'leased' WHEN q.in_progress_at IS NULL THEN 'waiting' ELSE 'waiting again' END AS state,
       n.name AS node,
       strftime('%Y-%m-%d %H:%M:%f', q.deadline / 1000.0, 'unixepoch') AS expires_at,
       strftime('%Y-%m-%d %H:%M:%f', q.in_progress_at / 1000.0, 'unixepoch') AS in_progress_at,
       q.attempts AS failed_attempts, CASE WHEN q.retry_at > 0 THEN strftime('%Y-%m-%d %H:%M:%f', q.retry_at / 1000.0, 'unixepoch') END AS retry_at,
       q.suspect > 0 AS is_suspect, q.seq
FROM queue q
JOIN requests r ON r.seq = q.seq
JOIN overnight_accounts a ON a.seq = q.account
JOIN models m ON m.seq = q.model
LEFT JOIN nodes n ON n.seq = q.node;

CREATE VIEW overnight_attempts AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'req_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND r.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS request,
       a.id AS account, a.name AS account_name, m.name AS model,
       t.number, strftime('%Y-%m-%d %H:%M:%f', t.ended_at / 1000.0, 'unixepoch') AS ended_at, t.status AS http_status, t.engine
FROM attempts t
JOIN requests r ON r.seq = t.request
JOIN overnight_accounts a ON a.seq = r.account
JOIN models m ON m.seq = r.model;

CREATE VIEW overnight_objects AS
SELECT a.id AS account, a.name AS account_name,
       CASE o.state WHEN 0 THEN 'being put' WHEN 1 THEN 'in use' WHEN 2 THEN 'in use no more' WHEN 3 THEN 'being deleted' END AS state,
       o.objects, o.bytes, strftime('%Y-%m-%d %H:%M:%f', o.created_at / 1000.0, 'unixepoch') AS oldest_created_at,
       strftime('%Y-%m-%d %H:%M:%f', o.next_deleted_at / 1000.0, 'unixepoch') AS next_deleted_at, strftime('%Y-%m-%d %H:%M:%f', o.last_deleted_at / 1000.0, 'unixepoch') AS last_deleted_at
FROM (SELECT account, state, count(*) AS objects, sum(bytes) AS bytes, min(created_at) AS created_at, min(delete_at) AS next_deleted_at,
             max(delete_at) AS last_deleted_at FROM objects GROUP BY account, state) o
JOIN overnight_accounts a ON a.seq = o.account;

CREATE VIEW overnight_files AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'file_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(f.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(f.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND f.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name,
       CASE f.state WHEN 0 THEN 'coming' WHEN 1 THEN 'ready' WHEN 2 THEN 'deleted' END AS state,
       strftime('%Y-%m-%d %H:%M:%f', f.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', f.expires_at / 1000.0, 'unixepoch') AS expires_at,
       f.bytes, f.endpoint, f.lines, f.fault_count AS faults, f.id AS id_bytes, f.seq
FROM files f
JOIN overnight_accounts a ON a.seq = f.account;

CREATE VIEW overnight_api_keys AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'key_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(k.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(k.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND k.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name, k.name,
       strftime('%Y-%m-%d %H:%M:%f', k.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', k.expires_at / 1000.0, 'unixepoch') AS expires_at,
       strftime('%Y-%m-%d %H:%M:%f', k.revoked_at / 1000.0, 'unixepoch') AS revoked_at,
       strftime('%Y-%m-%d %H:%M:%f', k.last_used_at / 1000.0, 'unixepoch') AS last_used_at,
       CASE k.scope WHEN 0 THEN 'write' WHEN 1 THEN 'read' WHEN 2 THEN 'admin' END AS scope
FROM api_keys k
JOIN overnight_accounts a ON a.seq = k.account;

CREATE VIEW overnight_users AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'usr_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(u.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(u.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND u.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       u.email, u.is_operator = 1 AS is_operator,
       strftime('%Y-%m-%d %H:%M:%f', u.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', u.signed_in_at / 1000.0, 'unixepoch') AS signed_in_at
FROM users u;

CREATE VIEW overnight_members AS
SELECT a.id AS account, a.name AS account_name,
       (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'usr_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(u.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(u.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND u.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS user_id,
       u.email,
       CASE m.role WHEN 0 THEN 'viewer' WHEN 1 THEN 'developer' WHEN 2 THEN 'owner' END AS role,
       strftime('%Y-%m-%d %H:%M:%f', m.created_at / 1000.0, 'unixepoch') AS created_at
FROM members m
JOIN overnight_accounts a ON a.seq = m.account
JOIN users u ON u.seq = m.user_seq;

CREATE VIEW overnight_ledger AS
SELECT a.id AS account, a.name AS account_name,
       CASE l.kind WHEN 0 THEN 'grant' WHEN 1 THEN 'top_up' WHEN 2 THEN 'charge' WHEN 3 THEN 'refund' WHEN 4 THEN 'dispute' END AS kind,
       l.amount / 1e9 AS amount,
       strftime('%Y-%m-%d %H:%M:%f', l.created_at / 1000.0, 'unixepoch') AS created_at, l.source,
       (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'req_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(l.request), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(l.request), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND l.request IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS request,
       m.name AS model, l.seq
FROM ledger l
JOIN overnight_accounts a ON a.seq = l.account
LEFT JOIN models m ON m.seq = l.model;

CREATE VIEW overnight_spend AS
SELECT a.id AS account, a.name AS account_name, date(s.day * 86400, 'unixepoch') AS day, m.name AS model,
       s.requests, s.prompt_tokens, s.completion_tokens, s.amount / 1e9 AS amount
FROM spend s
JOIN overnight_accounts a ON a.seq = s.account
JOIN models m ON m.seq = s.model;

-- The key is null in the row of what came by none.
CREATE VIEW overnight_spend_by_key AS
SELECT a.id AS account, a.name AS account_name, date(s.day * 86400, 'unixepoch') AS day, m.name AS model,
       (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'key_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(k.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(k.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND k.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS api_key, k.name AS api_key_name,
       s.requests, s.prompt_tokens, s.completion_tokens, s.amount / 1e9 AS amount
FROM (
    SELECT account, day, model, nullif(api_key, 0) AS api_key, sum(requests) AS requests, sum(prompt_tokens) AS prompt_tokens,
           sum(completion_tokens) AS completion_tokens, sum(amount) AS amount
    FROM (
        SELECT account, day, model, 0 AS api_key, requests, prompt_tokens, completion_tokens, amount FROM spend
        UNION ALL SELECT account, day, model, 0, -requests, -prompt_tokens, -completion_tokens, -amount FROM spend_by_key
        UNION ALL SELECT account, day, model, api_key, requests, prompt_tokens, completion_tokens, amount FROM spend_by_key
    ) e GROUP BY account, day, model, api_key HAVING sum(requests) <> 0
) s
JOIN overnight_accounts a ON a.seq = s.account
JOIN models m ON m.seq = s.model
LEFT JOIN api_keys k ON k.seq = s.api_key;

CREATE VIEW overnight_payments AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'pay_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(p.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(p.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND p.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name, p.provider,
       p.credits / 1e9 AS credits, p.amount, p.currency, strftime('%Y-%m-%d %H:%M:%f', p.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', p.paid_at / 1000.0, 'unixepoch') AS paid_at,
       strftime('%Y-%m-%d %H:%M:%f', p.check_at / 1000.0, 'unixepoch') AS check_at, p.reference
FROM payments p
JOIN overnight_accounts a ON a.seq = p.account;

CREATE VIEW overnight_webhook_events AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'evt_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(e.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(e.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND e.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS id,
       a.id AS account, a.name AS account_name,
       CASE e.kind WHEN 0 THEN 'request.completed' WHEN 1 THEN 'request.failed' WHEN 2 THEN 'request.cancelled'
                   WHEN 3 THEN 'batch.completed' WHEN 4 THEN 'batch.cancelled' WHEN 5 THEN 'webhook.test'
                   WHEN 6 THEN 'account.low_credits' END AS type,
       coalesce((WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'req_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(r.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND r.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26),
       (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'batch_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(b.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(b.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND b.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26)) AS subject,
       CASE e.state WHEN 0 THEN 'pending' WHEN 1 THEN 'delivered' WHEN 2 THEN 'exhausted' END AS state,
       strftime('%Y-%m-%d %H:%M:%f', e.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', e.due_at / 1000.0, 'unixepoch') AS due_at,
       CASE WHEN e.node IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', e.claimed_at / 1000.0, 'unixepoch') END AS sending_since,
       strftime('%Y-%m-%d %H:%M:%f', e.ended_at / 1000.0, 'unixepoch') AS ended_at, e.number AS attempts,
       substr(e.authority, instr(e.authority, '@') + 1) AS host,
       d.status AS last_http_status, d.failure AS last_failure, e.id AS id_bytes, e.seq
FROM (SELECT *, substr(path, 1, instr(path, '/') - 1) AS authority FROM (
          SELECT *, replace(replace(substr(url, instr(url, '://') + 3), '?', '/'), '#', '/') || '/' AS path FROM events)) e
JOIN overnight_accounts a ON a.seq = e.account
LEFT JOIN requests r ON r.seq = e.request
LEFT JOIN batches b ON b.seq = e.batch
LEFT JOIN deliveries d ON d.event = e.seq AND d.number = CASE WHEN e.node IS NULL THEN e.number ELSE e.number - 1 END;

CREATE VIEW overnight_webhook_attempts AS
SELECT (WITH RECURSIVE spelled(place, text) AS (SELECT 0, 'evt_' UNION ALL SELECT place + 1, text ||
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((16 * instr('123456789ABCDEF', substr('0' || hex(e.id), (5 * place + 6) / 4, 1))
            + instr('123456789ABCDEF', substr('0' || hex(e.id), (5 * place + 10) / 4, 1))) >> (3 - (5 * place + 2) % 4) & 31), 1)
        FROM spelled WHERE place < 26 AND e.id IS NOT NULL) SELECT text FROM spelled WHERE place = 26) AS event,
       a.id AS account, a.name AS account_name, d.number,
       strftime('%Y-%m-%d %H:%M:%f', d.started_at / 1000.0, 'unixepoch') AS started_at, d.duration_ms, d.status AS http_status, d.failure
FROM deliveries d
JOIN events e ON e.seq = d.event
JOIN overnight_accounts a ON a.seq = d.account;

CREATE VIEW overnight_audit_log AS
SELECT strftime('%Y-%m-%d %H:%M:%f', l.created_at / 1000.0, 'unixepoch') AS created_at,
       CASE l.actor_kind WHEN 0 THEN 'service' WHEN 1 THEN 'operator' WHEN 2 THEN 'user' WHEN 3 THEN 'api_key' END AS actor_kind,
       l.actor_id, l.actor_name, l.is_operator = 1 AS is_operator, a.id AS account, a.name AS account_name, l.action, l.target_type, l.target_id, l.details, l.address, l.seq
FROM audit_log l
LEFT JOIN overnight_accounts a ON a.seq = l.account;

CREATE VIEW overnight_nodes AS
SELECT n.seq AS number, n.name, strftime('%Y-%m-%d %H:%M:%f', n.heartbeat_at / 1000.0, 'unixepoch') AS heartbeat_at, n.schedules = 1 AS is_scheduler,
       (SELECT count(*) FROM queue q WHERE q.node = n.seq) AS leased_requests
FROM nodes n;

CREATE VIEW overnight_engines AS
SELECT e.name, n.name AS node,
       strftime('%Y-%m-%d %H:%M:%f', e.reported_at / 1000.0, 'unixepoch') AS reported_at, replace(e.models, char(10), ', ') AS models,
       e.is_driven = 1 AS is_driven, e.in_flight, e.max_concurrency,
       CASE WHEN e.reason IS NOT NULL THEN 'paused' WHEN e.paused_until IS NOT NULL THEN 'outside its hours' ELSE 'open' END AS state,
       strftime('%Y-%m-%d %H:%M:%f', e.paused_until / 1000.0, 'unixepoch') AS paused_until, e.tokens_per_second, e.cache_hit_percent
FROM engine_reports e
LEFT JOIN nodes n ON n.seq = e.node;
