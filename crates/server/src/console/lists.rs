//! What the lists of requests and of batches have in common: their parameters, and where their next page begins.

use std::fmt::Display;

use crate::app::batches::FailureGroups;
use crate::app::failures::Failure;
use crate::app::requests::RequestRow;

/// The parameters of a list, as they stand in its address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ListParams {
    pub(crate) status: String,
    pub(crate) model: String,
    pub(crate) batch: String,
    pub(crate) search: String,
}

impl ListParams {
    pub(super) fn is_filtered(&self) -> bool {
        *self != Self::default()
    }

    /// The part of it that List Requests takes.
    pub(super) fn as_api(&self) -> String {
        let fields = [("status", &self.status), ("model", &self.model)];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(fields.into_iter().filter(|(_, value)| !value.is_empty()));
        let query = query.finish();
        if query.is_empty() { query } else { format!("{query}&") }
    }

    /// The query of the page behind `before`.
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

/// Requests of a list that stand together.
pub(crate) struct RowGroup<'a> {
    /// What all of them failed with, where they are grouped by that.
    pub(super) failure: Option<&'a Failure>,
    /// How many failed so on all pages; `None` where nobody counted.
    pub(super) total: Option<usize>,
    pub(super) rows: Vec<&'a RequestRow>,
}

impl<'a> RowGroup<'a> {
    /// All of the rows as they are.
    pub(super) fn all(rows: &'a [RequestRow]) -> Vec<Self> {
        vec![Self { failure: None, total: None, rows: rows.iter().collect() }]
    }

    /// Those that failed alike together, the largest group first; those that say nothing of their failure last.
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

/// Where the next page of a list begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextPage<Id> {
    End,
    Next(Id),
    /// Behind this one, up to which was looked.
    LookOn(Id),
}

impl<Id> NextPage<Id> {
    /// From what a page of a list says.
    pub(crate) fn of(next: Option<Id>, looked_through: Option<Id>) -> Self {
        match (next, looked_through) {
            (Some(next), _) => Self::Next(next),
            (None, Some(last)) => Self::LookOn(last),
            (None, None) => Self::End,
        }
    }
}
