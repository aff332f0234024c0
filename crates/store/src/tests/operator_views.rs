//! What people see at a SQL prompt: views whose identifiers, states and times are those of the API, and comments.

use overnight_domain::ids::{
    AccountKind, BatchKind, EventKind, Id, KeyKind, Kind, PaymentKind, RequestKind, UserKind,
};

use crate::tests::prelude::*;
use crate::tests::transfer::insert_sample_data;
use crate::tests::users;

/// Rows of texts, as the database casts them.
type Texts = Vec<Vec<Option<String>>>;

/// The rows of `FROM …`, each column as a text.
async fn texts(fixture: &Fixture, columns: &[&str], from: &str) -> Texts {
    let listed: Vec<String> =
        columns.iter().enumerate().map(|(place, it)| format!("CAST({it} AS TEXT) AS c{place}")).collect();
    let mut connection = fixture.store.connect().await.expect("a connection");
    let rows = connection.fetch(sql(format!("SELECT {} FROM {from}", listed.join(", ")).leak())).await;
    let rows = rows.unwrap_or_else(|error| panic!("{from}: {error}"));
    connection.close().await.expect("an end");
    let names: Vec<&'static str> = (0..columns.len()).map(|place| &*format!("c{place}").leak()).collect();
    let read =
        |row: &Row| names.iter().map(|name| row.get(name).expect("a text")).collect::<Vec<Option<String>>>();
    rows.iter().map(read).collect()
}

/// The one column of `SELECT column FROM …`, without nulls.
async fn column(fixture: &Fixture, name: &str, from: &str) -> Vec<String> {
    texts(fixture, &[name], from).await.into_iter().flatten().flatten().collect()
}

/// The identifiers in a table, as the API writes them.
async fn spelled<K: Kind>(fixture: &Fixture, bytes: &str, from: &str) -> Vec<String> {
    let hex = match fixture.store.dialect() {
        Dialect::Sqlite => format!("hex({bytes})"),
        Dialect::Postgres => format!("encode({bytes}, 'hex')"),
    };
    let read =
        |hex: String| Id::<K>::from_bits(u128::from_str_radix(&hex, 16).expect("16 bytes")).to_string();
    let hex = column(fixture, &hex, from).await;
    hex.into_iter().filter(|hex| !hex.is_empty()).map(read).collect()
}

/// Everything that there is, and members.
async fn fill(fixture: &mut Fixture) {
    insert_sample_data(fixture).await;
    let user = users::insert(&fixture.store, 1, Some("ada@example.org"), None).await.expect("a user");
    let member = members::insert(&fixture.store, fixture.account, user.key, Role::Owner, START).await;
    member.expect("a member");
}

/// Asserts that a column of a view has the identifiers of a table, at least so many.
async fn assert_spelled<K: Kind>(fixture: &Fixture, least: usize, table: (&str, &str), view: (&str, &str)) {
    let wanted = spelled::<K>(fixture, table.0, table.1).await;
    assert!(wanted.len() >= least, "{table:?} has {}", wanted.len());
    assert_eq!(column(fixture, view.0, view.1).await, wanted, "{view:?}");
}

on_both!(every_identifier_in_the_views_is_that_of_the_api);
async fn every_identifier_in_the_views_is_that_of_the_api(fixture: &mut Fixture) {
    fill(fixture).await;
    let (table, view) = (("id", "requests ORDER BY seq"), ("id", "overnight_requests ORDER BY seq"));
    assert_spelled::<RequestKind>(fixture, 300, table, view).await;
    let table = ("r.id", "queue q JOIN requests r ON r.seq = q.seq ORDER BY q.seq");
    assert_spelled::<RequestKind>(fixture, 100, table, ("id", "overnight_queue ORDER BY seq")).await;
    let table = ("r.id", "attempts t JOIN requests r ON r.seq = t.request");
    assert_spelled::<RequestKind>(fixture, 1, table, ("request", "overnight_attempts")).await;
    let (table, view) = (("request", "ledger ORDER BY seq"), ("request", "overnight_ledger ORDER BY seq"));
    assert_spelled::<RequestKind>(fixture, 1, table, view).await;
    let (table, view) = (("id", "batches ORDER BY seq"), ("id", "overnight_batches ORDER BY seq"));
    assert_spelled::<BatchKind>(fixture, 3, table, view).await;
    let table = ("b.id", "request_states s JOIN batches b ON b.seq = s.batch ORDER BY s.seq");
    assert_spelled::<BatchKind>(fixture, 8, table, ("batch", "overnight_requests ORDER BY seq")).await;
    let (table, view) = (("id", "events ORDER BY seq"), ("id", "overnight_webhook_events ORDER BY seq"));
    assert_spelled::<EventKind>(fixture, 4, table, view).await;
    let table = ("e.id", "deliveries d JOIN events e ON e.seq = d.event ORDER BY e.id");
    assert_spelled::<EventKind>(fixture, 2, table, ("event", "overnight_webhook_attempts ORDER BY event"))
        .await;
    let (table, view) = (("id", "api_keys ORDER BY seq"), ("id", "overnight_api_keys ORDER BY id"));
    assert_spelled::<KeyKind>(fixture, 2, table, view).await;
    let table = ("k.id", "spend_by_key s JOIN api_keys k ON k.seq = s.api_key");
    let view = ("api_key", "overnight_spend_by_key WHERE api_key IS NOT NULL");
    assert_spelled::<KeyKind>(fixture, 1, table, view).await;
    let (table, view) = (("id", "payments ORDER BY seq"), ("id", "overnight_payments ORDER BY id"));
    assert_spelled::<PaymentKind>(fixture, 2, table, view).await;
    let (table, view) = (("id", "users"), ("user_id", "overnight_members"));
    assert_spelled::<UserKind>(fixture, 1, table, view).await;
    assert_spelled::<UserKind>(fixture, 1, table, ("id", "overnight_users")).await;
    assert_spelled::<AccountKind>(fixture, 1, ("id", "accounts"), ("id", "overnight_accounts")).await;
    let account = AccountId::from_bits(7).to_string();
    for view in views_with(fixture, "account").await {
        assert!(column(fixture, "account", &view).await.iter().all(|id| *id == account), "{view}");
    }
}

on_both!(identifiers_of_any_bits_are_spelled_and_found_again);
async fn identifiers_of_any_bits_are_spelled_and_found_again(fixture: &mut Fixture) {
    let mut state = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835_u128;
    let mut ids = vec![0, u128::MAX, 1, 1 << 127, 0x1f << 123];
    ids.extend((0..60).map(|_| {
        state = state.wrapping_mul(0xda94_2042_e4dd_58b5_9b4c_8f1d_2a3e_6f77).wrapping_add(1);
        state
    }));
    for bits in &ids {
        accounts::insert(&fixture.store, &new_account(*bits)).await.expect("an account");
    }
    let from = "overnight_accounts ORDER BY seq";
    let wanted: Vec<String> = ids.iter().map(|bits| AccountId::from_bits(*bits).to_string()).collect();
    assert_eq!(column(fixture, "id", from).await[1..], wanted);
    if fixture.store.dialect() == Dialect::Postgres {
        let same = column(fixture, "overnight_id_bytes(id) = id_bytes", from).await;
        assert!(same.iter().all(|same| same == "true"), "{same:?}");
        for text in
            ["", "acct_", "acct_zz", "acct_80000000000000000000000000", "acct_0000000000000000000000000u"]
        {
            let found = column(fixture, &format!("overnight_id_bytes('{text}')"), "(VALUES (1)) v").await;
            assert!(found.is_empty(), "{text} is no identifier");
        }
    }
}

on_both!(states_times_and_credits_are_those_of_the_records);
async fn states_times_and_credits_are_those_of_the_records(fixture: &mut Fixture) {
    fill(fixture).await;
    let rows =
        texts(fixture, &["id", "status", "created_at", "charged", "engine"], "overnight_requests").await;
    let mut statuses = BTreeSet::new();
    for row in &rows {
        let [Some(id), Some(status), Some(created_at), charged, engine] = row.as_slice() else {
            panic!("{row:?}")
        };
        let id = RequestId::parse(id).expect("an identifier");
        assert_eq!(status, fixture.status(id).await.as_str());
        assert!(created_at.starts_with("2025-06-15 15:06:40"), "{created_at}");
        assert!(charged.is_none() || status == "completed", "{row:?}");
        assert_eq!(
            engine.is_some(),
            status == "completed" || engine.is_some() && status == "failed",
            "{row:?}"
        );
        statuses.insert(status.clone());
    }
    assert_eq!(statuses.len(), 5, "{statuses:?}");
    let charged =
        rows.iter().filter_map(|row| row[3].as_deref()).map(|charged| charged.trim_end_matches(".0"));
    assert_eq!(charged.collect::<Vec<_>>(), ["11", "11"]);
    assert!(rows.iter().any(|row| row[4].as_deref() == Some("gpu-0")), "an engine answered");
    for row in texts(fixture, &["id", "status", "completed"], "overnight_batches").await {
        let [Some(id), Some(status), Some(completed)] = row.as_slice() else { panic!("{row:?}") };
        let id = BatchId::parse(id).expect("an identifier");
        let found = fixture.batch(id).await;
        let (_, batch) = found;
        assert_eq!(
            (&**status, &**completed),
            (batch.state.status().as_str(), &*batch.counters.completed.to_string())
        );
    }
    let states = column(fixture, "state", "overnight_queue GROUP BY state ORDER BY state").await;
    assert_eq!(states, ["leased", "waiting", "waiting again"]);
    let states = column(fixture, "state", "overnight_webhook_events GROUP BY state ORDER BY state").await;
    assert_eq!(states, ["delivered", "pending"]);
    let hosts =
        column(fixture, "host", "overnight_webhook_events GROUP BY host HAVING host IS NOT NULL").await;
    assert_eq!(hosts, ["hooks.example"]);
    let account = accounts::list(&fixture.store).await.expect("accounts").remove(0);
    let balance = column(fixture, "balance", "overnight_accounts").await.remove(0);
    assert_eq!(balance.trim_end_matches(".0"), account.balance.to_string());
}

on_both!(the_views_show_no_bodies_and_no_secrets);
async fn the_views_show_no_bodies_and_no_secrets(fixture: &mut Fixture) {
    fill(fixture).await;
    let columns = view_columns(fixture).await;
    let mut shown = String::new();
    for (view, names) in &columns {
        let names: Vec<&str> = names.iter().map(|name| &**name).filter(|name| *name != "id_bytes").collect();
        shown.push_str(&format!("{:?}", texts(fixture, &names, view).await));
    }
    assert!(shown.contains("ada@example.org") && shown.contains("gpu-0"), "the views are read");
    for kept in [
        "\"messages\"",
        "content",
        "batch_name",
        "chat.completion",
        "no room",
        "on_live_",
        "https://",
        "cs_1",
    ] {
        assert!(!shown.contains(kept), "{kept} is shown");
    }
}

async fn view_columns(fixture: &Fixture) -> BTreeMap<String, BTreeSet<String>> {
    let from = match fixture.store.dialect() {
        Dialect::Sqlite => {
            "(SELECT v.name AS view_name, c.name AS column_name FROM sqlite_schema v, pragma_table_info(v.name) c WHERE v.type = 'view') t"
        }
        Dialect::Postgres => {
            "(SELECT table_name AS view_name, column_name FROM information_schema.columns NATURAL JOIN information_schema.tables
              WHERE table_schema = current_schema() AND table_type = 'VIEW') t"
        }
    };
    let mut views = BTreeMap::<String, BTreeSet<String>>::new();
    let from = format!("{from} WHERE view_name LIKE 'overnight~_%' ESCAPE '~'");
    for row in texts(fixture, &["view_name", "column_name"], &from).await {
        let [Some(view), Some(column)] = row.as_slice() else { panic!("{row:?}") };
        views.entry(view.clone()).or_default().insert(column.clone());
    }
    views
}

async fn views_with(fixture: &Fixture, name: &str) -> Vec<String> {
    let all = view_columns(fixture).await;
    all.into_iter().filter(|(_, columns)| columns.contains(name)).map(|(view, _)| view).collect()
}

#[tokio::test]
async fn both_databases_have_the_same_views_with_the_same_columns() {
    let on_sqlite = view_columns(&Fixture::on_sqlite().await).await;
    assert_eq!(on_sqlite, view_columns(&Fixture::on_postgres().await).await);
    assert!(on_sqlite.len() > 12 && on_sqlite["overnight_requests"].contains("status"), "{on_sqlite:?}");
}

/// A new table or column needs a description.
#[tokio::test]
async fn every_table_view_and_column_of_postgresql_has_a_comment() {
    let fixture = Fixture::on_postgres().await;
    let bare = "pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum >= 0 AND NOT a.attisdropped AND c.relkind = 'r'
        WHERE c.relnamespace = current_schema()::regnamespace AND (c.relkind = 'r' OR c.relkind = 'v' AND c.relname LIKE 'overnight\\_%')
          AND coalesce(CASE WHEN a.attnum > 0 THEN col_description(c.oid, a.attnum) ELSE obj_description(c.oid, 'pg_class') END, '') = ''";
    let found = column(&fixture, "c.relname || coalesce('.' || a.attname, '')", bare).await;
    assert!(found.is_empty(), "these have no comment (COMMENT ON …, see CONTRIBUTING.md): {found:?}");
    let tables = "pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND obj_description(c.oid, 'pg_class') IS NULL";
    assert_eq!(column(&fixture, "c.relname", tables).await, Vec::<String>::new());
}

// A later migration that adds columns needs to know of no view.
on_both!(views_keep_no_column_from_being_added, no audit);
async fn views_keep_no_column_from_being_added(fixture: &mut Fixture) {
    fill(fixture).await;
    for table in ["requests", "request_states", "queue", "batches", "accounts", "events", "results"] {
        fixture.execute(format!("ALTER TABLE {table} ADD COLUMN later BIGINT")).await;
    }
    for view in view_columns(fixture).await.into_keys() {
        texts(fixture, &["count(*)"], &view).await;
    }
}

/// The block after each `sql` fence of the page for operators.
fn documented_queries() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/postgresql.md");
    let page = fs::read_to_string(page).expect("the page");
    let section =
        page.split("\n## ").find(|section| section.starts_with("Five queries")).expect("the section");
    let blocks = section.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    blocks.map(|block| block.trim().trim_end_matches(';').to_owned()).collect()
}

on_both!(the_documented_queries_answer, no audit);
async fn the_documented_queries_answer(fixture: &mut Fixture) {
    fill(fixture).await;
    let queries = documented_queries();
    assert_eq!(queries.len(), 5);
    let mut connection = fixture.store.connect().await.expect("a connection");
    // What is spent is spent today.
    let today = match fixture.store.dialect() {
        Dialect::Sqlite => "UPDATE spend SET day = unixepoch() / 86400",
        Dialect::Postgres => "SET TIME ZONE 'UTC'; UPDATE spend SET day = CURRENT_DATE - DATE '1970-01-01'",
    };
    connection.execute_all(today).await.expect("a statement");
    for query in queries {
        let rows = connection.fetch(sql(query.clone().leak())).await;
        let rows = rows.unwrap_or_else(|error| panic!("{query}\n{error}"));
        assert!(!rows.is_empty(), "{query}");
    }
    connection.close().await.expect("an end");
}

/// As the page for operators has it.
#[tokio::test]
async fn a_role_that_may_read_the_views_reads_nothing_else() {
    const GRANTS: &str = include_str!("../../../../docs/postgresql.md");
    let mut fixture = Fixture::on_postgres().await;
    fill(&mut fixture).await;
    let grants = GRANTS.split("<!-- reader -->\n```sql\n").nth(1).and_then(|rest| rest.split("```").next());
    let grants = grants.expect("the statements of the page").replace("overnight_reader", "reader_of_views");
    fixture.execute(grants).await;
    let url =
        fixture.options.server_url.as_ref().expect("a server").replace("overnight@", "reader_of_views@");
    let options = StoreOptions { server_url: Some(url), ..fixture.options.clone() };
    let mut connection = options.database().expect("a database").connect().await.expect("a connection");
    for view in view_columns(&fixture).await.into_keys() {
        let text = format!("SELECT * FROM {view}").leak();
        connection.fetch(sql(text)).await.unwrap_or_else(|error| panic!("{view}: {error}"));
    }
    for table in ["requests", "api_keys", "webhook_secrets", "users", "settings", "current_requests"] {
        let refused = connection.fetch(sql(format!("SELECT * FROM {table}").leak())).await.err();
        let refused = refused.unwrap_or_else(|| panic!("{table} is read"));
        assert!(refused.to_string().contains(table), "{refused}");
    }
    connection.close().await.expect("an end");
}

#[tokio::test]
async fn a_file_is_spelled_where_a_batch_is_made_of_it() {
    for fixture in [Fixture::on_sqlite().await, Fixture::on_postgres().await] {
        let hex = format!("{:032x}", 0x0198_a5b3_c4d5_7e6f_8a9b_0c1d_2e3f_4a5b_u128);
        let (bytes, text) = match fixture.store.dialect() {
            Dialect::Sqlite => (format!("x'{hex}'"), "x''"),
            Dialect::Postgres => (format!("'\\x{hex}'::bytea"), "''::bytea"),
        };
        let rows = format!(
            "INSERT INTO batches (seq, id, account, created_at, registered, in_progress, completed, failed, cancelled)
                 VALUES (1, {bytes}, {account}, 0, 0, 0, 0, 0, 0);
             INSERT INTO batch_inputs (batch, account, state, file, file_id, endpoint, lines, filled, next_piece, next_line, filler_at,
                 fault_count, faults, deleted_outputs) VALUES (1, {account}, 1, 1, {bytes}, '', 0, 0, 0, 0, 0, 0, {text}, 0);
             INSERT INTO files (seq, id, account, state, created_at, bytes, name, lines, hold, fault_count)
                 VALUES (1, {bytes}, {account}, 1, 0, 0, '', 0, 0, 0)",
            account = fixture.account.0
        );
        fixture.execute(rows).await;
        let file = FileId::from_bits(0x0198_a5b3_c4d5_7e6f_8a9b_0c1d_2e3f_4a5b).to_string();
        assert_eq!(column(&fixture, "file", "overnight_batches").await, [&*file]);
        assert_eq!(column(&fixture, "id", "overnight_files").await, [&*file]);
    }
}
