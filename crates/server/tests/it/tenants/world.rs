//! A service with two accounts, and what belongs to each.

use std::collections::BTreeSet;

use overnight_domain::requests::RequestStatus;
use overnight_domain::roles::Role;
use overnight_server::app::accounts::Account;
use overnight_server::app::file_batches::fill_account;
use overnight_server::app::users::Standing;
use overnight_server::app::{api_keys, members, users, webhooks};
use overnight_server::store::operations::transfer;
use overnight_testkit::stripe::Stripe;
use serde_json::{Value, json};

use super::callers::Caller;
use super::cases::{For, Noun, PROMPT, Stage};
use super::sent::{Call, Sent};
use crate::console::{self, Browser};
use crate::payments;
use crate::support::{Client, TestApp};

/// A file of one line. No answer to others may hold its prompt.
const LINE: &str = concat!(
    r#"{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"llama-3.1-8b-instruct","#,
    r#""messages":[{"role":"user","content":"zebras of the owner"}]}}"#,
    "\n"
);

/// Somebody with an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Party {
    Owner,
    Stranger,
}

/// A thing that belongs to an account.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) id: String,
    /// What it belongs to, or what belongs to it.
    pub(super) within: String,
}

/// A service that sells credits, with every route that there is.
pub(super) struct World {
    pub(super) app: TestApp,
    _stripe: Stripe,
    accounts: [Account; 2],
    numbers: usize,
    /// What only the owner's account may be told.
    secrets: BTreeSet<String>,
}

impl World {
    pub(super) async fn open() -> Self {
        let stripe = payments::stand_in().await;
        let app = payments::start_selling(&stripe).await;
        let accounts = console::both_accounts(&app).await;
        let secrets = [PROMPT.to_owned(), accounts[0].id.to_string(), app.key().to_owned()].into();
        Self { app, _stripe: stripe, accounts, numbers: 0, secrets }
    }

    pub(super) fn account(&self, party: Party) -> &Account {
        &self.accounts[party as usize]
    }

    fn client(&self, party: Party) -> Client {
        match party {
            Party::Owner => self.app.client(),
            Party::Stranger => self.app.stranger(),
        }
    }

    /// A number that was not given before.
    pub(super) fn number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }

    /// Whoever calls operations of this kind for an account, signed in anew.
    pub(super) async fn caller(&mut self, whose: For, party: Party) -> Caller {
        if whose == For::Program {
            return Caller::Program(self.client(party));
        }
        let email = format!("{}-{}@example.com", ["keeper", "stranger"][party as usize], self.number());
        let mut browser = console::member(&self.app, self.account(party), &email, Role::Owner).await;
        // From here on the browser says which account it showed last.
        assert_eq!(browser.get(&format!("/console/{}", self.account(party).id)).await.status, 200);
        if party == Party::Owner {
            self.secrets.insert(email);
        }
        Caller::Browser(browser)
    }

    /// An operator, signed in anew.
    pub(super) async fn operator(&mut self) -> Caller {
        let email = format!("operator-{}@example.com", self.number());
        let user = users::create(&self.app.services, &email, Standing::Operator).await.expect("a user");
        Caller::Browser(console::signed_in(&self.app, &user).await)
    }

    /// Somebody without a key and without a session.
    pub(super) fn nobody(&self, whose: For) -> Caller {
        match whose {
            For::Program => Caller::Program(self.app.anonymous()),
            _ => Caller::Browser(Browser::new(&self.app)),
        }
    }

    /// The first of the owner's secrets that a text tells.
    pub(super) fn secret_in(&self, text: &str) -> Option<&String> {
        self.secrets.iter().find(|secret| text.contains(&***secret))
    }

    /// Every row that the service keeps.
    pub(super) async fn rows(&self) -> BTreeSet<String> {
        let mut file = Vec::new();
        transfer::export(&self.app.services.store, &mut file).await.expect("an export");
        let text = String::from_utf8(file).expect("text");
        text.lines().filter(|line| line.starts_with('[')).map(str::to_owned).collect()
    }

    /// Makes one for an account.
    pub(super) async fn make(&mut self, party: Party, noun: Noun, stage: Stage) -> Made {
        let made = self.make_one(party, noun, stage).await;
        if party == Party::Owner {
            self.secrets.extend([&made.id, &made.within].into_iter().filter(|id| !id.is_empty()).cloned());
        }
        made
    }

    async fn make_one(&mut self, party: Party, noun: Noun, stage: Stage) -> Made {
        let account = self.account(party).clone();
        let services = self.app.services.clone();
        let alone = |id: String| Made { id, within: String::new() };
        match noun {
            Noun::Account => alone(account.id.to_string()),
            Noun::Member => {
                let email = format!("viewer-{}@example.com", self.number());
                let user = users::create(&services, &email, Standing::Ordinary).await.expect("a user");
                members::add(&services, &account, &user, Role::Viewer).await.expect("a member");
                alone(user.id.to_string())
            }
            Noun::Key => {
                let made = api_keys::create(
                    &services,
                    account.id,
                    api_keys::KeyDraft { name: Some("one more"), ..api_keys::KeyDraft::PLAIN },
                )
                .await
                .expect("a key");
                alone(made.record.id.to_string())
            }
            Noun::Event => {
                self.request(party, Stage::Completed).await;
                let events =
                    webhooks::list_own_events(&services, account.key, None, None, 1).await.expect("events");
                alone(events.rows[0].id.to_string())
            }
            Noun::Request => alone(self.request(party, stage).await),
            Noun::Response => alone(self.request(party, stage).await.replace("req_", "resp_")),
            Noun::Item => {
                let response = self.request(party, stage).await.replace("req_", "resp_");
                let items =
                    self.client(party).get(&format!("/openai/v1/responses/{response}/input_items")).await;
                Made { id: text(&items.json()["data"][0]["id"]), within: response }
            }
            Noun::Batch => alone(self.batch(party, stage).await.within),
            Noun::RequestOfBatch => self.batch(party, stage).await,
            Noun::MessageBatch => alone(self.batch(party, stage).await.within.replace("batch_", "msgbatch_")),
            Noun::BatchInput => alone(self.batch(party, stage).await.within.replace("batch_", "file_input_")),
            Noun::BatchOutput => alone(self.file_batch(party, stage).await.replace("batch_", "file_output_")),
            Noun::BatchErrors => alone(self.file_batch(party, stage).await.replace("batch_", "file_errors_")),
            Noun::File => alone(self.file(party).await),
            Noun::Upload => {
                let (upload, part) = self.upload(party).await;
                Made { id: upload, within: part }
            }
            Noun::Part => {
                let (upload, part) = self.upload(party).await;
                Made { id: part, within: upload }
            }
        }
    }

    async fn post(&self, party: Party, path: &str, sent: Sent) -> Value {
        let (kind, body) = sent.write();
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        let call = Call { method: "POST".to_owned(), path: path.to_owned(), headers, body };
        let answered = Caller::Program(self.client(party)).send(&call).await;
        assert!(answered.status < 300, "{path}: {answered:?}");
        answered.json()
    }

    async fn request(&self, party: Party, stage: Stage) -> String {
        let body = json!({
            "request_body": TestApp::quick_start([PROMPT, "something else"][party as usize])["request_body"],
            "webhook": "https://example.com/hook",
        });
        let created = self.client(party).post("/v1/requests", &body).await;
        self.end(stage).await;
        text(&created.json()[0]["id"])
    }

    /// A request within its batch.
    async fn batch(&self, party: Party, stage: Stage) -> Made {
        let request = self.request(party, Stage::Live).await;
        let made = self.client(party).post("/v1/batches", &json!({"requests_ids": [request]})).await;
        self.end(stage).await;
        Made { id: request, within: text(&made.json()["id"]) }
    }

    async fn end(&self, stage: Stage) {
        match stage {
            Stage::Live => {}
            Stage::Completed => self.app.settle_all(RequestStatus::Completed).await,
            Stage::Failed => self.app.settle_all(RequestStatus::Failed).await,
        }
    }

    async fn file(&self, party: Party) -> String {
        let parts = &[("name=\"purpose\"", "batch"), ("name=\"file\"; filename=\"rows.jsonl\"", LINE)];
        text(&self.post(party, "/openai/v1/files", Sent::Parts(parts)).await["id"])
    }

    /// A batch of a file.
    async fn file_batch(&self, party: Party, stage: Stage) -> String {
        let file = self.file(party).await;
        let body =
            json!({"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"});
        let made = self.client(party).post("/openai/v1/batches", &body).await;
        fill_account(&self.app.services, self.account(party).key).await.expect("a filling");
        self.end(stage).await;
        text(&made.json()["id"])
    }

    /// An upload and its one part, which is all of it.
    async fn upload(&self, party: Party) -> (String, String) {
        let begun = json!({"bytes": LINE.len(), "filename": "r", "mime_type": "application/jsonl", "purpose": "batch"});
        let upload = text(&self.client(party).post("/openai/v1/uploads", &begun).await.json()["id"]);
        let path = format!("/openai/v1/uploads/{upload}/parts");
        let part =
            self.post(party, &path, Sent::Parts(&[("name=\"data\"; filename=\"upload\"", LINE)])).await;
        (upload, text(&part["id"]))
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text, not {value}")).to_owned()
}
