//! The Python package in `sdk/python`: its types and format, and its tests and documents with the programs in its wheel.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::Ran;

#[test]
fn the_python_package_has_no_fault_of_types_or_form() {
    succeed(tool("ruff").args(["check", "--no-cache", "."]));
    succeed(tool("ruff").args(["format", "--check", "--no-cache", "."]));
    succeed(tool("pyright").arg("--pythonpath").arg(environment().join("bin/python")));
}

#[test]
fn a_wheel_with_the_programs_passes_the_tests_of_the_python_package() {
    let programs = Path::new(env!("CARGO_BIN_EXE_overnight")).parent().unwrap();
    if !programs.join("overnight-engine").exists() {
        eprintln!("skipped: overnight-engine is not built in {}", programs.display());
        return;
    }
    // The same folder each time, because Python finds its compiled files by path.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    let (wheels, site) = (folder.join("wheels"), folder.join("site"));
    succeed(
        Command::new(package().join("build-wheel"))
            .arg(&wheels)
            .arg(programs)
            .env("PYTHON", environment().join("bin/python")),
    );
    let (pure, of_platform) = find_wheels(&wheels);
    assert!(fs::metadata(pure).unwrap().len() < 1 << 20, "a pure wheel carries no programs");
    // The wheel's dependencies are in the tests' environment; the package itself is only in the wheel.
    succeed(
        tool("pip")
            .args(["install", "--quiet", "--no-index", "--no-deps", "--target"])
            .args([&site, &of_platform]),
    );
    let version = succeed(Command::new(site.join("bin/overnight")).arg("--version").env("PYTHONPATH", &site));
    assert_eq!(version, succeed(Command::new(env!("CARGO_BIN_EXE_overnight")).arg("--version")));
    succeed(
        tool("pytest")
            .args(["-q", "-p", "no:cacheprovider"])
            .env("PYTHONPATH", &site)
            .env("PYTHONPYCACHEPREFIX", environment().with_file_name("pycache")),
    );
}

fn find_wheels(folder: &Path) -> (PathBuf, PathBuf) {
    let wheels = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (pure, others): (Vec<PathBuf>, Vec<PathBuf>) =
        wheels.partition(|path| path.to_string_lossy().ends_with("-none-any.whl"));
    let [pure] = <[PathBuf; 1]>::try_from(pure).unwrap();
    let [other] = <[PathBuf; 1]>::try_from(others).unwrap();
    (pure, other)
}

/// A program of the environment, run in the package's folder.
fn tool(name: &str) -> Command {
    let path = environment().join("bin").join(name);
    assert!(path.exists(), "{} is missing. ./scripts/test installs what tests need.", path.display());
    let mut command = Command::new(path);
    command.current_dir(package()).env("PYRIGHT_PYTHON_CACHE_DIR", environment().join("pyright"));
    command
}

/// Runs it without the settings of the test's environment; it must succeed. Returns its output.
fn succeed(command: &mut Command) -> String {
    let is_ours = |name: &OsString| name.to_string_lossy().starts_with("OVERNIGHT_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_ours(name)) {
        command.env_remove(name);
    }
    let output = command.stdin(Stdio::null()).output();
    let ran = Ran::from(output.unwrap_or_else(|error| panic!("{command:?} does not start: {error}")));
    assert_eq!(ran.code, 0, "{command:?}\n{}\n{}", ran.stdout, ran.stderr);
    ran.stdout
}

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/python")
}

/// The folder in which `./scripts/test` installs the test packages, beside Cargo's output.
fn environment() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-clients").join("sdk")
}
