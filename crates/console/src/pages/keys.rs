use std::collections::HashMap;

use askama::Template;
use overnight_app::api_keys::ApiKey;
use overnight_domain::ids::KeyId;
use overnight_domain::money::Credits;

use super::format::filters;
use super::layout::pages;
use super::{Layout, Section};

#[derive(Template)]
#[template(path = "keys.html")]
pub(crate) struct KeysPage<'a> {
    pub layout: Layout,
    pub may_work: bool,
    /// A new key, which is shown only once.
    pub made: Option<&'a str>,
    pub keys: Vec<ApiKey>,
    /// Whether older revoked keys are omitted.
    pub is_cut: bool,
    /// The period of `spent`.
    pub days: u32,
    /// Of keys with completed requests.
    pub spent: HashMap<KeyId, Credits>,
    pub url: String,
    pub model: &'a str,
    pub now: i64,
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
