//! Callers and their answers.

use super::ids;
use super::sent::Call;
use crate::console::Browser;
use crate::support::{Answered, Client};

pub(super) enum Caller {
    Program(Client),
    Browser(Browser),
}

impl Caller {
    pub(super) async fn send(&mut self, call: &Call) -> Answered {
        match self {
            Self::Program(client) => {
                let with = |client: Client, (name, value): &(String, String)| client.with(name, value);
                let client = call.headers.iter().fold(client.clone(), with);
                client.send(&call.method, &call.path, call.body.clone()).await
            }
            Self::Browser(browser) => {
                let headers = call.headers.iter().map(|(name, value)| (&**name, &**value));
                let headers: Vec<_> = headers.chain([("sec-fetch-site", "same-origin")]).collect();
                browser.send(&call.method, &call.path, &headers, call.body.clone()).await
            }
        }
    }
}

/// The whole answer except its date, with identifiers replaced by `name`.
pub(super) fn told(answered: &Answered, name: impl FnMut(&str) -> String) -> String {
    let mut text = format!("{}\n", answered.status);
    for (header, value) in &answered.headers {
        if header != "date" {
            text.push_str(&format!("{header}: {}\n", String::from_utf8_lossy(value.as_bytes())));
        }
    }
    text.push('\n');
    text.push_str(&String::from_utf8_lossy(&answered.body));
    ids::renamed(&text, name)
}
