//! Shared by the lists of requests and batches: their parameters, and their paging.

use std::fmt::Display;

use overnight_app::batches::FailureGroups;
use overnight_app::failures::Failure;
use overnight_app::requests::RequestRow;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ListParams {
    pub status: String,
    pub model: String,
    pub batch: String,
    pub search: String,
}

impl ListParams {
    pub(super) fn is_filtered(&self) -> bool {
        *self != Self::default()
    }

    /// The parameters that List Requests takes.
    pub(super) fn as_api(&self) -> String {
        let fields = [("status", &self.status), ("model", &self.model)];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(fields.into_iter().filter(|(_, value)| !value.is_empty()));
        let query = query.finish();
        if query.is_empty() { query } else { format!("{query}&") }
    }

    /// The query of the page after `before`.
    pub(super) fn after(&self, before: &impl Display) -> String {
        let fields = [
            ("status", &self.status),
            ("model", &self.model),
            ("batch", &self.batch),
            ("search", &self.search),
        ];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(fields.into_iter().filter(|(_, value)| !value.is_empty()));
        query.append_pair("before", &before.to_string());
        query.finish()
    }
}

/// Requests of a list that are shown together.
pub(crate) struct RowGroup<'a> {
    /// Their common failure, if they are grouped by failures.
    pub(super) failure: Option<&'a Failure>,
    /// The number of such failures on all pages; `None` if not counted.
    pub(super) total: Option<usize>,
    pub(super) rows: Vec<&'a RequestRow>,
}

impl<'a> RowGroup<'a> {
    pub(super) fn all(rows: &'a [RequestRow]) -> Vec<Self> {
        vec![Self { failure: None, total: None, rows: rows.iter().collect() }]
    }

    /// Grouped by failure, the largest group first; those without a reason last.
    pub(super) fn by_failure(rows: &'a [RequestRow], counted: Option<&FailureGroups>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for row in rows {
            let failure = row.failure.as_ref();
            match groups.iter_mut().find(|group| group.failure == failure) {
                Some(group) => group.rows.push(row),
                None => {
                    let total = counted.zip(failure).and_then(|(counted, failure)| counted.count_of(failure));
                    groups.push(Self { failure, total, rows: vec![row] });
                }
            }
        }
        let size = |group: &Self| group.total.unwrap_or(0).max(group.rows.len());
        groups.sort_by_key(|group| (group.failure.is_none(), std::cmp::Reverse(size(group))));
        groups
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextPage<Id> {
    End,
    Next(Id),
    /// After this one, which ended the search.
    LookOn(Id),
}

impl<Id> NextPage<Id> {
    pub(crate) fn of(next: Option<Id>, looked_through: Option<Id>) -> Self {
        match (next, looked_through) {
            (Some(next), _) => Self::Next(next),
            (None, Some(last)) => Self::LookOn(last),
            (None, None) => Self::End,
        }
    }
}
