//! A stand-in for an OpenID provider at the far side of a real socket: discovery, keys, authorization, tokens and user info,
//! strict about what it is sent. Whoever is sent there is signed in at once as the person who was chosen. Its tokens are written
//! by hand, so that what reads them is not tested against itself.

mod http;
mod tokens;

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use self::tokens::KeyKind;
use self::tokens::SigningKey;

/// A running stand-in on a loopback port of its own. Dropped, it stops.
#[derive(Debug)]
pub struct OpenIdProvider {
    state: Arc<State>,
    address: SocketAddr,
    server: JoinHandle<()>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Person {
    pub subject: String,
    pub email: Option<String>,
    /// Whether it says that the address is theirs; `None` where it says nothing of it.
    pub is_verified: Option<bool>,
    /// What it says in the claim `xms_edov`, as Microsoft Entra ID does.
    pub edov: Option<Value>,
}

/// What it does as other providers do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Habits {
    /// It signs what it tells of somebody when it is asked.
    pub signs_user_info: bool,
    /// It promises to say who it is when it sends a browser back, and does. <https://www.rfc-editor.org/rfc/rfc9207>
    pub names_itself: bool,
    /// By which it takes the client's secret.
    pub secret_goes: SecretGoes,
    /// It answers every call with this status and nothing else.
    pub answers_only: Option<u16>,
}

/// By which ways a provider takes a client's secret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SecretGoes {
    /// `client_secret_basic`.
    #[default]
    InTheHead,
    /// `client_secret_post`.
    InTheBody,
    /// Both, and it undoes no escapes in the head: some do not.
    InTheBodyOrUnescaped,
}

/// What is wrong with the next sign-ins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The person does not want it: `error=access_denied`.
    Denied,
    /// The ID token repeats another nonce.
    WrongNonce,
    /// The ID token is meant for another client.
    WrongAudience,
    /// The ID token names another issuer.
    WrongIssuer,
    /// The ID token holds no more.
    Expired,
    /// The ID token is signed with a key of somebody else, under the name of ours.
    ForeignSignature,
    /// The ID token is not signed: `alg` is `none`.
    Unsigned,
    /// The ID token is signed with the client's secret, which is not secret enough: `alg` is `HS256`.
    SignedWithSecret,
    /// The e-mail address stands in no ID token: user info tells it.
    ThinTokens,
    /// User info tells of somebody else.
    WrongUserInfo,
    /// User info is signed with a key of somebody else, under the name of ours.
    ForeignUserInfo,
    /// User info is meant for another client.
    UserInfoOfOthers,
    /// The browser comes back in the name of another provider.
    WrongReturn,
    /// The browser comes back in nobody's name.
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
    /// Each code is taken once.
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
    /// Starts it on the current tokio runtime; it takes calls when this returns, from the client of this name and secret.
    ///
    /// # Errors
    /// No loopback port could be listened on.
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
        let server = tokio::spawn(async move {
            // It ends with the test that started it.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { state, address, server })
    }

    /// Its issuer, as `console.oidc.issuer` wants it.
    pub fn issuer(&self) -> &str {
        &self.state.issuer
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whoever is sent there from now on is this person.
    pub fn present(&self, person: Person) {
        self.state.records().person = person;
    }

    /// Lets the sign-ins that begin from now on go wrong, or well again.
    pub fn trouble(&self, trouble: Option<Trouble>) {
        self.state.records().trouble = trouble;
    }

    pub fn behave(&self, habits: Habits) {
        self.state.records().habits = habits;
    }

    /// Signs with another key of this kind and name from now on.
    ///
    /// # Errors
    /// No key could be made.
    pub fn change_key(&self, kind: KeyKind, name: &'static str) -> io::Result<()> {
        self.state.records().key = SigningKey::new(kind, name)?;
        Ok(())
    }

    /// How often it was asked what it is.
    pub fn discovery_count(&self) -> usize {
        self.state.records().discoveries
    }
}

impl Drop for OpenIdProvider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl State {
    /// The records. A panic of one test's thread must not hide in the poison of another's.
    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Records {
    /// A text that was never given before.
    fn fresh(&mut self, what: &str) -> String {
        self.made += 1;
        format!("{what}-{}", self.made)
    }
}
