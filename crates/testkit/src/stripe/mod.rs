//! A stand-in for Stripe at the far side of a real socket: the few calls that payments need, strict about what it is
//! sent, and the events that follow when somebody pays, is paid back, or disputes, shaped as Stripe's documents show.
//!
//! As Stripe does, it keeps the first answer of an idempotency key, be it a failure, and refuses the key with other
//! parameters. What never reached the work behind a call is not kept: a wrong key, a missing field, a call too many.

mod events;
mod form;
mod http;
mod records;
mod signing;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use self::events::thin;
use self::records::Records;
pub use self::signing::sign;

/// A running stand-in on a loopback port of its own. Dropped, it stops.
#[derive(Debug)]
pub struct Stripe {
    state: Arc<State>,
    address: SocketAddr,
    server: JoinHandle<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// 429: there were too many calls. The next may come through.
    TooMany,
    /// 500: it failed at the work. Stripe keeps that as the answer of the idempotency key.
    Failure,
}

/// What came of something that was done, as Stripe tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happening {
    /// What it made or changed: `pi_…`, `re_…` or `du_…`.
    pub id: String,
    /// The bodies of the events, in their order.
    pub events: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct State {
    secret_key: String,
    records: Mutex<Records>,
}

impl Stripe {
    /// Starts it on the current tokio runtime; it takes calls when this returns. `secret_key` is the one it wants.
    ///
    /// # Errors
    /// No loopback port could be listened on.
    pub async fn start(secret_key: &str) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State { secret_key: secret_key.to_owned(), records: Mutex::default() });
        let router = http::router(Arc::clone(&state));
        let server = tokio::spawn(async move {
            // It ends with the test that started it.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { state, address, server })
    }

    /// The base URL as `billing.stripe.base_url` wants it.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Lets the next call that is rightly made go wrong.
    pub fn trouble(&self, trouble: Trouble) {
        self.records().trouble = Some(trouble);
    }

    /// How often sessions were asked for by their names.
    pub fn question_count(&self) -> u64 {
        self.records().questions
    }

    pub fn session_count(&self) -> usize {
        self.records().sessions.len()
    }

    /// The payer pays with a card: `checkout.session.completed`, paid.
    ///
    /// # Panics
    /// There is no such session, or it is paid.
    pub fn pay(&self, session: &str) -> Happening {
        self.records().pay(session)
    }

    /// The payer pays from a bank account: the session is completed first and paid later, with an event for each.
    ///
    /// # Panics
    /// There is no such session, or it is paid.
    pub fn pay_late(&self, session: &str) -> Happening {
        self.records().pay_late(session)
    }

    /// Nobody pays, and the session ends.
    ///
    /// # Panics
    /// There is no such session.
    pub fn expire(&self, session: &str) {
        self.records().expire(session);
    }

    /// Somebody pays for something else over the same account: a payment intent that no session made.
    pub fn pay_elsewhere(&self) -> String {
        self.records().pay_elsewhere()
    }

    /// So many minor units of a payment are paid back: `refund.created` and `charge.refunded`.
    ///
    /// # Panics
    /// There is no such payment intent.
    pub fn refund(&self, intent: &str, amount: i64) -> Happening {
        self.records().refund(intent, amount)
    }

    /// A refund comes back: `refund.updated`, `refund.failed` and `charge.refund.updated`.
    ///
    /// # Panics
    /// There is no such refund.
    pub fn fail_refund(&self, refund: &str) -> Happening {
        self.records().fail_refund(refund)
    }

    /// The payer's bank takes so many minor units of a payment back: `charge.dispute.created` and
    /// `charge.dispute.funds_withdrawn`.
    ///
    /// # Panics
    /// There is no such payment intent.
    pub fn dispute(&self, intent: &str, amount: i64) -> Happening {
        self.records().dispute(intent, amount)
    }

    /// A dispute is decided for us: `charge.dispute.closed` and `charge.dispute.funds_reinstated`.
    ///
    /// # Panics
    /// There is no such dispute.
    pub fn win_dispute(&self, dispute: &str) -> Happening {
        self.records().win_dispute(dispute)
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.state.records()
    }
}

impl Drop for Stripe {
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
