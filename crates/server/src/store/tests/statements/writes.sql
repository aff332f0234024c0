-- writes::DRAW_RESULTS, PostgreSQL
SELECT nextval('results_seq_seq') AS seq FROM generate_series(1, $1);

