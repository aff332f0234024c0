//! Published clients, unmodified, with a service that answers with the built-in model, on each database. Their scripts are in
//! `crates/cli/tests/clients/`; run one with `cargo test --release -p overnight-cli --test end_to_end published::on_sqlite::NAME`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use overnight_testkit::postgres::Cluster;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Ran, Running, program};

/// The built-in model, and a model whose requests wait because its engine is unreachable.
const SETTINGS: &str = "listen = \"127.0.0.1:0\"\ndata_dir = \"data\"\naggregation_period = \"50ms\"\n\
    [webhooks]\nallow_insecure_targets = true\n\
    [[models]]\nname = \"overnight-tiny\"\n[[models]]\nname = \"waiting\"\n\
    [[engines]]\nname = \"local\"\nkind = \"embedded\"\nmodels = { \"overnight-tiny\" = \"overnight-tiny\" }\n\
    [[engines]]\nname = \"away\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\nmodels = { \"waiting\" = \"m\" }\n";

enum Script {
    /// A script and its environment of packages.
    Python(&'static str, &'static str),
    /// A script and the package that it loads.
    Node(&'static str, &'static str),
    Shell(&'static str),
}

enum Database {
    Sqlite,
    Postgres,
}

use Script::{Node, Python, Shell};

/// A test of each script on each database.
macro_rules! scripts {
    ($($name:ident: $script:expr;)*) => {
        mod on_sqlite {
            use super::*;
            $(#[test]
            fn $name() {
                play(&$script, &Database::Sqlite);
            })*
        }

        mod on_postgresql {
            use super::*;
            $(#[test]
            fn $name() {
                play(&$script, &Database::Postgres);
            })*
        }
    };
}

scripts! {
    the_newest_openai_for_python_is_served: Python("python/openai_sync.py", "newest");
    the_newest_openai_for_python_is_served_asynchronously: Python("python/openai_async.py", "newest");
    a_year_old_openai_for_python_is_served: Python("python/openai_sync.py", "year-old");
    a_year_old_openai_for_python_is_served_asynchronously: Python("python/openai_async.py", "year-old");
    the_newest_openai_for_node_is_served: Node("node/openai.js", "openai-newest");
    a_year_old_openai_for_node_is_served: Node("node/openai.js", "openai-year-old");
    the_newest_anthropic_for_python_is_served: Python("python/anthropic_sync.py", "newest");
    the_newest_anthropic_for_python_is_served_asynchronously: Python("python/anthropic_async.py", "newest");
    a_year_old_anthropic_for_python_is_served: Python("python/anthropic_sync.py", "year-old");
    a_year_old_anthropic_for_python_is_served_asynchronously: Python("python/anthropic_async.py", "year-old");
    the_newest_anthropic_for_node_is_served: Node("node/anthropic.js", "anthropic-newest");
    a_year_old_anthropic_for_node_is_served: Node("node/anthropic.js", "anthropic-year-old");
    litellm_is_served: Python("python/litellm_batches.py", "litellm");
    curl_is_served: Shell("curl/batches.sh");
}

/// Clients generated from the service's own reference.
mod of_the_reference {
    use super::*;

    #[test]
    fn the_samples_do_what_they_say() {
        play(&Python("python/samples.py", "generators"), &Database::Sqlite);
    }

    #[test]
    fn openapi_python_client_makes_a_client() {
        play(&Python("python/generated.py", "generators"), &Database::Sqlite);
    }

    #[test]
    fn openapi_typescript_makes_a_client() {
        play(&Node("node/generated/run.js", "openapi-typescript"), &Database::Sqlite);
    }

    #[test]
    fn hey_api_makes_a_client() {
        play(&Node("node/generated/run.js", "@hey-api/openapi-ts"), &Database::Sqlite);
    }
}

impl Script {
    fn command(&self) -> Command {
        let of = |program: &Path, script: &str| {
            let mut command = Command::new(program);
            command.arg(scripts().join(script));
            command
        };
        match self {
            Self::Python(script, venv) => {
                let venv = packages().join(venv);
                check_installed(&venv.join("installed.txt"));
                of(&venv.join("bin/python"), script)
            }
            Self::Node(script, package) => {
                check_installed(&scripts().join("node/node_modules").join(package));
                let mut command = of(Path::new("node"), script);
                command.arg(package);
                command
            }
            Self::Shell(script) => of(Path::new("bash"), script),
        }
    }
}

impl Database {
    fn setting(&self) -> String {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        match self {
            Self::Sqlite => String::new(),
            Self::Postgres => {
                let name = format!("published_{}", COUNT.fetch_add(1, Ordering::Relaxed));
                format!("database_url = \"{}\"\n", Cluster::shared().database(&name).unwrap())
            }
        }
    }
}

struct Service {
    folder: TempDir,
    running: Running,
    url: String,
}

impl Service {
    fn start(database: &Database) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("overnight.toml"), database.setting() + SETTINGS).unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let mut serve = program();
        serve.args(["serve", "--json", "--quiet"]).current_dir(folder.path()).stderr(log);
        let mut service = Self { running: Running::of(&mut serve), folder, url: String::new() };
        let told = service.running.line();
        let told: Value = serde_json::from_str(&told)
            .unwrap_or_else(|error| panic!("{error}: {told:?}; {}", service.log()));
        told["url"].as_str().unwrap().clone_into(&mut service.url);
        service
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    fn key(&self) -> String {
        fs::read_to_string(self.folder.path().join("data/api-key")).unwrap().trim().to_owned()
    }

    fn webhook_secret(&self) -> String {
        self.told(&["webhook", "secret"])
    }

    /// A key of the first account with the scope `admin`.
    fn admin_key(&self) -> String {
        let accounts: Value = serde_json::from_str(&self.told(&["account", "list", "--json"])).unwrap();
        let account = accounts[0]["id"].as_str().unwrap();
        self.told(&["key", "create", "--account", account, "--name", "admin", "--scope", "admin"])
    }

    /// The output of an operator's command.
    fn told(&self, arguments: &[&str]) -> String {
        let mut command = program();
        let told = Ran::from(command.args(arguments).current_dir(self.folder.path()).output().unwrap());
        assert_eq!(told.code, 0, "{told:?}");
        told.stdout.trim().to_owned()
    }
}

/// Runs a script with its own service; the script must succeed.
fn play(script: &Script, database: &Database) {
    let engine = Path::new(env!("CARGO_BIN_EXE_overnight")).with_file_name("overnight-engine");
    if !engine.exists() {
        eprintln!("skipped: {} is not built", engine.display());
        return;
    }
    let mut service = Service::start(database);
    let mut command = script.command();
    command
        .env("CLIENT_URL", &service.url)
        .env("CLIENT_KEY", service.key())
        .env("CLIENT_ADMIN_KEY", service.admin_key())
        .env("CLIENT_WEBHOOK_SECRET", service.webhook_secret())
        .env("PYTHONPYCACHEPREFIX", packages().join("pycache"))
        .env("NO_PROXY", "127.0.0.1");
    let output = command.stdin(Stdio::null()).output();
    let ran = Ran::from(output.unwrap_or_else(|error| panic!("{command:?} does not start: {error}")));
    assert_eq!(ran.code, 0, "{}\n{}\nThe log of the service:\n{}", ran.stdout, ran.stderr, service.log());
    assert!(!service.running.has_ended(), "{}", service.log());
}

fn check_installed(path: &Path) {
    assert!(path.exists(), "{} is missing. ./scripts/test installs what tests need.", path.display());
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// The folder in which `./scripts/test` installs Python's packages, beside Cargo's output.
fn packages() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-clients")
}
