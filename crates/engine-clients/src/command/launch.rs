//! How a command is started: its program, folder, environment and port.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use overnight_config::CommandConfig;
use rustix::fs::{Access, access};
use url::Host;

use crate::engine_environment;

/// For environments without `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What each engine gets, then what the settings pass on, then what they set.
pub(super) fn environment(config: &CommandConfig) -> BTreeMap<OsString, OsString> {
    let passed = config.pass_env.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
    let set = config.env.iter().map(|(name, value)| (name.into(), value.into()));
    engine_environment().chain(passed).chain(set).collect()
}

/// The command's program, found as by a shell: a name in the `PATH` of the command's environment, a path relative to its working directory.
/// Fails if it cannot be run.
pub fn find_program(config: &CommandConfig) -> Result<PathBuf, String> {
    let folder = working_dir(config)?;
    let name = config.command.first().map(String::as_str).unwrap_or_default();
    if name.contains('/') {
        let path = folder.join(name);
        let usable = || is_executable(&path);
        return usable().then_some(path.clone()).ok_or_else(|| match path.is_file() {
            true => format!("{} is not executable", path.display()),
            false => format!("there is no program {}", path.display()),
        });
    }
    let searched = environment(config).remove(&OsString::from("PATH")).unwrap_or_else(|| DEFAULT_PATH.into());
    let mut paths = std::env::split_paths(&searched).map(|entry| folder.join(entry).join(name));
    paths.find(|path| is_executable(path)).ok_or_else(|| {
        format!("there is no program `{name}` in the folders of its PATH: {}", searched.display())
    })
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// As an absolute path.
pub(super) fn working_dir(config: &CommandConfig) -> Result<PathBuf, String> {
    let Some(folder) = &config.working_dir else {
        return std::env::current_dir().map_err(|error| format!("the working directory is unknown: {error}"));
    };
    let absolute = std::path::absolute(folder).ok().filter(|folder| folder.is_dir());
    absolute.ok_or_else(|| format!("its `working_dir` {} is no folder", folder.display()))
}

/// Fails if the command's port is taken.
pub fn check_port_free(config: &CommandConfig) -> Result<(), String> {
    let port = config.port();
    let hosts: &[&str] = match config.openai.base_url.host() {
        Some(Host::Domain(_)) | None => &["127.0.0.1", "::1"],
        Some(Host::Ipv4(address)) => &[&address.to_string()],
        Some(Host::Ipv6(address)) => &[&address.to_string()],
    };
    for host in hosts {
        // Other faults are left to the command: it may have rights or addresses that the service lacks.
        if let Err(error) = TcpListener::bind((*host, port))
            && error.kind() == io::ErrorKind::AddrInUse
        {
            return Err(format!(
                "port {port} is taken by another process: something listens at {host} already"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use overnight_config::{Config, EngineKind, Sources};

    use super::*;

    fn command(program: &str, settings: &str) -> CommandConfig {
        let engines = format!(
            r#"[{{ name = "e", kind = "command", command = ["{program}"], base_url = "http://127.0.0.1:8001/v1"{settings} }}]"#
        );
        let variables = [("OVERNIGHT_MODELS", r#"[{ name = "m" }]"#), ("OVERNIGHT_ENGINES", &engines)];
        let environment = variables.map(|(name, value)| (name.into(), value.into())).into();
        let config = Config::load(&Sources { environment, ..Sources::default() }).unwrap();
        let EngineKind::Command(command) = config.engines[0].kind.clone() else { panic!("not a command") };
        command
    }

    #[test]
    fn a_program_is_found_in_the_path_of_its_own_environment_or_under_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().display();
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        std::os::unix::fs::symlink("/bin/sh", folder.path().join("bin/own")).unwrap();
        std::fs::write(folder.path().join("text"), "").unwrap();
        let (at_home, in_path) =
            (format!(", working_dir = \"{here}\""), format!(", env = {{ PATH = \"/nowhere:{here}/bin\" }}"));
        for (program, settings) in [("own", &in_path), ("bin/own", &at_home)] {
            let found = find_program(&command(program, settings));
            assert_eq!(found, Ok(folder.path().join("bin/own")), "{program}");
        }
        assert!(find_program(&command("sh", "")).unwrap().is_absolute());
        for (program, settings, part) in [
            ("sh", &in_path, "there is no program `sh` in the folders of its PATH: /nowhere:"),
            ("text", &in_path, "there is no program `text`"),
            ("./text", &at_home, "text is not executable"),
            ("./absent", &at_home, "there is no program "),
            ("sh", &", working_dir = \"/nowhere\"".to_owned(), "its `working_dir` /nowhere is no folder"),
        ] {
            let refused = find_program(&command(program, settings)).unwrap_err();
            assert!(refused.contains(part), "{refused}\nlacks {part}");
        }
    }

    #[test]
    fn a_command_gets_what_the_settings_name_and_no_secret_of_the_service() {
        let config = command(
            "sh",
            ", env = { PATH = \"/own\", A = \"1\" }, pass_env = [\"CARGO_PKG_NAME\", \"ABSENT\"]",
        );
        let environment = environment(&config);
        let value = |name: &str| environment.get(&OsString::from(name)).and_then(|value| value.to_str());
        assert_eq!((value("PATH"), value("A")), (Some("/own"), Some("1")));
        assert_eq!((value("CARGO_PKG_NAME"), value("ABSENT")), (Some(env!("CARGO_PKG_NAME")), None));
        assert_eq!(value("CARGO_MANIFEST_DIR"), None);
    }

    #[test]
    fn a_port_at_which_something_listens_is_taken() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in ["127.0.0.1", "localhost"] {
            let mut config = command("sh", "");
            config.openai.base_url = format!("http://{host}:{port}/v1").parse().unwrap();
            let taken = check_port_free(&config).unwrap_err();
            assert!(taken.contains(&format!("port {port} is taken")), "{taken}");
        }
        drop(listener);
        let mut config = command("sh", "");
        config.openai.base_url = format!("http://127.0.0.1:{port}/v1").parse().unwrap();
        assert_eq!(check_port_free(&config), Ok(()));
    }
}
