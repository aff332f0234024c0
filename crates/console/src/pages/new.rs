use askama::Template;
use overnight_app::submissions::Checked;

use super::format::filters;
use super::layout::pages;
use super::{Layout, Section};

/// The page for sending many requests.
#[derive(Template)]
#[template(path = "new.html")]
pub(crate) struct NewPage<'a> {
    pub layout: Layout,
    pub may_work: bool,
    pub lines: &'a str,
    pub name: &'a str,
    pub webhook: &'a str,
    pub checked: Option<Checked>,
    /// Whether the checked file is too long to be sent back, and must be chosen again.
    pub is_to_be_chosen_again: bool,
    pub model: &'a str,
    /// Models for the rows of a table.
    pub models: Vec<&'a str>,
    pub url: String,
}

impl NewPage<'_> {
    /// Whether the account can pay for the checked requests.
    fn is_payable(&self) -> bool {
        self.checked.as_ref().is_none_or(|checked| !checked.is_priced || checked.hold <= checked.available)
    }
}

pages!(NewPage<'_>);
