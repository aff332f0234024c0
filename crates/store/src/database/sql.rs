//! Declared statements: a name, and a text for each database.

use crate::database::value::Kind;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sql {
    pub(crate) name: &'static str,
    /// Empty if never used.
    pub(crate) sqlite: &'static str,
    /// Empty if never used.
    pub(crate) postgres: &'static str,
    /// The kinds of the columns of its list of rows; empty without a list.
    pub(crate) columns: &'static [Kind],
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
        pub(crate) static $name: $crate::database::Sql = $crate::database::Sql {
            name: concat!(module_path!(), "::", stringify!($name)),
            columns: &[$($($crate::database::Kind::$kind),*)?],
            ..$crate::database::texts!($text)
        };)*

        /// For tests that examine every statement.
        #[cfg(test)]
        pub(crate) const STATEMENTS: &[&$crate::database::Sql] = &[$(&$name),*];
    };
}

macro_rules! texts {
    ({ sqlite: $sqlite:expr, postgres: $postgres:expr $(,)? }) => {
        $crate::database::Sql::of($sqlite, $postgres)
    };
    ({ sqlite: $sqlite:expr $(,)? }) => {
        $crate::database::Sql::of($sqlite, "")
    };
    ({ postgres: $postgres:expr $(,)? }) => {
        $crate::database::Sql::of("", $postgres)
    };
    ($both:literal) => {
        $crate::database::Sql::of($both, $both)
    };
    (($($part:tt)+)) => {
        $crate::database::Sql::of(concat!($($part)+), concat!($($part)+))
    };
}
pub(crate) use {statements, texts};

impl Sql {
    /// Without a name or a list of rows.
    pub(crate) const fn of(sqlite: &'static str, postgres: &'static str) -> Self {
        Self { name: "", sqlite, postgres, columns: &[] }
    }
}
