//! The foundation of the service. It knows no database, no HTTP and no settings.

pub mod clock;
pub mod encryption;
pub mod file_owner;
pub mod ids;
pub mod log_lines;
pub mod paths;
pub mod percent;
pub mod planted_bugs;
pub mod postgres_url;
pub mod private_files;
pub mod secret_files;
pub mod secrets;
pub mod spelling;
pub mod supervision;
pub mod tasks;
pub mod telemetry;
pub mod turns;
