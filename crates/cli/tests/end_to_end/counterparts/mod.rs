//! Clients and providers from npm. The scripts that run them are in `crates/cli/tests/counterparts/`.

mod oidc;
mod stripe;

use std::fs::File;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{Running, World};

/// Node.js with this script, which imports the package.
fn node(script: &str, package: &str) -> Command {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/counterparts");
    let is_there = folder.join("node_modules").join(package).exists();
    assert!(
        is_there,
        "{package} is missing in {}. ./scripts/test installs what tests need.",
        folder.display()
    );
    let mut command = Command::new("node");
    command.arg(script).current_dir(folder);
    command
}

/// Starts the service with these variables and returns its address. Its log is the world's file `log`.
fn serve(world: &World, variables: &[(&str, &str)]) -> (Running, String) {
    let mut command = world.command("serve --json --quiet");
    command.envs(variables.iter().copied()).stderr(File::create(world.path("log")).unwrap());
    let mut serving = Running::of(&mut command);
    let line = serving.line();
    let told: Value = serde_json::from_str(&line)
        .unwrap_or_else(|error| panic!("{error}: {line:?}: {}", world.read("log")));
    let url = told["url"].as_str().unwrap().trim_end_matches('/').to_owned();
    (serving, url)
}
