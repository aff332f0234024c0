-- operations::transfer::target::SERVING, PostgreSQL
SELECT coalesce(nullif(name, ''), 'a service') AS name FROM nodes
            WHERE to_timestamp(heartbeat_at / 1000.0) > clock_timestamp() - interval '60 seconds' LIMIT 1;

