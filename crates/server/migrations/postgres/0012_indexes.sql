-- The keys that are not revoked, by the time at which they stop working: those that work are counted when one is made, and
-- listed, without looking through all that ever were.
CREATE INDEX api_keys_usable ON api_keys (account, coalesce(expires_at, 9223372036854775807)) WHERE revoked_at IS NULL;

-- What was given up, so that an account that replays it reads no other event.
CREATE INDEX events_exhausted ON events (account, seq) WHERE state = 2;
