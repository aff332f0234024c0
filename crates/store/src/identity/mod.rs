//! Accounts and whoever acts for them: users with their sessions, members, invitations and API keys.

pub mod accounts;
pub mod api_keys;
pub mod invitations;
pub mod members;
pub mod sessions;
pub mod sign_in_failures;
pub mod sign_ups;
pub mod users;
pub(crate) mod withdrawals;
