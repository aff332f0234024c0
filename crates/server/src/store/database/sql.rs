//! Statements as they are declared: by name, with the text that each database gets.

use crate::store::database::value::Kind;

/// A statement, declared by [`statements!`].
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct Sql {
    pub(in crate::store) name: &'static str,
    /// What SQLite gets; empty where it is never asked.
    pub(in crate::store) sqlite: &'static str,
    /// What PostgreSQL gets; empty where it is never asked.
    pub(in crate::store) postgres: &'static str,
    /// What each column of the list of rows holds that it is about; empty where it is about none.
    pub(in crate::store) columns: &'static [Kind],
}

/// Declares the statements of a file: every text of SQL stands in one of these.
///
/// ```text
/// statements! {
///     /// Both databases understand it; the places of its values are written `?`.
///     FIND = "SELECT seq FROM models WHERE name = ?";
///     /// Texts that share a part.
///     LIST = ("SELECT ", columns!(), " FROM models");
///     /// Each database has its own text, with the same values.
///     FIND_LOCKED = { sqlite: "SELECT … = ?", postgres: "SELECT … = ? FOR UPDATE" };
///     /// About a list of rows: SQLite executes it once a row, PostgreSQL once, with each column as an array. The places are
///     /// numbered, first those of the values that all rows share, then the columns.
///     END over [Integer, Bytes] = {
///         sqlite: "UPDATE t SET a = ?1 WHERE seq = ?2 AND id = ?3",
///         postgres: "UPDATE t SET a = $1 FROM unnest($2::bigint[], $3::bytea[]) AS v(seq, id) WHERE …",
///     };
/// }
/// ```
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident $(over [$($kind:ident),* $(,)?])? = $text:tt;)*) => {
        $($(#[$doc])*
        pub(in crate::store) static $name: $crate::store::database::Sql = $crate::store::database::Sql {
            name: concat!(module_path!(), "::", stringify!($name)),
            columns: &[$($($crate::store::database::Kind::$kind),*)?],
            ..$crate::store::database::texts!($text)
        };)*

        /// Every statement of this file, for the tests that look at all of them.
        #[cfg(test)]
        pub(in crate::store) const STATEMENTS: &[&$crate::store::database::Sql] = &[$(&$name),*];
    };
}

/// The texts of a statement that is declared by [`statements!`].
macro_rules! texts {
    ({ sqlite: $sqlite:expr, postgres: $postgres:expr $(,)? }) => {
        $crate::store::database::Sql::of($sqlite, $postgres)
    };
    ({ sqlite: $sqlite:expr $(,)? }) => {
        $crate::store::database::Sql::of($sqlite, "")
    };
    ({ postgres: $postgres:expr $(,)? }) => {
        $crate::store::database::Sql::of("", $postgres)
    };
    ($both:literal) => {
        $crate::store::database::Sql::of($both, $both)
    };
    (($($part:tt)+)) => {
        $crate::store::database::Sql::of(concat!($($part)+), concat!($($part)+))
    };
}
pub(in crate::store) use {statements, texts};

impl Sql {
    /// Without a name yet, and about no list of rows.
    pub(in crate::store) const fn of(sqlite: &'static str, postgres: &'static str) -> Self {
        Self { name: "", sqlite, postgres, columns: &[] }
    }
}
