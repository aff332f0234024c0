//! Which settings take effect without a restart.
//!
//! Settings are an immutable snapshot. `app::Settings` holds the last loaded settings and their models; readers take both together.
//! `service::reload` replaces them: first `engines::Engines` (an unusable engine refuses the whole reload), then settings and models, then
//! it notifies the scheduler. `Config::reloaded` names the settings that take effect without a restart. `scheduler::Replicas` is a value: a
//! reload makes its successor, in which a replica keeps its key while it has its name and its process. A removed replica finishes its
//! requests, like one that another node takes over, and `Shell` then releases its client. Engines that DNS names (`engines/discovery.rs`)
//! are replaced in the same way, every 10 s: each address is an engine's settings under its own name.

use super::Config;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reloaded {
    pub config: Config,
    /// The names of changed settings, with the differences in lists.
    pub changed: Vec<String>,
    /// The names of changed settings that need a restart.
    pub needs_restart: Vec<String>,
}

/// Keeps the old settings before the second semicolon, with the operators' name of each if that differs. The settings after it are taken
/// from the loaded ones, as are the lists after the third.
macro_rules! reloaded {
    (
        $before:ident, $loaded:ident; $($kept:ident $($name:literal)?),+; $($taken:ident),+; $($list:ident),+
    ) => {{
        let needs_restart =
            [$(($before.$kept != $loaded.$kept, [$($name,)? stringify!($kept)][0])),+];
        let taken = [$(($before.$taken != $loaded.$taken, stringify!($taken))),+];
        let lists = [$($crate::reloading::difference(stringify!($list), &$before.$list, &$loaded.$list, |it| &it.name)),+];
        let kept = $before.clone();
        $crate::Reloaded {
            config: Self {
                $($kept: kept.$kept,)+
                $($taken: $loaded.$taken,)+
                $($list: $loaded.$list,)+
            },
            changed: $crate::reloading::others(&taken).chain(lists.into_iter().flatten()).collect(),
            needs_restart: $crate::reloading::others(&needs_restart).collect(),
        }
    }};
}
pub(super) use reloaded;

/// The names of changed settings.
pub(super) fn others(found: &[(bool, &str)]) -> impl Iterator<Item = String> {
    found.iter().filter(|(is_other, _)| *is_other).map(|(_, name)| (*name).to_owned())
}

/// The difference of two lists of named sections, in words.
pub(super) fn difference<T: PartialEq>(
    key: &str,
    before: &[T],
    after: &[T],
    name: fn(&T) -> &str,
) -> Option<String> {
    let found = |list: &'_ [T], wanted: &str| list.iter().position(|it| name(it) == wanted);
    let of = |list: &[T], is_meant: &dyn Fn(&T) -> bool| -> Vec<String> {
        list.iter().filter(|it| is_meant(it)).map(|it| format!("`{}`", name(it))).collect()
    };
    let added = of(after, &|it| found(before, name(it)).is_none());
    let removed = of(before, &|it| found(after, name(it)).is_none());
    let changed = of(after, &|it| found(before, name(it)).is_some_and(|place| before[place] != *it));
    let parts = [("added", added), ("removed", removed), ("changed", changed)];
    let parts: Vec<_> = parts
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what} {}", names.join(", ")))
        .collect();
    let order = || format!("{key} (in another order)");
    match parts.is_empty() {
        true => (before != after).then(order),
        false => Some(format!("{key} ({})", parts.join("; "))),
    }
}
