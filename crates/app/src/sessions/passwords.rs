//! Passwords, stored as Argon2id hashes. A hash takes 19 MiB and some time, so few are computed at a time and few wait.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use overnight_base::ids::Ids;
use overnight_base::tasks;
use overnight_domain::faults::codes;
use overnight_store::StoreError;
use tokio::sync::{Mutex, MutexGuard, OwnedSemaphorePermit, Semaphore};

use crate::errors::AppError;
use crate::networks::ClientNetwork;

/// OWASP's first recommendation for Argon2id: 19 MiB, two passes, one lane.
const PARAMS: (u32, u32, u32) = (19 * 1_024, 2, 1);

/// The shortest password, in characters: long enough under the throttle.
pub const PASSWORD_CHARS_MIN: usize = 12;

/// The longest, in bytes.
const PASSWORD_BYTES_MAX: usize = 1_024;

/// Hashes computed at the same time.
const AT_ONCE: usize = 2;

/// Further hashes that may wait; more are refused for now.
const WAITING_MAX: usize = 126;

/// Permits per holder: one network leaves most of them to others, who wait for few of its hashes.
const OF_EACH_MAX: usize = 8;

#[derive(Debug)]
pub struct Passwords {
    slots: Arc<Semaphore>,
    permits: Arc<Semaphore>,
    held: Arc<Held>,
    /// Taken for writes of a sign-in, so that other writes wait for at most one of them.
    turn: Mutex<()>,
}

/// The number of permits by holder.
type Held = std::sync::Mutex<BTreeMap<PasswordHolder, usize>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PasswordHolder {
    /// An unauthenticated client, by network if it is known.
    Network(Option<ClientNetwork>),
    /// The signed-in user of this row.
    User(i64),
}

/// A permit to check or set a password; limited in total and per holder.
#[derive(Debug)]
pub(crate) struct Permit {
    holder: PasswordHolder,
    held: Arc<Held>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match held.get_mut(&self.holder) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(held.remove(&self.holder)),
        }
    }
}

impl Default for Passwords {
    fn default() -> Self {
        let (slots, permits) = (Semaphore::new(AT_ONCE), Semaphore::new(AT_ONCE + WAITING_MAX));
        let (slots, permits) = (Arc::new(slots), Arc::new(permits));
        Self { slots, permits, held: Arc::default(), turn: Mutex::default() }
    }
}

impl Passwords {
    /// Takes a permit, before anything is read or written for the caller. Fails with [`AppError::Unavailable`] if there are none left in
    /// total or for this holder.
    pub(crate) fn enter(&self, holder: PasswordHolder) -> Result<Permit, AppError> {
        let crowded = |which: &str| AppError::Unavailable(format!("{which} sign in at this moment"));
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.get(&holder).is_some_and(|count| *count >= OF_EACH_MAX) {
            return Err(crowded("too many people of your network"));
        }
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| crowded("too many people"))?;
        *held.entry(holder).or_default() += 1;
        Ok(Permit { holder, held: Arc::clone(&self.held), _permit: permit })
    }

    /// The right to write of a sign-in.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// The hash of a password, in PHC form. Fails with [`AppError::Invalid`] if the password is too short or too long.
    pub(crate) async fn hash(&self, permit: Permit, password: &str, ids: &Ids) -> Result<String, AppError> {
        if password.chars().count() < PASSWORD_CHARS_MIN || password.len() > PASSWORD_BYTES_MAX {
            let message = format!(
                "must have at least {PASSWORD_CHARS_MIN} characters, and at most {PASSWORD_BYTES_MAX} bytes"
            );
            return Err(AppError::invalid("password", codes::OUT_OF_RANGE, &message));
        }
        let salt = SaltString::encode_b64(&ids.random()[..16]).map_err(|_| unhashable())?;
        let password = password.to_owned();
        self.work(permit, move || {
            let hash = argon2().hash_password(password.as_bytes(), &salt).map_err(|_| unhashable())?;
            Ok(hash.to_string())
        })
        .await
    }

    /// Whether `password` matches the hash. Takes the same time if there is no hash.
    pub(crate) async fn is(
        &self,
        permit: Permit,
        password: &str,
        hash: Option<String>,
        ids: &Ids,
    ) -> Result<bool, AppError> {
        if password.len() > PASSWORD_BYTES_MAX {
            return Ok(false);
        }
        let salt = SaltString::encode_b64(&ids.random()[..16]).map_err(|_| unhashable())?;
        let password = password.to_owned();
        self.work(permit, move || {
            let Some(hash) = hash else {
                let _ = argon2().hash_password(password.as_bytes(), &salt);
                return Ok(false);
            };
            let hash = PasswordHash::new(&hash).map_err(|_| StoreError::Damaged("the hash of a password"))?;
            Ok(argon2().verify_password(password.as_bytes(), &hash).is_ok())
        })
        .await
    }

    /// The work continues if the caller leaves, so the work owns the permit.
    async fn work<T: Send + 'static>(
        &self,
        permit: Permit,
        work: impl FnOnce() -> Result<T, AppError> + Send + 'static,
    ) -> Result<T, AppError> {
        let slot = Arc::clone(&self.slots).acquire_owned().await.map_err(|_| unhashable())?;
        let held = move || {
            let _held = (permit, slot);
            work()
        };
        tasks::spawn_heavy(held).await.map_err(|_| unhashable())?
    }
}

fn argon2() -> Argon2<'static> {
    let (memory, passes, lanes) = PARAMS;
    let params = Params::new(memory, passes, lanes, None).unwrap_or_default();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

fn unhashable() -> AppError {
    StoreError::Damaged("a password that could not be hashed").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLDER: PasswordHolder = PasswordHolder::Network(None);

    #[tokio::test]
    async fn a_password_is_told_from_another_and_never_kept() {
        let (passwords, ids) = (Passwords::default(), Ids::from_seed(1));
        let hash = passwords
            .hash(passwords.enter(HOLDER).expect("a permit"), "correct horse battery", &ids)
            .await
            .expect("a hash");
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$") && !hash.contains("horse"), "{hash}");
        for (password, expected) in
            [("correct horse battery", true), ("correct horse batterz", false), ("", false)]
        {
            let is = passwords
                .is(passwords.enter(HOLDER).expect("a permit"), password, Some(hash.clone()), &ids)
                .await
                .expect("an answer");
            assert_eq!(is, expected, "{password}");
            assert!(
                !passwords
                    .is(passwords.enter(HOLDER).expect("a permit"), password, None, &ids)
                    .await
                    .expect("an answer")
            );
        }
    }

    #[test]
    fn one_network_leaves_most_of_the_permits_to_others() {
        let passwords = Passwords::default();
        let network = |host| PasswordHolder::Network(Some(ClientNetwork::of([192, 0, 2, host].into())));
        let mut permits: Vec<_> =
            (0..AT_ONCE + WAITING_MAX).map_while(|_| passwords.enter(network(1)).ok()).collect();
        assert_eq!(permits.len(), OF_EACH_MAX);
        assert!(passwords.enter(network(2)).is_ok() && passwords.enter(PasswordHolder::User(1)).is_ok());
        permits.pop();
        assert!(passwords.enter(network(1)).is_ok());
        drop(permits);
        assert!(passwords.held.lock().unwrap_or_else(PoisonError::into_inner).is_empty());
    }

    #[tokio::test]
    async fn short_and_endless_passwords_are_refused() {
        let (passwords, ids) = (Passwords::default(), Ids::from_seed(1));
        for wrong in ["", "eleven char", &"x".repeat(PASSWORD_BYTES_MAX + 1)] {
            assert!(
                matches!(
                    passwords.hash(passwords.enter(HOLDER).expect("a permit"), wrong, &ids).await,
                    Err(AppError::Invalid(_))
                ),
                "{wrong}"
            );
        }
        assert!(
            passwords.hash(passwords.enter(HOLDER).expect("a permit"), "zwölf Züge..", &ids).await.is_ok()
        );
    }
}
