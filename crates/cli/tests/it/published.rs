//! Published clients, unmodified, against a service that answers with the model in the box, on each database. Their scripts are in
//! `crates/cli/tests/clients/`; one is run as `cargo test --release -p overnight-cli --test it published::on_sqlite::NAME`.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use overnight_testkit::postgres::Cluster;
use serde_json::Value;

use crate::support::{Ran, Running, program};

/// The model in the box, and a model whose requests wait, because its engine is away.
const SETTINGS: &str = "listen = \"127.0.0.1:0\"\ndata_dir = \"data\"\naggregation_period = \"50ms\"\n\
    [webhooks]\nallow_insecure_targets = true\n\
    [[models]]\nname = \"overnight-tiny\"\n[[models]]\nname = \"waiting\"\n\
    [[engines]]\nname = \"local\"\nkind = \"embedded\"\nmodels = { \"overnight-tiny\" = \"overnight-tiny\" }\n\
    [[engines]]\nname = \"away\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\nmodels = { \"waiting\" = \"m\" }\n";

/// What a script is run by.
enum Script {
    /// A script, and the environment of packages that it finds.
    Python(&'static str, &'static str),
    /// A script, and the package that it loads.
    Node(&'static str, &'static str),
    Shell(&'static str),
}

use Script::{Node, Python, Shell};

/// A test of each script on each database.
macro_rules! scripts {
    ($($name:ident: $script:expr;)*) => {
        mod on_sqlite {
            use super::*;
            $(#[test]
            fn $name() {
                play(&$script, None);
            })*
        }

        mod on_postgresql {
            use super::*;
            $(#[test]
            fn $name() {
                play(&$script, Some(concat!("published_", stringify!($name))));
            })*
        }
    };
}

scripts! {
    the_newest_openai_for_python_is_served: Python("openai_sync.py", "newest");
    the_newest_openai_for_python_is_served_asynchronously: Python("openai_async.py", "newest");
    a_year_old_openai_for_python_is_served: Python("openai_sync.py", "year-old");
    a_year_old_openai_for_python_is_served_asynchronously: Python("openai_async.py", "year-old");
    the_newest_openai_for_node_is_served: Node("openai.js", "openai-newest");
    a_year_old_openai_for_node_is_served: Node("openai.js", "openai-year-old");
    the_newest_anthropic_for_python_is_served: Python("anthropic_sync.py", "newest");
    the_newest_anthropic_for_python_is_served_asynchronously: Python("anthropic_async.py", "newest");
    a_year_old_anthropic_for_python_is_served: Python("anthropic_sync.py", "year-old");
    a_year_old_anthropic_for_python_is_served_asynchronously: Python("anthropic_async.py", "year-old");
    the_newest_anthropic_for_node_is_served: Node("anthropic.js", "anthropic-newest");
    a_year_old_anthropic_for_node_is_served: Node("anthropic.js", "anthropic-year-old");
    litellm_is_served: Python("litellm_batches.py", "litellm");
    curl_is_served: Shell("curl/batches.sh");
}

impl Script {
    fn command(&self) -> Command {
        let (program, script, packages) = match self {
            Self::Python(script, packages) => {
                let venv = target().join(format!("test-clients/{packages}"));
                (venv.join("bin/python"), format!("python/{script}"), Some(venv.join(".installed")))
            }
            Self::Node(script, package) => {
                let installed = scripts().join("node/node_modules").join(package);
                ("node".into(), format!("node/{script}"), Some(installed))
            }
            Self::Shell(script) => ("bash".into(), (*script).to_owned(), None),
        };
        for packages in packages {
            let needs = "./scripts/test installs what tests need.";
            assert!(packages.exists(), "{} is missing. {needs}", packages.display());
        }
        let mut command = Command::new::<PathBuf>(program);
        command.arg(scripts().join(script));
        if let Self::Node(_, package) = self {
            command.arg(package);
        }
        command
    }
}

/// Runs a script against a service of its own, which must please it.
fn play(script: &Script, database: Option<&str>) {
    let engine = Path::new(env!("CARGO_BIN_EXE_overnight")).with_file_name("overnight-engine");
    if !engine.exists() {
        eprintln!("skipped: {} is not built", engine.display());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let database = database.map_or_else(String::new, |name| {
        let name = &name[..name.len().min(63)];
        format!("database_url = \"{}\"\n", Cluster::shared().database(name).unwrap())
    });
    fs::write(folder.path().join("overnight.toml"), format!("{database}{SETTINGS}")).unwrap();
    let here = |line: &str| {
        let mut command = program();
        command.args(line.split_whitespace()).current_dir(folder.path());
        command
    };
    let log = folder.path().join("log");
    let mut serving =
        Running::of(here("serve --json --quiet").stderr(File::create(&log).unwrap()));
    let told = serving.line();
    let read_log = || fs::read_to_string(&log).unwrap();
    let told: Value =
        serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told:?}; {}", read_log()));
    let secret = Ran::from(here("webhook secret").output().unwrap());
    assert_eq!(secret.code, 0, "{secret:?}");

    let mut command = script.command();
    command
        .env("CLIENT_URL", told["url"].as_str().unwrap())
        .env("CLIENT_KEY", fs::read_to_string(folder.path().join("data/api-key")).unwrap().trim())
        .env("CLIENT_WEBHOOK_SECRET", secret.stdout.trim())
        .env("PYTHONPYCACHEPREFIX", target().join("test-clients/pycache"))
        .env("NO_PROXY", "127.0.0.1");
    let ran = match command.stdin(Stdio::null()).output() {
        Ok(output) => Ran::from(output),
        Err(error) if error.kind() == ErrorKind::NotFound => panic!("{command:?} does not start: {error}"),
        Err(error) => panic!("{error}"),
    };
    assert_eq!(ran.code, 0, "{}\n{}\nThe log of the service:\n{}", ran.stdout, ran.stderr, read_log());
    assert!(!serving.has_ended(), "{}", read_log());
}

/// Where the scripts are.
fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// Where `./scripts/test` installs packages, beside what cargo builds.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_path_buf()
}
