//! Which library, and which part of the server, may be named where.

use crate::{
    imports::own_paths,
    rust::has_word,
    tree::{Finding, Tree, numbered},
};

const SERVER: &str = "crates/server/src/";

/// The parts of the server.
const PARTS: [&str; 11] = [
    "http",
    "console",
    "app",
    "store",
    "scheduler",
    "workers",
    "engines",
    "payment",
    "openid",
    "webhooks",
    "service",
];

/// Which of the others each may know: `http → app → store`; `scheduler` and `workers` stand beside `http`.
const KNOWN_IN_SERVER: [(&str, &[&str]); 11] = [
    ("http", &["console", "app"]),
    ("console", &["app"]),
    ("app", &["store", "payment", "openid", "webhooks"]),
    ("store", &[]),
    ("scheduler", &["app", "store", "engines", "webhooks"]),
    ("workers", &["app", "store", "engines", "payment", "webhooks"]),
    ("engines", &[]),
    ("payment", &[]),
    ("openid", &[]),
    ("webhooks", &[]),
    ("object_store", &[]),
];

/// SQL is written in the store and nowhere else, but for the reference that the store is measured beside.
pub(crate) fn sql_outside_the_store(tree: &Tree) -> Vec<Finding> {
    word_outside(tree, "sqlx", &["crates/server/src/store/", "crates/bench/src/peers/insert.rs"])
}

/// axum is known to the server's HTTP layer and its tests, to the engine, and to what stands in for others.
pub(crate) fn axum_outside_http(tree: &Tree) -> Vec<Finding> {
    word_outside(
        tree,
        "axum",
        &[
            "crates/server/src/http/",
            "crates/server/tests/",
            "crates/engine/",
            "crates/testkit/",
            "crates/bench/",
        ],
    )
}

fn word_outside(tree: &Tree, word: &str, allowed: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| !allowed.iter().any(|folder| file.path.starts_with(folder))) {
        for (line, code) in numbered(&file.code) {
            if has_word(code, word) {
                findings.push(file.finding(line, format!("{word} belongs in {}", allowed.join(", "))));
            }
        }
    }
    findings
}

/// Arrows inside the server run one way.
pub(crate) fn arrows_inside_the_server(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (part, known) in KNOWN_IN_SERVER {
        let may_know = |module: &str| module == part || known.contains(&module) || !PARTS.contains(&module);
        let (folder, root) = (format!("{SERVER}{part}/"), format!("{SERVER}{part}.rs"));
        for file in tree.rust().filter(|file| file.path.starts_with(&folder) || file.path == root) {
            for path in own_paths(&file.code).iter().filter(|path| path.names[0] == "crate") {
                if let Some(module) = path.names.get(1).filter(|module| !may_know(module)) {
                    findings.push(file.finding(path.line, format!("{part} must not know {module}")));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::check;

    #[test]
    fn sql_in_a_use_case_is_found() {
        let files = [
            ("crates/server/src/store/row.rs", "use sqlx::Row;\n"),
            ("crates/server/src/app/row.rs", "// Not sqlx.\nconst NAME: &str = \"sqlx\";\nuse sqlx::Row;\n"),
        ];
        check(
            sql_outside_the_store,
            &files,
            &[
                "crates/server/src/app/row.rs:3: sqlx belongs in crates/server/src/store/, crates/bench/src/peers/insert.rs",
            ],
        );
    }

    #[test]
    fn axum_in_a_client_is_found() {
        let files = [
            ("crates/server/src/http/mod.rs", "use axum::Router;\n"),
            ("crates/client/src/lib.rs", "fn serve(router: axum::Router) {}\n"),
        ];
        let message = "axum belongs in crates/server/src/http/, crates/server/tests/, crates/engine/, crates/testkit/, crates/bench/";
        check(axum_outside_http, &files, &[&format!("crates/client/src/lib.rs:1: {message}")]);
    }

    #[test]
    fn an_arrow_the_wrong_way_is_found_in_groups_too() {
        let files = [
            ("crates/server/src/store/mod.rs", "use crate::clock::Clock;\nuse crate::app::Services;\n"),
            (
                "crates/server/src/http/list.rs",
                "use crate::{\n    app::{Services, store},\n    store::Store,\n};\n",
            ),
            ("crates/server/src/service.rs", "use crate::{http, store, workers};\n"),
        ];
        check(
            arrows_inside_the_server,
            &files,
            &[
                "crates/server/src/http/list.rs:3: http must not know store",
                "crates/server/src/store/mod.rs:2: store must not know app",
            ],
        );
    }
}
