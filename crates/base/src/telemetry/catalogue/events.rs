//! Metrics of money and of webhooks.

use metrics::Unit;

use super::MetricKind::{Counter, Gauge};
use super::{Labels, Metric, metric};

pub(super) const METRICS: &[Metric] = &[
    metric(
        "overnight_charged_nanocredits_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Billionths of a credit charged for completions.",
    ),
    metric(
        "overnight_monthly_grants_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Monthly credits granted to accounts: one a month and account.",
    ),
    metric(
        "overnight_low_credits_events_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Events that tell accounts of low credits.",
    ),
    metric(
        "overnight_shortfall_nanocredits_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Billionths of a credit that completions cost beyond their holds, and that nobody pays.",
    ),
    metric(
        "overnight_payment_notices_total",
        Counter,
        Unit::Count,
        Labels::Known(
            "outcome",
            &["posted", "posted_before", "doubtful", "nothing", "refused", "not_fetched"],
        ),
        "Events of the payment provider, by what became of them; of one that was `not_fetched` the provider tells again.",
    ),
    metric(
        "overnight_payment_checks_total",
        Counter,
        Unit::Count,
        Labels::Known("outcome", &["open", "closed", "posted", "posted_before", "doubtful", "failed"]),
        "Questions to the payment provider for unpaid orders, by what came of them; `posted` is a payment whose event did not come.",
    ),
    metric(
        "overnight_webhook_tries_total",
        Counter,
        Unit::Count,
        Labels::Known("outcome", &["delivered", "failed", "exhausted"]),
        "Tries to deliver an event, by outcome; `exhausted` is the last try of an event that is given up.",
    ),
    metric("overnight_webhooks_in_flight", Gauge, Unit::Count, Labels::None, "Tries under way."),
    metric(
        "overnight_webhook_oldest_due_seconds",
        Gauge,
        Unit::Seconds,
        Labels::None,
        "Seconds for which the oldest event that is due has waited.",
    ),
    metric(
        "overnight_spans_exported_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Spans of traces that the collector took.",
    ),
    metric(
        "overnight_spans_dropped_total",
        Counter,
        Unit::Count,
        Labels::Known("reason", &["queue_full", "refused", "unavailable", "shutdown"]),
        "Spans of traces that were dropped, by reason: too many waited, the collector refused them, it was unavailable for a minute, or the process ended.",
    ),
    metric(
        "overnight_lost_claims_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Outcomes of tries that count for nothing: other nodes had taken this one for dead.",
    ),
];
