//! Who else of a PostgreSQL server could run code as the role of the service: a function in a schema of its search_path can be a better
//! match for a call than PostgreSQL's own, and a table there can hide ours.

use crate::database::{Dialect, statements};
use crate::{Store, StoreError};

statements! {
    /// Owners of the database and superusers can do as they like anyway. The usual search_path begins with a schema that has the name of the
    /// role.
    LIST = {
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
}

/// Roles that may create functions and tables in the schemas of the search_path, such as `PUBLIC in schema public`, or a schema there; none
/// on SQLite.
pub async fn neighbours(store: &Store) -> Result<Vec<String>, StoreError> {
    if store.dialect() == Dialect::Sqlite {
        return Ok(Vec::new());
    }
    let rows = store.readers().fetch_all(LIST.unbound()).await?;
    rows.iter().map(|row| row.get("said")).collect()
}
