//! API keys.

use std::collections::HashMap;

use askama::Template;
use overnight_domain::ids::KeyId;
use overnight_domain::money::Credits;

use super::format::filters;
use super::layout::pages;
use super::{Layout, Section};
use crate::app::api_keys::ApiKey;

#[derive(Template)]
#[template(path = "console/keys.html")]
pub(crate) struct KeysPage<'a> {
    pub(crate) layout: Layout,
    pub(crate) may_work: bool,
    /// The key that was made just now: the only time that it is shown.
    pub(crate) made: Option<&'a str>,
    pub(crate) keys: Vec<ApiKey>,
    /// Whether older keys that do not work any more are left out.
    pub(crate) is_cut: bool,
    /// Days that `spent` looks back.
    pub(crate) days: u32,
    /// What was spent by each of the keys by which anything completed.
    pub(crate) spent: HashMap<KeyId, Credits>,
    /// Where the API is.
    pub(crate) url: String,
    pub(crate) model: &'a str,
    pub(crate) now: i64,
}

impl KeysPage<'_> {
    fn spent_by(&self, key: &ApiKey) -> Option<Credits> {
        self.spent.get(&key.id).copied()
    }

    fn is_live(&self, key: &ApiKey) -> bool {
        key.works_at(self.now)
    }
}

pages!(KeysPage<'_>);
