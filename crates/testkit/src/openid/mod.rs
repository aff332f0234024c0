//! A stand-in for an OpenID provider at the far side of a real socket: discovery, keys, authorization, tokens and user info,
//! strict about what it is sent. Whoever is sent there is signed in at once as the person who was chosen. Its tokens are written
//! by hand, so that what reads them is not tested against itself.

mod http;
mod tokens;

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use self::tokens::SigningKey;

/// A running stand-in on a loopback port of its own. Dropped, it stops.
#[derive(Debug)]
pub struct OpenIdProvider {
    state: Arc<State>,
    address: SocketAddr,
    server: JoinHandle<()>,
}

/// Somebody whom it knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Person {
    /// Its name of them.
    pub subject: String,
    /// Their e-mail address.
    pub email: Option<String>,
    /// Whether it says that the address is theirs.
    pub is_verified: bool,
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
}

/// What its connections share.
#[derive(Debug)]
struct State {
    issuer: String,
    client_id: String,
    client_secret: String,
    records: Mutex<Records>,
}

/// What moves.
#[derive(Debug)]
struct Records {
    key: SigningKey,
    foreign_key: SigningKey,
    person: Person,
    trouble: Option<Trouble>,
    /// Each code is taken once.
    codes: HashMap<String, Grant>,
    accesses: HashMap<String, Person>,
    made: u32,
    discoveries: usize,
}

/// What a code was given for.
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
            key: SigningKey::new("first")?,
            foreign_key: SigningKey::new("first")?,
            person: Person::default(),
            trouble: None,
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

    /// Signs with another key from now on.
    ///
    /// # Errors
    /// No key could be made.
    pub fn change_key(&self) -> io::Result<()> {
        let mut records = self.state.records();
        records.key = SigningKey::new("second")?;
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
