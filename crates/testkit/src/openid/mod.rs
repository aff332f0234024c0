//! A simulated OpenID provider on a real socket: discovery, keys, authorization, tokens and user info, with strict checks of each request.
//! Every visitor is signed in immediately as the chosen person. Tokens are built by hand, so that the code that reads them is not tested
//! against itself.

mod http;
mod tokens;

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;
use tokio::net::TcpListener;

pub use self::tokens::KeyKind;
use self::tokens::SigningKey;
use crate::stand::{Server, lock};

/// A running provider on its own loopback port. Dropping it stops the provider.
#[derive(Debug)]
pub struct OpenIdProvider {
    state: Arc<State>,
    server: Server,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Person {
    pub subject: String,
    pub email: Option<String>,
    /// The claim that the address is the person's; `None` omits the claim.
    pub is_verified: Option<bool>,
    /// The claim `xms_edov`, as Microsoft Entra ID has it.
    pub edov: Option<Value>,
}

/// Differences between providers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Habits {
    pub signs_user_info: bool,
    /// Whether discovery promises `iss` in the redirect, and the redirect has it. <https://www.rfc-editor.org/rfc/rfc9207>
    pub names_itself: bool,
    pub secret_goes: SecretGoes,
    /// The status of every answer.
    pub answers_only: Option<u16>,
}

/// How a provider accepts the client's secret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SecretGoes {
    /// `client_secret_basic`.
    #[default]
    InTheHead,
    /// `client_secret_post`.
    InTheBody,
    /// Both, but escapes in the head are not decoded, as with some providers.
    InTheBodyOrUnescaped,
}

/// Faults of the next sign-ins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The person refuses: `error=access_denied`.
    Denied,
    WrongNonce,
    /// The ID token is meant for another client.
    WrongAudience,
    WrongIssuer,
    Expired,
    /// The ID token is issued six minutes ahead.
    IssuedLater,
    /// The ID token is valid from six minutes ahead on.
    ValidLater,
    /// The ID token was issued to another client, for this one too.
    IssuedToAnother,
    /// The ID token is signed with a foreign key under the name of the provider's key.
    ForeignSignature,
    /// The ID token is not signed: `alg` is `none`.
    Unsigned,
    /// The ID token is signed with the client's secret, which is too weak: `alg` is `HS256`.
    SignedWithSecret,
    /// The ID token has no e-mail address; user info has it.
    ThinTokens,
    /// User info describes another person.
    WrongUserInfo,
    /// User info is signed with a foreign key under the name of the provider's key.
    ForeignUserInfo,
    /// User info is meant for another client.
    UserInfoOfOthers,
    /// The redirect names another provider.
    WrongReturn,
    /// The redirect names no provider.
    NamelessReturn,
}

#[derive(Debug)]
struct State {
    issuer: String,
    client_id: String,
    client_secret: String,
    records: Mutex<Records>,
}

#[derive(Debug)]
struct Records {
    key: SigningKey,
    foreign_key: SigningKey,
    person: Person,
    trouble: Option<Trouble>,
    habits: Habits,
    /// Each code is valid once.
    codes: HashMap<String, Grant>,
    accesses: HashMap<String, (Person, Option<Trouble>)>,
    made: u32,
    discoveries: usize,
}

#[derive(Debug, Clone)]
struct Grant {
    challenge: String,
    nonce: String,
    return_url: String,
    person: Person,
    trouble: Option<Trouble>,
}

impl OpenIdProvider {
    /// Starts a provider on the current tokio runtime; it accepts calls from this client when this returns.
    pub async fn start(client_id: &str, client_secret: &str) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let records = Records {
            key: SigningKey::new(KeyKind::Es256, "first")?,
            foreign_key: SigningKey::new(KeyKind::Es256, "first")?,
            person: Person::default(),
            trouble: None,
            habits: Habits::default(),
            codes: HashMap::new(),
            accesses: HashMap::new(),
            made: 0,
            discoveries: 0,
        };
        let state = Arc::new(State {
            issuer: format!("http://{address}"),
            client_id: client_id.to_owned(),
            client_secret: client_secret.to_owned(),
            records: Mutex::new(records),
        });
        let router = http::router(Arc::clone(&state));
        Ok(Self { state, server: Server::start(listener, router)? })
    }

    /// The value for `console.oidc.issuer`.
    pub fn issuer(&self) -> &str {
        &self.state.issuer
    }

    pub const fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Signs in this person from now on.
    pub fn present(&self, person: Person) {
        self.state.records().person = person;
    }

    /// Sets or clears the fault of sign-ins that begin from now on.
    pub fn trouble(&self, trouble: Option<Trouble>) {
        self.state.records().trouble = trouble;
    }

    pub fn behave(&self, habits: Habits) {
        self.state.records().habits = habits;
    }

    /// Signs with another key of this kind and name from now on.
    pub fn change_key(&self, kind: KeyKind, name: &'static str) -> io::Result<()> {
        self.state.records().key = SigningKey::new(kind, name)?;
        Ok(())
    }

    /// The number of discovery requests.
    pub fn discovery_count(&self) -> usize {
        self.state.records().discoveries
    }
}

impl State {
    fn records(&self) -> MutexGuard<'_, Records> {
        lock(&self.records)
    }
}

impl Records {
    /// A text that was never returned before.
    fn fresh(&mut self, what: &str) -> String {
        self.made += 1;
        format!("{what}-{}", self.made)
    }
}
