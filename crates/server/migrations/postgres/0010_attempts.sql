-- The attempts at a request that failed and count against it, for its owner to read.
CREATE TABLE attempts (
    request BIGINT NOT NULL,
    number BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    status BIGINT,
    message TEXT NOT NULL,
    PRIMARY KEY (request, number)
);
