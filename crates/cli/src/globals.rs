//! Flags of every command, and the settings that they lead to.

use std::io::ErrorKind;
use std::path::PathBuf;

use clap::{ArgAction, Args, ColorChoice, ValueHint};
use overnight_config::{CONFIG_VARIABLE, Config, Database, Sources};
use overnight_store::DATABASE_FILE;

use crate::errors::CliError;
use crate::paths::path;
use crate::serve_file::settings_of_running;
use crate::settings_file::SettingsFile;
use crate::shell::quoted;

/// Flags that stand anywhere on the line.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// The file of settings [default: $OVERNIGHT_CONFIG, else that of the service that runs over the data folder, else overnight.toml if there is one].
    #[arg(long, global = true, value_name = "FILE", value_parser = path())]
    pub(crate) config: Option<PathBuf>,
    /// The folder of everything that is kept [default: overnight-data].
    #[arg(long, global = true, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) data_dir: Option<String>,
    /// Where requests and results are stored [default: sqlite, in the data folder].
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) database_url: Option<String>,
    /// Where the service is, for commands that call it [default: $OVERNIGHT_URL, else the one on this machine].
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Print results as JSON, and errors too.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say nothing beside results and errors.
    #[arg(long, short, global = true, action = ArgAction::SetTrue)]
    pub(crate) quiet: bool,
    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

impl Globals {
    /// The settings; `flags` of the command override the flags of every command.
    pub(crate) fn config_with(&self, flags: Vec<(String, String)>) -> Result<Config, CliError> {
        let own = [("data_dir", &self.data_dir), ("database_url", &self.database_url)];
        let own = own.into_iter().filter_map(|(path, value)| Some((path.to_owned(), value.clone()?)));
        let flags = own.chain(flags).collect();
        Ok(Config::load(&Sources::of_process(self.config.clone(), flags))?)
    }

    /// The program's name and the flags for the same settings, as a person would type them in a shell.
    pub(crate) fn command(&self) -> String {
        let config = self.config.as_ref().map(|path| path.display().to_string());
        let flags = [("--config", config), ("--data-dir", self.data_dir.clone())];
        let flags =
            flags.into_iter().filter_map(|(flag, value)| Some(format!(" {flag} {}", quoted(&value?))));
        ["overnight".to_owned()].into_iter().chain(flags).collect()
    }

    pub(crate) fn settings_file(&self) -> SettingsFile {
        SettingsFile::read(Sources::of_process(self.config.clone(), Vec::new()).file)
    }

    /// The settings of a command next to a service. If no file is named and a service runs over the data folder, the file that the service
    /// loaded applies, regardless of the working directory.
    pub(crate) fn load_config(&self) -> Result<Config, CliError> {
        let config = self.config_with(Vec::new())?;
        let is_named =
            self.config.is_some() || std::env::var_os(CONFIG_VARIABLE).is_some_and(|name| !name.is_empty());
        let running = if is_named { None } else { settings_of_running(&config.data_dir) };
        let Some(path) = running.and_then(|(_, settings)| settings?.file.into_path()) else {
            return Ok(config);
        };
        let data_dir = config.data_dir.to_str().map(str::to_owned);
        Self { config: Some(path), data_dir: data_dir.or_else(|| self.data_dir.clone()), ..self.clone() }
            .config_with(Vec::new())
    }

    /// The same for a command that works in the data folder.
    pub(crate) fn load_operator_config(&self) -> Result<Config, CliError> {
        let config = self.load_config()?;
        refuse_closed(&config)?;
        Ok(config)
    }
}

/// To a user without access, the contents of SQLite's folder would look missing.
pub(crate) fn refuse_closed(config: &Config) -> Result<(), CliError> {
    let file = config.data_dir.join(DATABASE_FILE);
    match file.try_exists() {
        Err(error) if error.kind() == ErrorKind::PermissionDenied && config.database == Database::Sqlite => {
            Err(CliError::file(&file, &error).with_hint("run this as the user of the service, or as root"))
        }
        _ => Ok(()),
    }
}
