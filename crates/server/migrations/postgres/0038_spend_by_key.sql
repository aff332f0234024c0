-- By which API key a request came, and the batch whose lines become requests: a row of api_keys. Null where none did (the console, an operator), and in
-- every row of the previous release, which does not fill it.
ALTER TABLE request_states ADD COLUMN api_key BIGINT;
ALTER TABLE batch_inputs ADD COLUMN api_key BIGINT;

-- What completed, by day (since 1970, UTC), model and API key: a part of spend. What spend has beyond it came by no key, or was settled by the previous
-- release, which counts in spend alone.
CREATE TABLE spend_by_key (
    account           BIGINT NOT NULL,
    day               BIGINT NOT NULL,
    model             BIGINT NOT NULL,
    api_key           BIGINT NOT NULL,
    requests          BIGINT NOT NULL,
    prompt_tokens     BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    amount            BIGINT NOT NULL,
    PRIMARY KEY (account, day, model, api_key)
);

-- The key is null in the row of what came by none.
CREATE VIEW overnight_spend_by_key AS
SELECT overnight_id('acct', a.id) AS account, a.name AS account_name, DATE '1970-01-01' + s.day::int AS day, m.name AS model,
       overnight_id('key', k.id) AS api_key, k.name AS api_key_name,
       s.requests, s.prompt_tokens, s.completion_tokens, overnight_credits(s.amount) AS amount
FROM (
    SELECT account, day, model, nullif(api_key, 0) AS api_key, sum(requests)::bigint AS requests, sum(prompt_tokens)::bigint AS prompt_tokens,
           sum(completion_tokens)::bigint AS completion_tokens, sum(amount)::bigint AS amount
    FROM (
        SELECT account, day, model, 0::bigint AS api_key, requests, prompt_tokens, completion_tokens, amount FROM spend
        UNION ALL SELECT account, day, model, 0, -requests, -prompt_tokens, -completion_tokens, -amount FROM spend_by_key
        UNION ALL SELECT account, day, model, api_key, requests, prompt_tokens, completion_tokens, amount FROM spend_by_key
    ) e GROUP BY account, day, model, api_key HAVING sum(requests) <> 0
) s
JOIN accounts a ON a.seq = s.account
JOIN models m ON m.seq = s.model
LEFT JOIN api_keys k ON k.seq = s.api_key;

COMMENT ON COLUMN request_states.api_key IS 'The API key that it came by: api_keys.seq; null: none, or not known.';
COMMENT ON COLUMN batch_inputs.api_key IS 'The API key that it came by, which its requests come by too: api_keys.seq; null: none, or not known.';
COMMENT ON TABLE spend_by_key IS 'What completed of requests that came by an API key, by day, model and key: a part of spend. For people: overnight_spend_by_key.';
COMMENT ON COLUMN spend_by_key.account IS 'Whose it is: accounts.seq.';
COMMENT ON COLUMN spend_by_key.day IS 'Days since 1970, in UTC.';
COMMENT ON COLUMN spend_by_key.model IS 'Which model: models.seq.';
COMMENT ON COLUMN spend_by_key.api_key IS 'Which key: api_keys.seq.';
COMMENT ON COLUMN spend_by_key.requests IS 'How many.';
COMMENT ON COLUMN spend_by_key.prompt_tokens IS 'Tokens that they read.';
COMMENT ON COLUMN spend_by_key.completion_tokens IS 'Tokens that they wrote.';
COMMENT ON COLUMN spend_by_key.amount IS 'Nano-credits.';
COMMENT ON VIEW overnight_spend_by_key IS 'What completed and was charged, by day, model and API key; without a key: what came by none.';
