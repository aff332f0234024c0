//! Who changes something: the audit log names them, and requests have the API key that they came by. A call says so once, and each transaction that it begins knows.

use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActorId {
    /// The service itself, and whoever is not signed in yet.
    Service,
    /// An operator at the command line, by the system's name of the user.
    Operator(Arc<str>),
    /// A user of the console, by row number.
    User(i64),
    /// An API key, by row number.
    ApiKey(i64),
}

/// Who acts, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    pub id: ActorId,
    /// The address of the caller, if there is one.
    pub address: Option<IpAddr>,
}

tokio::task_local! {
    static ACTOR: RefCell<Actor>;
}

impl Actor {
    /// Does `work`, whose changes are this one's. What it spawns is to be given [`Actor::current`].
    pub async fn scope<T>(self, work: impl Future<Output = T>) -> T {
        ACTOR.scope(RefCell::new(self), work).await
    }

    /// Whose changes the task under way makes; `None` where nobody said.
    pub fn current() -> Option<Self> {
        ACTOR.try_with(|actor| actor.borrow().clone()).ok()
    }

    /// The API key that acts in the task under way, by row number; `None` where none does.
    pub fn api_key() -> Option<i64> {
        match Self::current()?.id {
            ActorId::ApiKey(key) => Some(key),
            ActorId::Service | ActorId::Operator(_) | ActorId::User(_) => None,
        }
    }

    /// Says who acts in the task under way, once that is known.
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
