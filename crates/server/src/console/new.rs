//! Many requests at once.

use askama::Template;

use super::format::filters;
use super::layout::pages;
use super::{Layout, Section};
use crate::app::submissions::Checked;

/// Where many requests are sent at once.
#[derive(Template)]
#[template(path = "console/new.html")]
pub(crate) struct NewPage<'a> {
    pub(crate) layout: Layout,
    pub(crate) may_work: bool,
    pub(crate) lines: &'a str,
    pub(crate) name: &'a str,
    pub(crate) webhook: &'a str,
    pub(crate) checked: Option<Checked>,
    /// Whether what was checked was a file that is too long to be sent back, and is to be chosen again.
    pub(crate) is_to_be_chosen_again: bool,
    pub(crate) model: &'a str,
    /// The models that rows of a table can ask.
    pub(crate) models: Vec<&'a str>,
    pub(crate) url: String,
}

impl NewPage<'_> {
    /// Whether the account can pay for what was checked.
    fn is_payable(&self) -> bool {
        self.checked.as_ref().is_none_or(|checked| !checked.is_priced || checked.hold <= checked.available)
    }
}

pages!(NewPage<'_>);
