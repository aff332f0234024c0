//! What happens to a request, as a list of moments.

use overnight_domain::requests::{RequestState, RequestStatus};

use super::requests::RequestPage;
use crate::app::requests::Trying;

/// Something that happened, or is to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    /// When, in milliseconds; `None` where nobody knows.
    pub(super) at: Option<i64>,
    /// Whether it is to come.
    pub(super) is_ahead: bool,
    /// The class of its mark.
    pub(super) class: &'static str,
    pub(super) title: String,
    pub(super) detail: Option<String>,
}

impl Moment {
    fn new(at: impl Into<Option<i64>>, class: &'static str, title: impl Into<String>) -> Self {
        Self { at: at.into(), is_ahead: false, class, title: title.into(), detail: None }
    }

    fn ahead(mut self) -> Self {
        self.is_ahead = true;
        self
    }

    fn with(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

/// The moments of a request.
pub(super) fn of(page: &RequestPage) -> Vec<Moment> {
    let (record, summary) = (&page.record, &page.record.summary);
    let mut moments = vec![Moment::new(summary.created_at, "registered", "Created")];
    let first_sent = summary.state.in_progress_at();
    if let Some(at) = first_sent {
        moments.push(Moment::new(at, "running", "First sent to an engine"));
    }
    for (number, attempt) in record.attempts.iter().enumerate() {
        let title = match attempt.status {
            Some(status) => format!("Attempt {} failed with status {status}", number + 1),
            None => format!("Attempt {} failed", number + 1),
        };
        moments.push(Moment::new(attempt.at, "failed", title).with(&*attempt.message));
    }
    match summary.state.status() {
        RequestStatus::Registered | RequestStatus::InProgress => ahead(page, &mut moments),
        status => moments.push(end(page, status)),
    }
    if let Some(at) = page.deleted_at {
        moments.push(Moment::new(at, "registered", "Deleted").ahead());
    }
    moments
}

/// What a request waits for, and what comes then.
fn ahead(page: &RequestPage, moments: &mut Vec<Moment>) {
    let summary = &page.record.summary;
    match (&summary.state, &page.waiting, page.trying) {
        (RequestState::Gathering { ready_at }, ..) if *ready_at > page.now => {
            moments.push(Moment::new(*ready_at, "registered", "Grouping similar prompts until").ahead());
        }
        (_, Some(reason), _) => {
            let waits = Moment::new(reason.until(), "registered", format!("It {reason}"));
            moments.push(if reason.until().is_some() { waits.ahead() } else { waits });
        }
        (_, None, Some(Trying::Now)) => moments.push(Moment::new(None, "running", "With an engine now")),
        (_, None, Some(Trying::Again { at })) if at > page.now => {
            moments.push(Moment::new(at, "registered", "Next attempt, not before").ahead());
        }
        (_, None, _) => moments.push(Moment::new(None, "registered", "Waits for its turn")),
    }
    if let Some(at) = page.completed_at {
        moments.push(Moment::new(at, "completed", "Estimated completion").ahead());
    }
    moments.push(Moment::new(summary.expires_at, "registered", "Ends by").ahead());
}

fn end(page: &RequestPage, status: RequestStatus) -> Moment {
    let at = page.record.summary.state.ended_at();
    match status {
        RequestStatus::Failed => Moment::new(at, "failed", "Failed"),
        RequestStatus::Cancelled => Moment::new(at, "cancelled", "Cancelled").with("It costs nothing."),
        _ => Moment::new(at, "completed", "Completed"),
    }
}
