//! What happens to a request, as a list of moments.

use overnight_app::requests::waiting::WaitingReason;
use overnight_app::requests::{RequestHandling, Trying};
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::{RequestState, RequestStatus};

/// Times are in milliseconds.
pub(super) struct Course<'r> {
    pub(super) record: &'r RequestRecord,
    pub(super) waiting: Option<&'r WaitingReason>,
    pub(super) trying: Option<Trying>,
    pub(super) completed_at: Option<i64>,
    pub(super) handling: &'r RequestHandling,
    /// Whether the reader may see the names of engines.
    pub(super) names_engines: bool,
    pub(super) deleted_at: Option<i64>,
    pub(super) now: i64,
}

impl Course<'_> {
    /// The engine's name, if the reader may see it.
    fn place(&self, engine: Option<&str>) -> String {
        engine.filter(|_| self.names_engines).map(|engine| format!(" at {engine}")).unwrap_or_default()
    }
}

/// A past or future event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    /// In milliseconds; `None` if unknown.
    pub(super) at: Option<i64>,
    pub(super) is_ahead: bool,
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

pub(super) fn of(course: &Course<'_>) -> Vec<Moment> {
    let (record, summary) = (course.record, &course.record.summary);
    let mut moments = vec![Moment::new(summary.created_at, "registered", "Created")];
    if let Some(at) = course.handling.released_at {
        moments.push(Moment::new(at, "registered", "Released to the queue"));
    }
    let first_sent = summary.state.in_progress_at();
    if let Some(at) = first_sent {
        moments.push(Moment::new(at, "running", "First sent to an engine"));
    }
    for (number, attempt) in record.attempts.iter().enumerate() {
        let place = course.place(attempt.engine.as_deref());
        let title = match attempt.status {
            Some(status) => format!("Attempt {}{place} failed with status {status}", number + 1),
            None => format!("Attempt {}{place} failed", number + 1),
        };
        moments.push(Moment::new(attempt.at, "failed", title).with(&*attempt.message));
    }
    match summary.state.status() {
        RequestStatus::Registered | RequestStatus::InProgress => ahead(course, &mut moments),
        status => moments.push(end(course, status)),
    }
    if let Some(at) = course.deleted_at {
        moments.push(Moment::new(at, "registered", "Deleted").ahead());
    }
    moments
}

/// What a request waits for, and what follows.
fn ahead(course: &Course<'_>, moments: &mut Vec<Moment>) {
    let summary = &course.record.summary;
    match (&summary.state, course.waiting, course.trying) {
        (RequestState::Gathering { ready_at }, ..) if *ready_at > course.now => {
            moments.push(Moment::new(*ready_at, "registered", "Grouping similar prompts until").ahead());
        }
        (_, Some(reason), _) => {
            moments.push(match reason.until() {
                Some(at) => Moment::new(at, "registered", format!("It {reason}, until")).ahead(),
                None => Moment::new(None, "registered", format!("It {reason}")),
            });
        }
        (_, None, Some(Trying::Now)) => moments.push(Moment::new(None, "running", "With an engine now")),
        (_, None, Some(Trying::Again { at })) if at > course.now => {
            moments.push(Moment::new(at, "registered", "Next attempt, not before").ahead());
        }
        (_, None, _) => moments.push(Moment::new(None, "registered", "Waits for its turn")),
    }
    if let Some(at) = course.completed_at {
        moments.push(Moment::new(at, "completed", "Estimated completion").ahead());
    }
    moments.push(Moment::new(summary.expires_at, "registered", "Ends by").ahead());
}

fn end(course: &Course<'_>, status: RequestStatus) -> Moment {
    let at = course.record.summary.state.ended_at();
    match status {
        RequestStatus::Failed => Moment::new(at, "failed", "Failed"),
        RequestStatus::Cancelled => Moment::new(at, "cancelled", "Cancelled").with("It costs nothing."),
        _ => {
            let place = course.place(course.handling.engine.as_deref());
            Moment::new(at, "completed", format!("Completed{place}"))
        }
    }
}
