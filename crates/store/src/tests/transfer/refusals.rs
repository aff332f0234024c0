//! What is refused, and leaves nothing behind.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use overnight_base::encryption::MARK;
use serde_json::json;

use crate::database::migrations;
use crate::tests::prelude::*;
use crate::tests::transfer::{Target, exported};

/// One waiting request, and one completed.
async fn small_file() -> String {
    let mut fixture = Fixture::on_sqlite().await;
    let lease = fixture.leased(&[1]).await.1.remove(0);
    assert!(fixture.settle(&lease, START + 2).await);
    fixture.insert(&[2]).await;
    String::from_utf8(exported(&fixture.store).await).expect("a file of text")
}

/// With other rows, as if exported.
fn sealed(file: &str, change: impl Fn(Vec<&str>) -> Vec<String>) -> String {
    let mut lines: Vec<&str> = file.lines().collect();
    let trailer = lines.pop().expect("a last line");
    let lines = change(lines);
    let mut trailer: serde_json::Value = serde_json::from_str(trailer).expect("an object");
    for (name, count) in trailer["rows"].as_object_mut().expect("counts") {
        let start = format!("[\"{name}\",");
        *count = lines.iter().filter(|line| line.starts_with(&start)).count().into();
    }
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let digest = Sha256::digest(&body);
    trailer["sha256"] = digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
    format!("{body}{trailer}\n")
}

/// Whether a target takes it; if not, why, and nothing is there.
async fn refusal(file: &str) -> ImportError {
    let targets = [Target::on_sqlite(), Target::on_postgres()];
    let mut refusals = Vec::new();
    for target in &targets {
        refusals.push(target.import(file.as_bytes()).await.expect_err("a refusal"));
        let store = Store::open_beside(&target.options).await.expect("a store");
        assert!(accounts::list(&store).await.expect("a read").is_empty(), "something was left behind");
        store.close().await;
        target.import(small_file().await.as_bytes()).await.expect("an import after it");
    }
    assert_eq!(std::mem::discriminant(&refusals[0]), std::mem::discriminant(&refusals[1]), "{refusals:?}");
    refusals.remove(0)
}

#[tokio::test]
async fn a_file_that_was_cut_is_refused_wherever_it_was_cut() {
    let file = small_file().await;
    let ends: Vec<usize> = file.match_indices('\n').map(|(end, _)| end).collect();
    let cuts = ends.iter().flat_map(|end| [end - 1, *end, end + 1]).filter(|cut| *cut < file.len());
    for cut in cuts.chain([0, 5]) {
        let refused = Target::on_sqlite().import(&file.as_bytes()[..cut]).await.expect_err("a refusal");
        let is_told = match refused {
            ImportError::Line { line, .. } => line == 1 && cut <= ends[0],
            ImportError::Cut { line } => line == file[..cut].matches('\n').count() as u64 + 1,
            _ => false,
        };
        assert!(is_told, "{cut}: {refused}");
    }
    let endless = "{".repeat(1 << 20);
    assert!(matches!(
        Target::on_sqlite().import(endless.as_bytes()).await,
        Err(ImportError::Line { line: 1, .. })
    ));
    assert!(matches!(refusal(&file[..file.len() / 2]).await, ImportError::Cut { .. }));
}

#[tokio::test]
async fn a_file_that_was_changed_is_refused() {
    let file = small_file().await;
    let other = file.replacen("\\\"content\\\":\\\"1\\\"", "\\\"content\\\":\\\"7\\\"", 1);
    assert_ne!(file, other);
    assert!(matches!(refusal(&other).await, ImportError::Changed { what: "SHA-256" }));
    let fewer = file.replacen("\"requests\":2", "\"requests\":1", 1);
    assert!(matches!(refusal(&fewer).await, ImportError::Changed { what: "number of rows" }));
    let more = refusal(&format!("{file}\n")).await;
    let behind = file.lines().count() as u64 + 1;
    assert!(matches!(more, ImportError::Line { line, .. } if line == behind), "{more}");
}

#[tokio::test]
async fn what_is_no_export_of_this_release_is_refused() {
    let file = small_file().await;
    let schema = file.replacen("\"schema\":", "\"schema\":9", 1);
    let refused = refusal(&schema).await;
    assert!(matches!(refused, ImportError::OtherSchema { found: 90.., .. }), "{refused}");
    assert!(refused.to_string().contains("imports 40 to "), "{refused}");
    let refused =
        refusal(&file.replacen(&format!("\"schema\":{}", migrations::NEWEST), "\"schema\":39", 1)).await;
    assert!(matches!(refused, ImportError::OtherSchema { found: 39, .. }), "{refused}");
    for (from, to) in [
        ("\"version\":1", "\"version\":2"),
        ("overnight-export", "other"),
        ("{\"format\"", "[\"format\""),
        ("[\"accounts\"", "[\"owners\""),
        ("[\"accounts\",[1,", "[\"accounts\",["),
        ("[\"accounts\",[1,", "[\"accounts\",[\"1\","),
        ("[\"accounts\",[1,\"", "[\"accounts\",[1,\"=="),
        ("[\"accounts\",[1,\"", "[\"accounts\",[1.5,\""),
        ("[\"accounts\",[1,\"", "[\"accounts\",[{},\""),
    ] {
        let changed = file.replacen(from, to, 1);
        assert_ne!(file, changed, "{from}");
        let refused = refusal(&changed).await;
        assert!(matches!(refused, ImportError::Line { .. }), "{to}: {refused}");
    }
}

/// The file with another value in a column of the first row of a table.
fn with_value(file: &str, table: &str, place: usize, value: &serde_json::Value) -> String {
    let start = format!("[\"{table}\",");
    let mut is_changed = false;
    let changed = file.lines().map(|line| match line.starts_with(&start) && !is_changed {
        true => {
            is_changed = true;
            let mut row: serde_json::Value = serde_json::from_str(line).expect("a row");
            row[1][place] = value.clone();
            row.to_string()
        }
        false => line.to_owned(),
    });
    changed.map(|line| line + "\n").collect()
}

#[tokio::test]
async fn value_that_no_service_could_use_is_refused_with_its_line_and_column() {
    let mut fixture = Fixture::on_sqlite().await;
    crate::tests::transfer::insert_sample_data(&mut fixture).await;
    let file = String::from_utf8(exported(&fixture.store).await).expect("a file of text");
    let (short, long) = (STANDARD.encode([7; 15]), STANDARD.encode([7; 33]));
    let marked = |rest: &[u8]| json!(format!("{}{}", MARK.escape_ascii(), STANDARD.encode(rest)));
    let forged = "{\"a\":{}}\n{\"id\":\"req_FORGED\"}";
    for (table, column, place, value) in [
        ("accounts", "id", 1, json!(short)),
        ("accounts", "data_key", 20, json!(-1)),
        ("api_keys", "id", 1, json!("")),
        ("api_keys", "sha256", 3, json!(long)),
        ("api_keys", "scope", 10, json!(99)),
        ("requests", "id", 1, json!(short)),
        ("requests", "endpoint", 11, json!(3)),
        ("requests", "body", 8, json!("{")),
        ("requests", "body", 8, json!("")),
        ("requests", "body", 8, json!("{\"a\":\n1}")),
        ("requests", "body", 8, marked(&[1, 0])),
        ("requests", "body", 8, marked(&[9; 64])),
        ("requests", "metadata", 6, json!("{}}")),
        ("request_states", "state", 3, json!(6)),
        ("results", "body", 4, json!(forged)),
        ("results", "warnings", 5, json!("no")),
        ("batches", "cancelling", 7, json!(-1)),
        ("batch_members", "ids", 2, json!(short)),
        ("ledger", "kind", 2, json!(5)),
        ("events", "kind", 4, json!(7)),
        ("webhook_secrets", "secret", 2, json!(short)),
    ] {
        let changed = with_value(&file, table, place, &value);
        let line = 1 + file.lines().take_while(|line| !line.starts_with(&format!("[\"{table}\","))).count();
        let refused =
            Target::on_sqlite().import(changed.as_bytes()).await.expect_err("a refusal").to_string();
        let told = format!("line {line}: invalid value for {table}.{column}; nothing was imported");
        assert_eq!(refused, told, "{value}");
    }
}

#[tokio::test]
async fn rows_that_break_what_must_hold_are_refused_and_so_are_those_that_stand_twice() {
    let file = small_file().await;
    let without = |table: &'static str| {
        move |lines: Vec<&str>| {
            let start = format!("[\"{table}\",");
            lines.into_iter().filter(|line| !line.starts_with(&start)).map(str::to_owned).collect()
        }
    };
    for table in ["request_states", "results"] {
        let refused = refusal(&sealed(&file, without(table))).await;
        assert!(matches!(refused, ImportError::Unsound { breaches: 1.., .. }), "{table}: {refused}");
    }
    let twice = |lines: Vec<&str>| lines.iter().chain(&lines[2..3]).map(|line| (*line).to_owned()).collect();
    let refused = refusal(&sealed(&file, twice)).await;
    assert!(matches!(refused, ImportError::Line { .. }), "{refused}");
    let whole = sealed(&file, |lines| lines.into_iter().map(str::to_owned).collect());
    Target::on_sqlite().import(whole.as_bytes()).await.expect("what is not changed is as it was");
}

on_both!(a_store_that_holds_work_takes_no_import, no audit);
async fn a_store_that_holds_work_takes_no_import(fixture: &mut Fixture) {
    let file = small_file().await;
    fixture.store.close().await;
    let server_url = fixture.options.server_url.clone();
    let mut connection = fixture.store.connect().await.expect("a connection");
    if server_url.is_some() {
        connection.execute_all("DELETE FROM nodes").await.expect("a look at nobody");
    }
    connection.close().await.expect("an end");
    let refused = import(&fixture.options, &mut file.as_bytes(), START).await;
    assert!(matches!(refused, Err(ImportError::NotEmpty { table: "accounts" })), "{refused:?}");
}

#[tokio::test]
async fn a_store_that_is_served_takes_no_import() {
    let file = small_file().await;
    let on_sqlite = Target::on_sqlite();
    let serving = on_sqlite.open().await;
    let refused = on_sqlite.import(file.as_bytes()).await;
    assert!(matches!(refused, Err(ImportError::Store(StoreError::Locked { .. }))), "{refused:?}");
    serving.close().await;
    on_sqlite.import(file.as_bytes()).await.expect("an import once nobody serves");

    let on_postgres = Target::on_postgres();
    let serving = on_postgres.open().await;
    let refused = on_postgres.import(file.as_bytes()).await;
    assert!(matches!(refused, Err(ImportError::Served { .. })), "{refused:?}");
    let mut connection = serving.connect().await.expect("a connection");
    serving.close().await;
    let hour_ago = "UPDATE nodes SET heartbeat_at = heartbeat_at - 3600000";
    connection.execute_all(hour_ago).await.expect("an hour that passes");
    on_postgres.import(file.as_bytes()).await.expect("an import once nobody serves");
}
