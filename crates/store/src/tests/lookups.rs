//! On PostgreSQL, statements look their rows up by key, whatever the planner knows of a table: it may have been empty when the statement was
//! prepared, and never analysed. In a statement with a list, a condition beside the key that an index fits is written with `+ 0`: otherwise all
//! rows of an account may be read, as the planner underestimates how many it has.

use serde_json::Value;

use crate::tests::prelude::*;
use crate::tests::statements;

const ROWS: usize = 50_000;
/// Rows that a list names. The planner believes that an account has fewer.
const LISTED: usize = 1_000;
/// What the steps of a plan may read in all: without a list, and for each row of a list.
const READS_MAX: f64 = 500.0;
const READS_OF_LIST_MAX: f64 = 40.0;
/// What the steps of a plan may pass over for each row of a list.
const PASSED_OVER_MAX: f64 = 10.0;

/// Statements without a list that may read more, and why.
const READS_MANY: &[(&str, &str)] = &[
    ("batches::listing::LIST_LIVE", "each live batch of an account, which has no such number of them"),
    ("batches::reads::PAGE", "each hidden batch of an account, which here is all of them"),
    ("objects::sweep::HURRY", "when an account is closed"),
    ("objects::sweep::WAITING", "each object that is not in use, which here is all of them"),
    ("outbox::reads::TRIES_OF_ALL", "for an operator"),
    ("outbox::reads::WAITING", "each event that is not delivered, which here is all of them"),
    ("queue::place::LEASED_BEFORE", "for an operator"),
    ("waits::NEWEST", "once, when a node starts"),
];

/// Rows of tables that requests and the queue do not fill.
const FILL: &str = "
    INSERT INTO results (request, body) SELECT n, '' FROM generate_series(1, 50000) n;
    INSERT INTO events (id, account, lane, kind, created_at, due_at)
        SELECT decode(lpad(to_hex(n), 32, '0'), 'hex'), 1, 1, 1, 0, 0 FROM generate_series(1, 50000) n;
    INSERT INTO deliveries (event, number, account, started_at) SELECT n, 0, 1, 0 FROM generate_series(1, 50000) n;
    INSERT INTO attempts (request, number, ended_at, message) SELECT n, 1, 0, '' FROM generate_series(1, 50000) n;
    INSERT INTO idempotency_keys (account, key, digest, response, created_at)
        SELECT 1, decode(lpad(to_hex(n), 32, '0'), 'hex'), '', '', 0 FROM generate_series(1, 50000) n;
    INSERT INTO objects (name, account, request, bytes, state, created_at)
        SELECT decode(lpad(to_hex(n), 32, '0'), 'hex'), 1, n, 1, 0, 0 FROM generate_series(1, 50000) n;
    INSERT INTO batches (id, account, created_at, registered, in_progress, completed, failed, cancelled)
        SELECT decode(lpad(to_hex(n), 32, '0'), 'hex'), 1, 0, 1, 0, 0, 0, 0 FROM generate_series(1, 1000) n;
    UPDATE request_states SET result_seq = seq, batch = 1 + seq % 1000, lane = 1, price = 1, api_key = 1";

/// The planner has no figures but those of the tests.
const WITHOUT_AUTOVACUUM: &str = "
    ALTER TABLE batches SET (autovacuum_enabled = off);
    ALTER TABLE requests SET (autovacuum_enabled = off); ALTER TABLE request_states SET (autovacuum_enabled = off);
    ALTER TABLE queue SET (autovacuum_enabled = off); ALTER TABLE results SET (autovacuum_enabled = off);
    ALTER TABLE events SET (autovacuum_enabled = off); ALTER TABLE deliveries SET (autovacuum_enabled = off);
    ALTER TABLE attempts SET (autovacuum_enabled = off); ALTER TABLE objects SET (autovacuum_enabled = off);
    ALTER TABLE idempotency_keys SET (autovacuum_enabled = off)";

/// A prepared statement, and the arguments of its call.
struct Lookup {
    name: &'static str,
    prepared: String,
    text: String,
    arguments: String,
    reads_max: f64,
}

/// Elements of arrays, from the rows of the tables.
#[derive(Default)]
struct Arrays {
    sort_keys: String,
    ids: String,
    names: String,
    numbers: String,
}

impl Arrays {
    async fn of(fixture: &Fixture) -> Self {
        let mut connection = fixture.store.connect().await.expect("a connection");
        let first = "SELECT string_agg('\"\\\\x' || encode(rs.sort_key, 'hex') || '\"', ',' ORDER BY rs.seq) AS sort_keys,
                string_agg('\"\\\\x' || encode(r.id, 'hex') || '\"', ',' ORDER BY rs.seq) AS ids,
                string_agg(rs.seq::text, ',' ORDER BY rs.seq) AS numbers
            FROM request_states rs JOIN requests r ON r.seq = rs.seq WHERE rs.seq % 50 = 0";
        let rows = connection.fetch(sql(first)).await.expect("requests");
        let names = (1..=LISTED).map(|number| format!("\"\\\\x{number:032x}\"")).collect::<Vec<_>>();
        let get = |name| rows[0].get::<String>(name).expect("an array");
        Self { sort_keys: get("sort_keys"), ids: get("ids"), names: names.join(","), numbers: get("numbers") }
    }

    fn one_id(&self) -> String {
        let id = self.ids.split(',').nth(LISTED / 2).unwrap_or_default();
        format!("'{}'", id.trim_matches('"').replace("\\\\", "\\"))
    }

    /// The elements of an array of this type whose rows have this name.
    fn elements(&self, name: Option<&str>, kind: &str) -> String {
        match (name.unwrap_or_default(), kind) {
            ("model" | "account" | "lane", _) => vec!["1"; LISTED].join(","),
            ("lease_epoch" | "tried" | "try" | "number" | "believed", _) => vec!["0"; LISTED].join(","),
            ("sort_key", _) => self.sort_keys.clone(),
            ("name" | "key", "bytea[]") => self.names.clone(),
            (_, "bytea[]") => self.ids.clone(),
            _ => self.numbers.clone(),
        }
    }
}

/// The name that the statement gives to the rows of the array `$place`; `None` if it gives none.
fn name_of(text: &str, place: usize) -> Option<&str> {
    let at = text.find(&format!("${place}::"))?;
    let start = text[..at].rfind("unnest(")?;
    let (before, behind) = (&text[..start], text[at..].split_once("])")?.1);
    let alias = behind.trim_start().trim_start_matches("WITH ORDINALITY").trim_start();
    let names = match alias.strip_prefix("AS v(").or_else(|| alias.strip_prefix("AS j(")) {
        Some(names) => names.split_once(')')?.0,
        // `v(a, b) AS (SELECT * FROM unnest(…))` or `(a, b) IN (SELECT * FROM unnest(…))`
        None => before.rsplit_once(')')?.0.rsplit_once('(')?.1,
    };
    names.split(',').nth(text[start..at].matches("::").count()).map(str::trim)
}

fn reads_max(name: &str, text: &str) -> Option<f64> {
    if text.contains("[]") {
        return Some(READS_OF_LIST_MAX * LISTED as f64);
    }
    let is_exception = statements::may_read_all(name) || READS_MANY.iter().any(|(known, _)| *known == name);
    let is_setting = text.is_empty() || text.starts_with("SET ");
    (!is_exception && !is_setting).then_some(READS_MAX)
}

/// Prepares every statement that looks up rows on this connection, and has its plan made.
async fn prepare(connection: &mut Connection, arrays: &Arrays) -> Vec<Lookup> {
    connection.execute_all("SET plan_cache_mode = force_generic_plan").await.expect("settings");
    let mut all = Vec::new();
    for (number, (name, sql_)) in statements::all().into_iter().enumerate() {
        let text = statements::on_postgres(&sql_);
        let Some(reads_max) = reads_max(name, &text) else { continue };
        let prepared = format!("lookup_{number}");
        connection.execute(sql(format!("PREPARE {prepared} AS {text}").leak())).await.expect(name);
        let kinds = format!(
            "SELECT unnest(parameter_types)::text AS kind FROM pg_prepared_statements WHERE name = '{prepared}'"
        );
        let kinds = connection.fetch(sql(kinds.leak())).await.expect("kinds");
        let argument = |(place, row): (usize, &Row)| {
            let kind: String = row.get("kind").expect("a kind");
            match kind.as_str() {
                "bigint" => "1".to_owned(),
                "bytea" => arrays.one_id(),
                _ if kind.ends_with("[]") => {
                    format!("'{{{}}}'::{kind}", arrays.elements(name_of(&text, place), &kind))
                }
                _ => "NULL".to_owned(),
            }
        };
        let arguments: Vec<String> = (1..).zip(&kinds).map(argument).collect();
        let arguments =
            if arguments.is_empty() { String::new() } else { format!("({})", arguments.join(", ")) };
        all.push(Lookup { name, prepared, text, arguments, reads_max });
    }
    all
}

const PASSED_OVER: [&str; 3] =
    ["Rows Removed by Filter", "Rows Removed by Join Filter", "Rows Removed by Index Recheck"];

/// The sum of these numbers of all steps of a plan.
fn rows_of(step: &Value, is_list: bool, names: &[&str]) -> f64 {
    let number = |name: &str| step.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    // Without a list, entries of transactions that were rolled back would be most of them.
    let is_bitmap = step.get("Node Type").is_some_and(|kind| kind == "Bitmap Index Scan");
    let loops = if is_bitmap && !is_list { 0.0 } else { number("Actual Loops").max(1.0) };
    let own: f64 = names.iter().map(|name| number(name)).sum::<f64>() * loops;
    let steps = step.get("Plans").and_then(Value::as_array).into_iter().flatten();
    own + steps.map(|step| rows_of(step, is_list, names)).sum::<f64>()
}

/// What is wrong with the statements of a connection.
async fn check(connection: &mut Connection, lookups: &[Lookup], when: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut examined = 0;
    for Lookup { name, prepared, text, arguments, reads_max } in lookups {
        let explain = sql(format!("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {prepared}{arguments}").leak());
        let mut tx = Tx::begin(connection).await.expect("a transaction");
        let outcome = tx.fetch(explain).await;
        tx.rollback().await.expect("an end");
        match outcome {
            Ok(rows) => {
                examined += 1;
                let plan: String = rows[0].get("QUERY PLAN").expect("a plan");
                let plan: Value = serde_json::from_str(&plan).expect("JSON");
                let is_list = text.contains("[]");
                let passed_over = rows_of(&plan[0]["Plan"], is_list, &PASSED_OVER);
                let reads = passed_over + rows_of(&plan[0]["Plan"], is_list, &["Actual Rows"]);
                if reads > *reads_max || passed_over > PASSED_OVER_MAX * LISTED as f64 {
                    wrong.push(format!("{when}: {name} read {reads} rows:\n{text}\n{plan:#}"));
                }
            }
            Err(error) if error.to_string().contains("timeout") => {
                wrong.push(format!("{when}: {name}: {error}"));
            }
            Err(error) => eprintln!("{when}: {name} was not examined: {error}"),
        }
    }
    assert!(examined * 10 >= lookups.len() * 9, "{when}: {examined} of {} were examined", lookups.len());
    wrong
}

async fn filled(fixture: &mut Fixture) {
    // As long as real ones: how many rows the planner expects in a table follows from its pages.
    let sort_key = |number: usize| SortKey::from_bytes(&[&number.to_be_bytes()[..], &[0; 40]].concat());
    let requests: Vec<NewRequest> =
        (0..ROWS).map(|number| NewRequest { sort_key: sort_key(number), ..fixture.request(0) }).collect();
    fixture.insert_all(requests).await;
    for _ in 0..ROWS / 1_000 {
        fixture.release().await;
    }
    fixture.execute(FILL).await;
}

#[tokio::test]
async fn rows_are_looked_up_by_key_whatever_postgresql_knows_of_a_table() {
    let mut wrong = Vec::new();
    for is_analysed_empty in [false, true] {
        let mut fixture = Fixture::on_postgres().await;
        fixture.execute(WITHOUT_AUTOVACUUM).await;
        if is_analysed_empty {
            fixture.execute("ANALYZE").await;
        }
        let mut early = fixture.store.connect().await.expect("a connection");
        for Lookup { prepared, arguments, .. } in prepare(&mut early, &Arrays::default()).await {
            // A plan is made for empty tables.
            let _ = early.fetch(sql(format!("EXPLAIN EXECUTE {prepared}{arguments}").leak())).await;
        }
        filled(&mut fixture).await;
        let arrays = Arrays::of(&fixture).await;
        let mut late = fixture.store.connect().await.expect("a connection");
        let lookups = prepare(&mut late, &arrays).await;
        wrong.extend(check(&mut early, &lookups, "planned while empty").await);
        let when = if is_analysed_empty { "analysed while empty" } else { "never analysed" };
        wrong.extend(check(&mut late, &lookups, when).await);
        late.execute_all("SET plan_cache_mode = force_custom_plan").await.expect("settings");
        wrong.extend(check(&mut late, &lookups, when).await);
        if is_analysed_empty {
            fixture.execute("ANALYZE").await;
            wrong.extend(check(&mut late, &lookups, "analysed").await);
        }
    }
    assert!(wrong.is_empty(), "{} plans: {}", wrong.len(), wrong.join("\n"));
}

async fn setting(connection: &mut Connection, name: &str) -> String {
    let query = sql(format!("SELECT current_setting('{name}') AS said").leak());
    connection.fetch_one(query).await.expect("an answer").get("said").expect("a text")
}

#[tokio::test]
async fn no_plan_about_a_list_is_kept_and_the_server_ends_what_takes_too_long() {
    let mut fixture = Fixture::on_postgres().await;
    let ids = fixture.insert(&[1]).await;
    let mut connection = fixture.store.connect().await.expect("a connection");
    for _ in 0..9 {
        let listed = batches::RESOLVE.over([fixture.account.into()], vec![ids[0].into()]);
        assert_eq!(connection.fetch(listed).await.expect("a list").len(), 1);
        connection.fetch(requests::live::FIND_LIVE.bind(ids[0]).bind(fixture.account)).await.expect("a row");
    }
    let kept = "SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%FROM ' || 'requests r%'";
    let kept = connection.fetch(sql(kept)).await.expect("statements");
    assert_eq!(kept.len(), 1);
    assert!(!kept[0].get::<String>("statement").expect("a text").contains("ANY ("));
    assert_eq!(setting(&mut connection, "statement_timeout").await, "50s");
    let mut tx = Tx::begin(&mut connection).await.expect("a transaction");
    let row = tx
        .fetch(sql(
            "SELECT current_setting('plan_cache_mode') || current_setting('statement_timeout') AS said",
        ))
        .await;
    assert_eq!(row.expect("an answer")[0].get::<String>("said").expect("a text"), "force_custom_plan50s");
    tx.rollback().await.expect("an end");
    connection.begin_snapshot().await.expect("a snapshot");
    assert_eq!(setting(&mut connection, "statement_timeout").await, "0");
}
