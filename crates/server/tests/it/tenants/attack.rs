//! One operation, called without rights: by nobody, by a stranger, and for unknown identifiers; then by its owner.

use super::callers::{Caller, told};
use super::cases::{Case, For, Noun, Place};
use super::ids::unlike;
use super::sent::{Call, Sent};
use super::world::{Made, Party, World};
use crate::support::{Answered, MODEL};

/// The part of a call that belongs to another account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// Nothing: the call is about the caller.
    Nothing,
    Page,
    Thing(Noun),
}

/// The identifiers in a call.
#[derive(Debug, Clone)]
struct Point {
    account: String,
    id: String,
    /// The identifier in the path, if the attacked one is elsewhere.
    within: String,
    /// The identifier in the body, beside the attacked one.
    beside: String,
}

impl Case {
    /// All parts of this operation that may belong to another account.
    pub(super) fn targets(&self) -> Vec<Target> {
        let page = self.path().contains("{account}") && self.whose == For::Member;
        let things: Vec<_> = self.nouns.iter().map(|noun| Target::Thing(*noun)).collect();
        let rest = if things.is_empty() { vec![Target::Nothing] } else { things };
        page.then_some(Target::Page).into_iter().chain(rest).collect()
    }

    /// The status for an unknown identifier. An operation that no account may call is refused before any look-up.
    fn of_nothing(&self) -> u16 {
        self.refused.filter(|status| *status == 403).unwrap_or(404)
    }

    fn fill(&self, point: &Point, number: usize) -> Call {
        let fill = |text: &str| {
            text.replace("WITHIN", &point.beside).replace("ID", &point.id).replace("NEW", &number.to_string())
        };
        let (mut path, mut is_account) = (String::new(), self.whose == For::Member);
        for segment in self.path().split('/').skip(1) {
            let value = match segment {
                "{account}" if std::mem::take(&mut is_account) => &point.account,
                _ if !segment.starts_with('{') => segment,
                _ if self.nouns.is_empty() => ["nothing", MODEL][usize::from(segment == "{*model}")],
                _ if self.place == Place::Path => &point.id,
                _ => &point.within,
            };
            path = format!("{path}/{value}");
        }
        let (kind, body) = self.sent.write();
        let mut headers = Vec::new();
        if !matches!(self.sent, Sent::Nothing) {
            headers.push(("content-type".to_owned(), kind.to_owned()));
        }
        match self.place {
            Place::Path | Place::Body => {}
            Place::Query(query) => path = format!("{path}?{}", fill(query)),
            Place::LastEvent => {
                headers.push(("accept".to_owned(), "text/event-stream".to_owned()));
                headers.push(("last-event-id".to_owned(), point.id.clone()));
            }
            Place::Cookie(name) => headers.push(("cookie".to_owned(), format!("{name}={}", point.id))),
        }
        Call { method: self.method().to_owned(), path, headers, body: fill(&body) }
    }
}

pub(super) struct Attack<'w> {
    world: &'w mut World,
    case: &'static Case,
    target: Target,
    /// A thing of the owner, and one of the same kind of a stranger.
    pub(super) own: Made,
    foreign: Made,
    pub(super) calls: usize,
}

impl<'w> Attack<'w> {
    pub(super) async fn prepare(world: &'w mut World, case: &'static Case, target: Target) -> Self {
        let nothing = Made { id: String::new(), within: String::new() };
        let (mut own, mut foreign) = (nothing.clone(), nothing);
        if let Some(noun) = case.nouns.first().copied() {
            let noun = if let Target::Thing(noun) = target { noun } else { noun };
            own = world.make(Party::Owner, noun, case.stage).await;
            if case.place != Place::Path && case.path().contains("_id}") {
                foreign = world.make(Party::Stranger, noun, super::cases::Stage::Live).await;
            }
        }
        Self { world, case, target, own, foreign, calls: 0 }
    }

    /// Runs the attacks. The owner's call is last, because it may use the thing up.
    pub(super) async fn run(mut self) -> usize {
        let (whose, case) = (self.case.whose, self.case);
        let mut stranger = self.world.caller(whose, Party::Stranger).await;
        let mut owner = self.world.caller(whose, Party::Owner).await;
        let mut operator = if whose == For::Operator { Some(self.world.operator().await) } else { None };
        let before = self.world.rows().await;
        self.by_nobody().await;
        self.by_a_stranger(&mut stranger).await;
        if whose == For::Operator {
            // The account's own owner has no such page either.
            self.by_a_stranger(&mut owner).await;
        }
        let may = operator.as_mut().unwrap_or(&mut owner);
        self.for_what_nobody_has(may).await;
        self.check_rows(&before).await;
        if self.target == Target::Page {
            // The owner's call is part of the attack on its things.
            return self.calls;
        }
        let point = self.point(Party::Owner, Party::Owner);
        let answered = self.send(may, &point).await;
        let is_served = match case.refused {
            Some(status) => answered.status == status,
            None => (200..400).contains(&answered.status) && !is_sent_to_sign_in(&answered),
        };
        let (status, text) = (answered.status, String::from_utf8_lossy(&answered.body));
        assert!(is_served, "{}: the owner's own call, at {point:?}: {status} {text}", case.operation);
        self.calls
    }

    /// The identifiers for a call by `caller` on things of `of`.
    fn point(&self, caller: Party, of: Party) -> Point {
        let page = if self.target == Target::Page { of } else { caller };
        let within = if caller == Party::Owner { &self.own.within } else { &self.foreign.within };
        Point {
            account: self.world.account(page).id.to_string(),
            id: self.own.id.clone(),
            within: within.clone(),
            beside: self.own.within.clone(),
        }
    }

    fn unknown(&self, point: &Point) -> Point {
        match self.target {
            Target::Nothing => point.clone(),
            Target::Page => Point { account: unlike(&point.account), ..point.clone() },
            Target::Thing(_) => Point { id: unlike(&point.id), ..point.clone() },
        }
    }

    /// The owner's own call.
    pub(super) fn own_call(&mut self) -> Call {
        let point = self.point(Party::Owner, Party::Owner);
        self.case.fill(&point, self.world.number())
    }

    async fn send(&mut self, caller: &mut Caller, point: &Point) -> Answered {
        let number = self.world.number();
        self.calls += 1;
        let answered = caller.send(&self.case.fill(point, number)).await;
        assert!(answered.status < 500, "{}: {answered:?}", self.case.operation);
        answered
    }

    /// The answer to a caller without rights.
    async fn told(&mut self, caller: &mut Caller, point: &Point) -> (u16, String) {
        let answered = self.send(caller, point).await;
        let sent = [&point.account, &point.id];
        let name = |id: &str| {
            if id.starts_with("call_") || sent.contains(&&id.to_owned()) {
                "ID".to_owned()
            } else {
                id.to_owned()
            }
        };
        let text = told(&answered, name);
        let secret = self.world.secret_in(&text);
        assert_eq!(secret, None, "{}: {point:?} tells somebody else: {text}", self.case.operation);
        let status = if is_sent_to_sign_in(&answered) { 401 } else { answered.status };
        (status, text)
    }

    async fn check_alike(&mut self, caller: &mut Caller, foreign: &Point) -> u16 {
        let unknown = self.unknown(foreign);
        let (status, told) = self.told(caller, foreign).await;
        if self.target != Target::Nothing {
            let (_, other) = self.told(caller, &unknown).await;
            assert_eq!(told, other, "{}: what is foreign, and what nobody has", self.case.operation);
        }
        status
    }

    async fn by_nobody(&mut self) {
        let mut nobody = self.world.nobody(self.case.whose);
        let point = self.point(Party::Owner, Party::Owner);
        let status = self.check_alike(&mut nobody, &point).await;
        assert_eq!(status, 401, "{}: by nobody", self.case.operation);
    }

    async fn by_a_stranger(&mut self, stranger: &mut Caller) {
        let point = self.point(Party::Stranger, Party::Owner);
        let status = self.check_alike(stranger, &point).await;
        let is_found = self.target == Target::Nothing && self.case.whose != For::Operator;
        if is_found || self.case.place != Place::Path && self.target != Target::Page {
            return;
        }
        assert_eq!(status, self.case.of_nothing(), "{}: by somebody else", self.case.operation);
    }

    async fn for_what_nobody_has(&mut self, may: &mut Caller) {
        if self.target == Target::Nothing {
            return;
        }
        let point = self.unknown(&self.point(Party::Owner, Party::Owner));
        let status = self.send(may, &point).await.status;
        let is_named = self.case.place == Place::Path || self.target == Target::Page;
        let wanted = self.case.of_nothing();
        assert!(!is_named || status == wanted, "{}: {status} for what nobody has", self.case.operation);
    }

    /// Checks that the only changes are the stranger's own.
    async fn check_rows(&self, before: &std::collections::BTreeSet<String>) {
        let after = self.world.rows().await;
        let stranger = self.world.account(Party::Stranger).key.0;
        let own = [
            format!("[\"accounts\",[{stranger},"),
            format!("[\"webhook_secrets\",[{stranger},{stranger},"),
            "\"stranger-".to_owned(),
        ];
        let is_own = |row: &&String| {
            self.target == Target::Nothing && own.iter().any(|own| row.contains(own.as_str()))
        };
        let gone: Vec<_> = before.difference(&after).filter(|row| !is_own(row)).collect();
        let new: Vec<_> = after.difference(before).filter(|_| self.target != Target::Nothing).collect();
        assert!(gone.is_empty() && new.is_empty(), "{}: gone {gone:?}, new {new:?}", self.case.operation);
    }
}

/// Two calls of a stranger: one for the owner's thing, one for an unknown one.
pub(super) struct Pair {
    case: &'static Case,
    stranger: Caller,
    points: [Point; 2],
}

impl Pair {
    pub(super) async fn send(&mut self, is_unknown: bool) {
        let call = self.case.fill(&self.points[usize::from(is_unknown)], 0);
        let answered = self.stranger.send(&call).await;
        assert!(answered.status < 500, "{}: {answered:?}", self.case.operation);
    }

    pub(super) async fn send_both(&mut self) {
        self.send(false).await;
        self.send(true).await;
    }
}

impl Attack<'_> {
    pub(super) async fn pair(&mut self) -> Pair {
        let stranger = self.world.caller(self.case.whose, Party::Stranger).await;
        let foreign = self.point(Party::Stranger, Party::Owner);
        let unknown = self.unknown(&foreign);
        Pair { case: self.case, stranger, points: [foreign, unknown] }
    }
}

/// Calls an open operation as every kind of caller; returns the number of calls.
pub(super) async fn call_as_everybody(world: &mut World, case: &'static Case) -> usize {
    let whose = if case.path().starts_with("/console") { For::Member } else { For::Program };
    let mut callers = vec![world.nobody(whose)];
    for party in [Party::Stranger, Party::Owner] {
        callers.push(world.caller(whose, party).await);
    }
    callers.push(world.operator().await);
    let nothing = Made { id: String::new(), within: String::new() };
    let mut attack =
        Attack { world, case, target: Target::Nothing, own: nothing.clone(), foreign: nothing, calls: 0 };
    for mut caller in callers {
        let point = attack.point(Party::Stranger, Party::Stranger);
        attack.told(&mut caller, &point).await;
    }
    attack.calls
}

fn is_sent_to_sign_in(answered: &Answered) -> bool {
    answered.status == 303 && answered.header("location").starts_with("/console/sign-in?next=")
}
