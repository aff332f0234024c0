-- By which API key a request came, and the batch whose lines become requests: a row of api_keys. Null where none did (the console, an operator), and in
-- every row of the previous release, which does not fill it.
ALTER TABLE request_states ADD COLUMN api_key INTEGER;
ALTER TABLE batch_inputs ADD COLUMN api_key INTEGER;

-- What completed, by day (since 1970, UTC), model and API key: a part of spend. What spend has beyond it came by no key, or was settled by the previous
-- release, which counts in spend alone.
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
