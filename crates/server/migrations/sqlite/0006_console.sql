-- Who signs in to the console, and what it shows.

-- Who signs in. email is in small letters; password an Argon2id hash in PHC form; issuer and subject, by which an OpenID
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

-- Who may become a member of what: known by the SHA-256 of a link's token, and deleted when somebody has. email is what whoever
-- invites calls them.
CREATE TABLE invitations (
    account    INTEGER NOT NULL,
    email      TEXT NOT NULL,
    sha256     BLOB NOT NULL UNIQUE,
    role       INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (account, email)
) WITHOUT ROWID;

-- Failed sign-ins in a row, by the SHA-256 of an e-mail address or of where they came from.
CREATE TABLE sign_in_failures (
    subject  BLOB PRIMARY KEY,
    failures INTEGER NOT NULL,
    last_at  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sign_in_failures_by_age ON sign_in_failures (last_at);

-- What ended, by quarter of an hour (since 1970).
CREATE TABLE activity (
    account           INTEGER NOT NULL,
    quarter           INTEGER NOT NULL,
    completed         INTEGER NOT NULL,
    failed            INTEGER NOT NULL,
    cancelled         INTEGER NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    amount            INTEGER NOT NULL,
    PRIMARY KEY (account, quarter)
) WITHOUT ROWID;

-- What each process last said of the engine replicas that it has in its settings. models are names, one a line.
CREATE TABLE engine_reports (
    owner           INTEGER NOT NULL,
    name            TEXT NOT NULL,
    reported_at     INTEGER NOT NULL,
    models          TEXT NOT NULL,
    is_driven       INTEGER NOT NULL,
    in_flight       INTEGER NOT NULL,
    max_concurrency INTEGER NOT NULL,
    paused_until    INTEGER,
    reason          TEXT,
    PRIMARY KEY (owner, name)
) WITHOUT ROWID;

-- To the minute.
ALTER TABLE api_keys ADD COLUMN last_used_at INTEGER;

-- events.kind 5 is webhook.test: of no request or batch, with where it leads and what is sent from the beginning. Of those
-- that are live an account has few.
CREATE INDEX events_live_tests ON events (account) WHERE kind = 5 AND state = 0;

-- Those that have not ended, for a count.
CREATE INDEX batches_live ON batches (account) WHERE completed_at IS NULL AND cancelled_at IS NULL;
