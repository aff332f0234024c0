//! Who changes something: the audit log names the actor, and requests keep the API key that created them. A call says so once, for all of
//! its transactions.

use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActorId {
    /// The service itself, and callers who are not signed in yet.
    Service,
    /// An operator at the command line, by the name of the system's user.
    Operator(Arc<str>),
    /// By row number.
    User(i64),
    /// By row number.
    ApiKey(i64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    pub id: ActorId,
    pub address: Option<IpAddr>,
}

tokio::task_local! {
    static ACTOR: RefCell<Actor>;
}

impl Actor {
    /// Runs `work` as this actor. Pass [`Actor::current`] to tasks it spawns.
    pub fn scope<T>(self, work: impl Future<Output = T>) -> impl Future<Output = T> {
        ACTOR.scope(RefCell::new(self), work)
    }

    /// The actor of the current task; `None` if none was set.
    pub fn current() -> Option<Self> {
        ACTOR.try_with(|actor| actor.borrow().clone()).ok()
    }

    /// The row number of the current task's API key, if it acts for one.
    pub fn api_key() -> Option<i64> {
        match Self::current()?.id {
            ActorId::ApiKey(key) => Some(key),
            ActorId::Service | ActorId::Operator(_) | ActorId::User(_) => None,
        }
    }

    /// Sets the current task's actor, once it is known.
    pub fn identify(id: ActorId) {
        // Outside a call the process itself acts.
        let _ = ACTOR.try_with(|actor| actor.borrow_mut().id = id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_knows_who_acts_from_when_it_was_told() {
        let caller = Actor { id: ActorId::Service, address: None };
        Actor::identify(ActorId::User(1));
        assert_eq!(Actor::current(), None);
        let work = async {
            Actor::identify(ActorId::User(2));
            Actor::current()
        };
        let user = Actor { id: ActorId::User(2), ..caller.clone() };
        assert_eq!(caller.clone().scope(work).await, Some(user));
        assert_eq!(caller.clone().scope(async { Actor::current() }).await, Some(caller));
    }
}
