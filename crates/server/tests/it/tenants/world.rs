//! A service with two accounts and their things.

use std::collections::BTreeSet;

use overnight_app::accounts::Account;
use overnight_app::accounts::members;
use overnight_app::file_batches::fill_account;
use overnight_app::users::Standing;
use overnight_app::{users, webhooks};
use overnight_domain::roles::Role;
use overnight_store::operations::transfer;
use overnight_testkit::stripe::Stripe;
use serde_json::{Value, json};

use super::callers::Caller;
use super::cases::{For, Noun, PROMPT, Stage};
use super::sent::{Call, Sent};
use crate::console::{self, Browser};
use crate::payments;
use crate::support::{Client, TestApp};

/// A file of one line. No answer to another caller may contain its prompt.
const LINE: &str = concat!(
    r#"{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"llama-3.1-8b-instruct","#,
    r#""messages":[{"role":"user","content":"zebras of the owner"}]}}"#,
    "\n"
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Party {
    Owner,
    Stranger,
}

#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) id: String,
    /// The thing that contains it, or that it contains.
    pub(super) within: String,
}

/// A service that sells credits, with every route.
pub(super) struct World {
    pub(super) app: TestApp,
    _stripe: Stripe,
    accounts: [Account; 2],
    numbers: usize,
    /// The number of requests of a new batch, and of lines of a new file, and the bytes of each prompt.
    pub(super) scale: (usize, usize),
    /// Texts that only the owner's account may see.
    secrets: BTreeSet<String>,
}

impl World {
    pub(super) async fn open() -> Self {
        let stripe = payments::stand_in().await;
        let app = payments::start_selling(&stripe).await;
        let accounts = console::both_accounts(&app).await;
        let secrets = [PROMPT.to_owned(), accounts[0].id.to_string(), app.key().to_owned()].into();
        Self { app, _stripe: stripe, accounts, numbers: 0, scale: (1, 0), secrets }
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

    pub(super) fn number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }

    /// A caller of this kind for an account, with a new session.
    pub(super) async fn caller(&mut self, whose: For, party: Party) -> Caller {
        if whose == For::Program {
            return Caller::Program(self.client(party));
        }
        let email = format!("{}-{}@example.com", ["keeper", "stranger"][party as usize], self.number());
        let mut browser = console::member(&self.app, self.account(party), &email, Role::Owner).await;
        // From here on the browser's cookie names the account that it showed last.
        assert_eq!(browser.get(&format!("/console/{}", self.account(party).id)).await.status, 200);
        if party == Party::Owner {
            self.secrets.insert(email);
        }
        Caller::Browser(browser)
    }

    pub(super) async fn operator(&mut self) -> Caller {
        let email = format!("operator-{}@example.com", self.number());
        let user = users::create(&self.app.services, &email, Standing::Operator).await.expect("a user");
        Caller::Browser(console::signed_in(&self.app, &user).await)
    }

    /// A caller without a key or a session.
    pub(super) fn nobody(&self, whose: For) -> Caller {
        match whose {
            For::Program => Caller::Program(self.app.anonymous()),
            _ => Caller::Browser(Browser::new(&self.app)),
        }
    }

    /// The first of the owner's secrets in a text.
    pub(super) fn secret_in(&self, text: &str) -> Option<&String> {
        self.secrets.iter().find(|secret| text.contains(&***secret))
    }

    /// Every row of the database.
    pub(super) async fn rows(&self) -> BTreeSet<String> {
        let mut file = Vec::new();
        transfer::export(&self.app.services.store, &mut file).await.expect("an export");
        let text = String::from_utf8(file).expect("text");
        text.lines().filter(|line| line.starts_with('[')).map(str::to_owned).collect()
    }

    /// Creates a thing for an account.
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
                let (_, made) = self.app.new_key_named(account.id, "one more").await;
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

    async fn batch(&self, party: Party, stage: Stage) -> Made {
        let mut requests = match self.scale {
            (1, _) => vec![self.request(party, Stage::Live).await],
            (count, prompt_bytes) => self.requests(party, count, prompt_bytes).await,
        };
        let made = self.client(party).post("/v1/batches", &json!({"requests_ids": requests})).await;
        self.end(stage).await;
        Made { id: requests.swap_remove(0), within: text(&made.json()["id"]) }
    }

    /// Requests with prompts of this length, created in bulk.
    async fn requests(&self, party: Party, count: usize, prompt_bytes: usize) -> Vec<String> {
        let line = TestApp::quick_start(&"z".repeat(prompt_bytes)).to_string() + "\n";
        let client = self.client(party).with("content-type", "application/x-ndjson");
        let answered = client.send("POST", "/v1/requests", line.repeat(count)).await.checked(200);
        let lines = String::from_utf8(answered.body).expect("text");
        let id = |line: &str| text(&serde_json::from_str::<Value>(line).expect("JSON")["id"]);
        lines.lines().map(id).collect()
    }

    async fn end(&self, stage: Stage) {
        match stage {
            Stage::Live => {}
            Stage::Completed => self.app.complete_all().await,
            Stage::Failed => self.app.fail_all().await,
        }
    }

    async fn file(&self, party: Party) -> String {
        let lines = match self.scale {
            (1, _) => LINE,
            (count, prompt_bytes) => {
                let line = LINE.replace("zebras", &"z".repeat(prompt_bytes));
                let line = |number| line.replacen("\"a\"", &format!("\"{number}\""), 1);
                (0..count).map(line).collect::<String>().leak()
            }
        };
        let parts = [("name=\"purpose\"", "batch"), ("name=\"file\"; filename=\"rows.jsonl\"", lines)];
        text(&self.post(party, "/openai/v1/files", Sent::Parts(Vec::from(parts).leak())).await["id"])
    }

    async fn file_batch(&self, party: Party, stage: Stage) -> String {
        let file = self.file(party).await;
        let body =
            json!({"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"});
        let made = self.client(party).post("/openai/v1/batches", &body).await;
        fill_account(&self.app.services, self.account(party).key).await.expect("a filling");
        self.end(stage).await;
        text(&made.json()["id"])
    }

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
