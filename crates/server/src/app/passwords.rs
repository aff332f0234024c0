//! Passwords, kept as Argon2id hashes. A hash takes 19 MiB and some time, so few are made at once and few wait.

use std::sync::Arc;

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use overnight_domain::faults::codes;
use tokio::sync::{Mutex, MutexGuard, OwnedSemaphorePermit, Semaphore};

use super::errors::AppError;
use crate::ids::Ids;
use crate::store::StoreError;

/// The parameters that OWASP names first for Argon2id: 19 MiB, two passes, one lane.
const PARAMS: (u32, u32, u32) = (19 * 1_024, 2, 1);

/// The shortest password, in characters: what a person makes up, and nobody guesses under a throttle.
pub const PASSWORD_CHARS_MIN: usize = 12;

/// The longest, in bytes.
const PASSWORD_BYTES_MAX: usize = 1_024;

/// Hashes that are made at once.
const AT_ONCE: usize = 2;

/// Those that wait besides; whoever comes then is asked to come again.
const WAITING_MAX: usize = 30;

/// Makes and compares hashes.
#[derive(Debug)]
pub struct Passwords {
    slots: Arc<Semaphore>,
    permits: Arc<Semaphore>,
    /// Who has it writes of a sign-in: however many come, the writer of everything else waits for one at most.
    turn: Mutex<()>,
}

/// A permit to sign in: so many are given at a time.
#[derive(Debug)]
pub(super) struct Permit(
    #[expect(dead_code, reason = "it is given back when it is dropped")] OwnedSemaphorePermit,
);

impl Default for Passwords {
    fn default() -> Self {
        let (slots, permits) = (Semaphore::new(AT_ONCE), Semaphore::new(AT_ONCE + WAITING_MAX));
        Self { slots: Arc::new(slots), permits: Arc::new(permits), turn: Mutex::default() }
    }
}

impl Passwords {
    /// A permit for somebody who brings a password, before anything is read or written for them.
    ///
    /// # Errors
    ///
    /// [`AppError::Unavailable`] where too many have one.
    pub(super) fn enter(&self) -> Result<Permit, AppError> {
        let crowded = || AppError::Unavailable("too many people sign in at this moment".to_owned());
        Arc::clone(&self.permits).try_acquire_owned().map(Permit).map_err(|_| crowded())
    }

    /// The right to write of a sign-in.
    pub(super) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// The hash of a password, in PHC form.
    ///
    /// # Errors
    ///
    /// [`AppError::Invalid`] for one that is too short or too long.
    pub(super) async fn hash(&self, permit: Permit, password: &str, ids: &Ids) -> Result<String, AppError> {
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

    /// Whether `password` is the one that was hashed. Where there is none to compare with, the same time is taken.
    ///
    /// # Errors
    ///
    /// Only where nothing can be compared.
    pub(super) async fn is(
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

    /// The work goes on if whoever asked leaves, and so it is the work that has the permit.
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
        tokio::task::spawn_blocking(held).await.map_err(|_| unhashable())?
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

    #[tokio::test]
    async fn a_password_is_told_from_another_and_never_kept() {
        let (passwords, ids) = (Passwords::default(), Ids::from_seed(1));
        let hash = passwords
            .hash(passwords.enter().expect("a permit"), "correct horse battery", &ids)
            .await
            .expect("a hash");
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$") && !hash.contains("horse"), "{hash}");
        for (password, expected) in
            [("correct horse battery", true), ("correct horse batterz", false), ("", false)]
        {
            let is = passwords
                .is(passwords.enter().expect("a permit"), password, Some(hash.clone()), &ids)
                .await
                .expect("an answer");
            assert_eq!(is, expected, "{password}");
            assert!(
                !passwords
                    .is(passwords.enter().expect("a permit"), password, None, &ids)
                    .await
                    .expect("an answer")
            );
        }
    }

    #[tokio::test]
    async fn short_and_endless_passwords_are_refused() {
        let (passwords, ids) = (Passwords::default(), Ids::from_seed(1));
        for wrong in ["", "eleven char", &"x".repeat(PASSWORD_BYTES_MAX + 1)] {
            assert!(
                matches!(
                    passwords.hash(passwords.enter().expect("a permit"), wrong, &ids).await,
                    Err(AppError::Invalid(_))
                ),
                "{wrong}"
            );
        }
        assert!(passwords.hash(passwords.enter().expect("a permit"), "zwölf Züge..", &ids).await.is_ok());
    }
}
