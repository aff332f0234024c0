//! Faults of a PostgreSQL server that only its administrator can mend.

use crate::database::{Dialect, Sql, statements};
use crate::{Store, StoreError};

statements! {
    /// Roles that could run code as the role of the service: a function in a schema of its search_path can be a better match for a call than
    /// PostgreSQL's own, and a table there can hide ours. Owners of the database and superusers can do as they like anyway. The usual
    /// search_path begins with a schema that has the name of the role.
    NEIGHBOURS = {
        postgres: "WITH named AS (
            SELECT n.nspname, coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner)) AS acl FROM pg_catalog.pg_namespace n
            WHERE n.nspname = ANY (pg_catalog.current_schemas(false))
            UNION ALL
            SELECT current_user, coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba)) FROM pg_catalog.pg_database d
            WHERE d.datname = pg_catalog.current_database()
              AND pg_catalog.strpos(pg_catalog.current_setting('search_path'), '$user') > 0
              AND current_user <> ALL (pg_catalog.current_schemas(false)))
            SELECT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE r.rolname::text END || ' in schema ' || n.nspname AS said
            FROM named n
            CROSS JOIN pg_catalog.aclexplode(n.acl) a
            LEFT JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
            WHERE a.privilege_type = 'CREATE' AND a.grantee <> (SELECT d.datdba FROM pg_catalog.pg_database d
                WHERE d.datname = pg_catalog.current_database())
              AND (a.grantee = 0 OR NOT r.rolsuper AND r.rolname NOT IN (current_user, 'pg_database_owner'))
            ORDER BY said",
    };
    /// Transactions of the service set `synchronous_commit` themselves.
    LOSING = {
        postgres: "SELECT name || ' = off' AS said FROM pg_catalog.pg_settings
            WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name",
    };
}

/// What an administrator should change about a PostgreSQL server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFault {
    pub what: String,
    pub advice: &'static str,
}

/// None on SQLite.
pub async fn server_faults(store: &Store) -> Result<Vec<ServerFault>, StoreError> {
    if store.dialect() == Dialect::Sqlite {
        return Ok(Vec::new());
    }
    let mut faults = Vec::new();
    let others = said(store, &NEIGHBOURS).await?;
    if !others.is_empty() {
        let what =
            "others may create functions and tables in the schema of the service, which run as its role";
        let advice = "`REVOKE CREATE ON SCHEMA … FROM …`, docs/postgresql.md";
        faults.push(ServerFault { what: format!("{what}: {others}"), advice });
    }
    let losing = said(store, &LOSING).await?;
    if !losing.is_empty() {
        let what = format!("the server can lose acknowledged requests when its machine fails: {losing}");
        faults.push(ServerFault { what, advice: "set it to `on` in postgresql.conf, docs/postgresql.md" });
    }
    Ok(faults)
}

async fn said(store: &Store, list: &Sql) -> Result<String, StoreError> {
    let rows = store.readers().fetch_all(list.unbound()).await?;
    let said: Vec<String> = rows.iter().map(|row| row.get("said")).collect::<Result<_, _>>()?;
    Ok(said.join(", "))
}
