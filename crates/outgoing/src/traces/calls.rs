//! The trace of an API call: whether it is recorded, and which of its requests belong to it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use overnight_domain::ids::{AccountId, CallId};
use overnight_domain::scheduler::AccountKey;
use overnight_domain::traces::{TraceContext, Traceparent};

use super::{Recording, Span, SpanKind, Traces};

/// Traced requests per call, from the first on: larger traces are unreadable.
pub const REQUESTS_MAX: u32 = 100;

tokio::task_local! {
    static CALL: Option<Arc<CallTrace>>;
}

pub struct CallTrace {
    traces: Arc<Traces>,
    began_at_us: i64,
    /// The caller's span, if the caller records its trace.
    caller: Option<TraceContext>,
    /// A trace of our own, if this call was sampled.
    drawn: Option<TraceContext>,
    account: OnceLock<(AccountKey, AccountId)>,
    decided: OnceLock<Decided>,
    requests_left: AtomicU32,
}

#[derive(Clone, Copy)]
struct Decided {
    /// Its own span; `None` if it is not recorded.
    context: Option<TraceContext>,
    /// The caller's span that it belongs to.
    parent: Option<u64>,
    /// The account whose budget the trace, with its requests, counts against.
    by: Option<AccountKey>,
}

impl Traces {
    /// The trace of a call that begins, with the caller's `traceparent`; `None` if no call is recorded.
    pub fn begin_call(self: &Arc<Self>, traceparent: Option<&str>) -> Option<Arc<CallTrace>> {
        let recording = self.0.as_ref()?;
        let caller = traceparent.filter(|_| !recording.budgets.is_none()).and_then(Traceparent::parse);
        let caller = caller.filter(|caller| caller.is_sampled).map(|caller| caller.context);
        let drawn = self.draw();
        (caller.is_some() || drawn.is_some()).then(|| {
            Arc::new(CallTrace {
                traces: Arc::clone(self),
                began_at_us: recording.clock.now() * 1_000,
                caller,
                drawn,
                account: OnceLock::new(),
                decided: OnceLock::new(),
                requests_left: AtomicU32::new(REQUESTS_MAX),
            })
        })
    }
}

impl CallTrace {
    /// Sets the caller's account, after which it is decided whether the call is recorded.
    pub fn identify(&self, account: AccountKey, id: AccountId) {
        let _ = self.account.set((account, id));
        if let Some(context) = self.decide().context {
            tracing::Span::current().record("trace_id", tracing::field::display(context.trace()));
        }
    }

    /// Calls without a valid key are not recorded.
    fn decide(&self) -> Decided {
        *self.decided.get_or_init(|| {
            let own = Decided { context: self.drawn, parent: None, by: None };
            let (Some(recording), Some((account, _))) = (&self.traces.0, self.account.get()) else {
                return Decided { context: None, ..own };
            };
            match self.caller.filter(|_| self.is_granted(recording, *account)) {
                Some(caller) => Decided {
                    context: Some(caller.child(recording.number())),
                    parent: Some(caller.span()),
                    by: Some(*account),
                },
                None => own,
            }
        })
    }

    fn is_granted(&self, recording: &Recording, account: AccountKey) -> bool {
        recording.budgets.take(account, self.began_at_us / 1_000)
    }

    /// The parent span of the next request that the call creates; `None` if that request is not traced.
    pub(super) fn of_request(&self) -> Option<TraceContext> {
        let Decided { context, by, .. } = self.decide();
        let context = context?;
        let left =
            self.requests_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        let recording = self.traces.0.as_ref().filter(|_| left.is_ok())?;
        by.is_none_or(|account| self.is_granted(recording, account)).then_some(context)
    }

    /// Records the call when its answer begins.
    pub fn end(&self, call: CallId, method: &'static str, route: &str, status: u16, took: Duration) {
        let Decided { context: Some(context), parent, .. } = self.decide() else { return };
        let mut span = Span::new(context, format!("{method} {route}"), SpanKind::Server, self.began_at_us);
        span.parent = parent;
        span.set("http.request.method", method);
        span.set("http.route", route.to_owned());
        span.set("http.response.status_code", i64::from(status));
        span.set("overnight.call.id", call.to_string());
        if let Some((_, account)) = self.account.get() {
            span.set("overnight.account.id", account.to_string());
        }
        span.error = (status >= 500).then(|| status.to_string().into());
        self.traces.keep(span, Some(i64::try_from(took.as_micros()).unwrap_or(i64::MAX)));
    }

    /// Runs `work`, whose requests belong to `call`.
    pub fn scope<T>(call: Option<Arc<Self>>, work: impl Future<Output = T>) -> impl Future<Output = T> {
        // An async function would hold `work` twice.
        CALL.scope(call, work)
    }
}

pub fn current() -> Option<Arc<CallTrace>> {
    CALL.try_with(Clone::clone).ok().flatten()
}

/// Runs `work` as a part of the current call, wherever it is spawned.
pub fn in_current_call<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    CallTrace::scope(current(), work)
}

/// The parent span of a request that is created now; `None` if it is not traced.
pub fn of_request() -> Option<TraceContext> {
    CALL.try_with(|call| call.as_ref()?.of_request()).ok().flatten()
}
