//! A simulated Stripe on a real socket: the calls that payments need, with strict checks, and the events that follow when a payer pays,
//! gets a refund or disputes, in the forms of Stripe's documents.
//!
//! Like Stripe, it keeps the first answer of an idempotency key, even a failure, and refuses the key with other parameters. Answers to
//! calls that never reached the work are not kept: a wrong key, a missing field, the rate limit.

mod events;
mod form;
mod http;
mod records;
mod signing;

use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::net::TcpListener;

pub use self::events::thin;
use self::records::Records;
pub use self::signing::sign;
use crate::stand::{Server, lock};

/// A running stand-in on its own loopback port. Dropping it stops it.
#[derive(Debug)]
pub struct Stripe {
    state: Arc<State>,
    server: Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// 429: the rate limit. The next call may succeed.
    TooMany,
    /// 500: the work failed. Stripe keeps this answer under the idempotency key.
    Failure,
}

/// The result of an action, as Stripe reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happening {
    /// The created or changed object: `pi_…`, `re_…` or `du_…`.
    pub id: String,
    pub events: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct State {
    secret_key: String,
    records: Mutex<Records>,
}

impl Stripe {
    /// Starts it on the current tokio runtime; it accepts calls with `secret_key` when this returns.
    pub async fn start(secret_key: &str) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let state = Arc::new(State { secret_key: secret_key.to_owned(), records: Mutex::default() });
        let router = http::router(Arc::clone(&state));
        Ok(Self { state, server: Server::start(listener, router)? })
    }

    /// The value for `billing.stripe.base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Makes the next valid call fail.
    pub fn trouble(&self, trouble: Trouble) {
        self.records().trouble = Some(trouble);
    }

    /// How often sessions were requested by name.
    pub fn question_count(&self) -> u64 {
        self.records().questions
    }

    pub fn session_count(&self) -> usize {
        self.records().sessions.len()
    }

    /// The payer pays with a card: `checkout.session.completed`, paid. Panics if there is no such session, or it is paid.
    pub fn pay(&self, session: &str) -> Happening {
        self.records().pay(session)
    }

    /// The payer pays from a bank account: the session is completed first and paid later, with an event for each. Panics if there is no
    /// such session, or it is paid.
    pub fn pay_late(&self, session: &str) -> Happening {
        self.records().pay_late(session)
    }

    /// The session expires without a payment. Panics if there is no such session.
    pub fn expire(&self, session: &str) {
        self.records().expire(session);
    }

    /// A payment for something else in the same account: a payment intent without a session.
    pub fn pay_elsewhere(&self) -> String {
        self.records().pay_elsewhere()
    }

    /// Refunds this amount in minor units: `refund.created` and `charge.refunded`. Panics if there is no such payment intent.
    pub fn refund(&self, intent: &str, amount: i64) -> Happening {
        self.records().refund(intent, amount)
    }

    /// A refund fails: `refund.updated`, `refund.failed` and `charge.refund.updated`. Panics if there is no such refund.
    pub fn fail_refund(&self, refund: &str) -> Happening {
        self.records().fail_refund(refund)
    }

    /// The payer's bank takes back this amount in minor units: `charge.dispute.created` and `charge.dispute.funds_withdrawn`. Panics if
    /// there is no such payment intent.
    pub fn dispute(&self, intent: &str, amount: i64) -> Happening {
        self.records().dispute(intent, amount)
    }

    /// A dispute is decided for us: `charge.dispute.closed` and `charge.dispute.funds_reinstated`. Panics if there is no such dispute.
    pub fn win_dispute(&self, dispute: &str) -> Happening {
        self.records().win_dispute(dispute)
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.state.records()
    }
}

impl State {
    fn records(&self) -> MutexGuard<'_, Records> {
        lock(&self.records)
    }
}
