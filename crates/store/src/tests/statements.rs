//! Every statement, planned on each database so that no table that grows is read whole.

use crate::tests::declared::statements;
use crate::tests::prelude::*;

/// The common prefix of module paths.
const STORE: &str = "overnight_store::";

pub(super) fn all() -> BTreeMap<&'static str, Sql> {
    let lists = statements().into_iter().flatten();
    lists.map(|sql| (sql.name.strip_prefix(STORE).unwrap_or(sql.name), **sql)).collect()
}

/// With numbered parameters.
pub(super) fn on_postgres(sql: &Sql) -> String {
    sql.unbound().text(Dialect::Postgres).into_owned()
}

#[test]
fn every_file_that_declares_statements_is_listed() {
    fn declarations(folder: &Path) -> usize {
        let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
        entries
            .map(|path| match path.is_dir() {
                true if path.ends_with("tests") => 0,
                true => declarations(&path),
                false => fs::read_to_string(&path).expect("a text").matches("\nstatements! {").count(),
            })
            .sum()
    }
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    assert_eq!(statements().len(), declarations(&store));
}

#[cfg(feature = "planted-bugs")]
#[test]
fn every_planted_bug_changes_a_statement_that_is_there() {
    for part in overnight_base::planted_bugs::changed_parts() {
        assert!(all().values().any(|sql| sql.sqlite.contains(part) || sql.postgres.contains(part)), "{part}");
    }
}

/// Literal codes have their names beside them, in every statement.
#[test]
fn every_code_in_a_statement_has_its_name() {
    for (name, sql) in all() {
        for text in [sql.sqlite, sql.postgres] {
            for column in ["state", "phase", "kind"] {
                for operator in [" = ", " < ", " >= ", " <> "] {
                    let comparison = format!("{column}{operator}");
                    let behind = text.split(&comparison).skip(1);
                    let bare = behind.filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
                    for rest in bare {
                        let after = rest.trim_start_matches(|character: char| character.is_ascii_digit());
                        assert!(
                            after.starts_with(" /*"),
                            "{name}: {column}{operator}{}",
                            &rest[..rest.len().min(30)]
                        );
                    }
                }
            }
        }
    }
}

/// Tables that grow with the work.
const GROWING: &str = "audit_log requests request_states queue results batches batch_members batch_ends batch_inputs files \
    file_pieces uploads ledger spend spend_by_key events deliveries request_blocks";

/// Indexes with a predicate that few rows meet. Any other index is as long as its table.
const OF_FEW: &str = "request_states_gathering request_states_gathering_by_account request_blocks_live events_due events_sending events_tests \
    batches_cancelling batches_live batch_inputs_filling batch_inputs_by_file files_deleted uploads_pending";

/// Statements that read a whole table, and why they may.
const READS_ALL: &[(&str, &str)] = &[
    ("nodes::engine_reports::LIST", "a row for each node and replica, and no more"),
    ("nodes::lifecycle::RECLAIM", "an index of leases would be written by every lease; a node ends rarely"),
    ("nodes::lifecycle::RECLAIM_ALL", "the same at a start, which counts the queue anyway"),
    ("nodes::statuses::LIST", "asked by `doctor` alone"),
    ("nodes::statuses::COUNT_ORPHANED", "asked by `doctor` alone"),
    ("waits::RETRIES", "when the clock has changed"),
    ("waits::EVENTS", "when the clock has changed"),
    ("operations::backup::restoring::COUNTS", "once, behind an audit, which reads all of it"),
    ("outbox::reads::COUNT_EXHAUSTED", "asked by `doctor` alone"),
    ("request_blocks::FILL", "once, by an import"),
    ("queue::scan::BACKLOGS", "once, when a node starts"),
    ("queue::expiry::NEXT_DEADLINE", "once, when a node starts"),
];

fn grows(table: &str) -> bool {
    GROWING.split(' ').any(|it| it == table)
}

pub(super) fn may_read_all(name: &str) -> bool {
    READS_ALL.iter().any(|(allowed, _)| *allowed == name)
}

#[test]
fn every_exception_is_a_statement() {
    let all = all();
    assert!(READS_ALL.iter().all(|(name, _)| all.contains_key(name)));
}

#[tokio::test]
async fn no_statement_of_sqlite_reads_a_whole_table() {
    let fixture = Fixture::on_sqlite().await;
    let mut connection = fixture.store.connect().await.expect("a connection");
    let mut wrong = Vec::new();
    for (name, statement) in all().into_iter().filter(|(_, sql)| !sql.sqlite.is_empty()) {
        let text: &'static str = format!("EXPLAIN QUERY PLAN {}", statement.sqlite).leak();
        let rows = connection.fetch(sql(text)).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let plan: Vec<String> = rows.iter().map(|row| row.get("detail").expect("a step")).collect();
        let aliases = ["p", "q", "r", "t", "e", "l", "d", "b", "s"];
        let is_whole = |step: &String| {
            let table = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
            table.is_some_and(|table| grows(table) || aliases.contains(&table))
                && !OF_FEW.split(' ').any(|index| step.contains(index))
        };
        if plan.iter().any(is_whole) && !may_read_all(name) {
            wrong.push(format!("{name}: {plan:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn no_statement_of_postgresql_reads_a_whole_table() {
    let fixture = Fixture::on_postgres().await;
    let mut connection = fixture.store.connect().await.expect("a connection");
    let mut wrong = Vec::new();
    for (number, (name, statement)) in all().into_iter().enumerate() {
        let text = on_postgres(&statement);
        if text.is_empty() || text.starts_with("SET ") {
            continue;
        }
        let places = (1..60).take_while(|place| text.contains(&format!("${place}"))).count();
        let nulls =
            if places == 0 { String::new() } else { format!("({})", vec!["NULL"; places].join(", ")) };
        let mut tx = Tx::begin(&mut connection).await.expect("a transaction");
        for text in [
            "SET LOCAL plan_cache_mode = force_generic_plan".to_owned(),
            format!("PREPARE planned_{number} AS {text}"),
        ] {
            let done = tx.execute(sql(text.leak())).await;
            done.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let explain = sql(format!("EXPLAIN EXECUTE planned_{number}{nulls}").leak());
        let rows = tx.fetch(explain).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let plan: Vec<String> = rows.iter().map(|row| row.get("QUERY PLAN").expect("a line")).collect();
        tx.rollback().await.expect("an end");
        let is_whole = |line: &String| {
            let table = line.split("Seq Scan on ").nth(1).and_then(|rest| rest.split(' ').next());
            table.is_some_and(grows)
        };
        if plan.iter().any(is_whole) && !may_read_all(name) {
            wrong.push(format!("{name}: {plan:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
