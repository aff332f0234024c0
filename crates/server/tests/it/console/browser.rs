//! A browser: it keeps cookies, uses the console's name as host, and sends the origin of a form.

use std::collections::BTreeMap;

use axum::http::header;
use url::form_urlencoded::Serializer;

use crate::support::{Answered, Client, TestApp};

/// Its host is this machine's name.
pub(crate) struct Browser {
    client: Client,
    host: String,
    cookies: BTreeMap<String, String>,
    pub(crate) headers: Vec<(String, String)>,
}

impl Browser {
    pub(crate) fn new(app: &TestApp) -> Self {
        Self::at(app, "127.0.0.1:8080")
    }

    pub(crate) fn at(app: &TestApp, host: &str) -> Self {
        let client = Client::new(app.address, None);
        Self { client, host: host.to_owned(), cookies: BTreeMap::new(), headers: Vec::new() }
    }

    /// The same browser with one more header in every call.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn copy(&self) -> Self {
        let Self { client, host, cookies, headers } = self;
        let (client, host) = (client.clone(), host.clone());
        Self { client, host, cookies: cookies.clone(), headers: headers.clone() }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answered {
        self.send("GET", path, &[], String::new()).await
    }

    /// Sends a form of the console.
    pub(crate) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answered {
        self.post_with(path, fields, &[("sec-fetch-site", "same-origin")]).await
    }

    pub(crate) async fn post_with(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Answered {
        let body = Serializer::new(String::new()).extend_pairs(fields).finish();
        let kind = ("content-type", "application/x-www-form-urlencoded");
        self.send("POST", path, &[headers, &[kind]].concat(), body).await
    }

    pub(crate) async fn post_parts(&mut self, path: &str, fields: &[(&str, &str)]) -> Answered {
        let part = |(name, value): &(&str, &str)| {
            format!("--form\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let body = fields.iter().map(part).collect::<String>() + "--form--\r\n";
        let kind = ("content-type", "multipart/form-data; boundary=form");
        self.send("POST", path, &[("sec-fetch-site", "same-origin"), kind], body).await
    }

    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Answered {
        let mut client = self.client.clone().with("host", &self.host);
        if !self.cookies.is_empty() {
            client = client.with("cookie", &self.cookie_header());
        }
        let own = self.headers.iter().map(|(name, value)| (&**name, &**value));
        for (name, value) in own.chain(headers.iter().copied()) {
            client = client.with(name, value);
        }
        let answered = client.send(method, path, body).await;
        for line in answered.headers.get_all(header::SET_COOKIE) {
            let line = line.to_str().unwrap();
            let (pair, rest) = line.split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            match rest.contains("Max-Age=0") {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        answered
    }

    pub(crate) fn cookie_header(&self) -> String {
        let pairs: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("; ")
    }

    pub(crate) async fn is_signed_in(&mut self) -> bool {
        let answered = self.get("/console/you").await;
        assert!(answered.status == 200 || is_redirected_to_sign_in(&answered), "{answered:?}");
        answered.status == 200
    }
}

pub(crate) fn is_redirected_to_sign_in(answered: &Answered) -> bool {
    answered.status == 303 && answered.header("location").starts_with("/console/sign-in")
}
