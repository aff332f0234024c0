//! The packages from `scripts/package`, unpacked like an installation, and the systemd unit.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::support::{Running, World, program, root, succeed, wait_until};

/// The packages of the programs under test.
fn package(dist: &Path) -> Vec<(String, Vec<u8>)> {
    let programs = Path::new(env!("CARGO_BIN_EXE_overnight")).parent().unwrap();
    succeed(
        Command::new(root().join("scripts/package"))
            .arg("--built")
            .arg(programs)
            .env("DIST", dist)
            .env("COMPRESSION", "1"),
    );
    let mut files: Vec<_> = fs::read_dir(dist).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), fs::read(path).unwrap())).collect()
}

fn ending<'a>(files: &'a [(String, Vec<u8>)], ending: &str) -> &'a str {
    files
        .iter()
        .map(|(name, _)| name.as_str())
        .find(|name| name.ends_with(ending))
        .unwrap_or_else(|| panic!("no {ending}"))
}

/// Links in a folder's pages without a target. Sources are only in a checkout.
fn dead_links(folder: &Path, documents: &Path) -> Vec<String> {
    let mut dead = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            dead.extend(dead_links(&path, documents));
        } else if path.extension().is_some_and(|it| it == "md") {
            let page = fs::read_to_string(&path).unwrap();
            let links = page.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
            let missing = links.filter(|link| !link.contains("://") && !folder.join(link).exists());
            let of_sources =
                |link: &&str| ["crates/", "scripts/", "deploy/"].iter().any(|it| link.contains(it));
            let missing = missing.filter(|link| !of_sources(link));
            dead.extend(
                missing.map(|link| format!("{}: {link}", path.strip_prefix(documents).unwrap().display())),
            );
        }
    }
    dead
}

#[test]
fn packages_are_the_same_bytes_again_and_what_they_install_serves() {
    let folders: [TempDir; 3] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let [first, second, installed] = folders.each_ref().map(TempDir::path);
    let files = package(first);
    assert!(files == package(second), "the second time the bytes are others");
    succeed(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(first));
    succeed(Command::new("dpkg-deb").arg("-x").arg(first.join(ending(&files, ".deb"))).arg(installed));
    let archive = first.join(ending(&files, ".tar.gz"));
    succeed(Command::new("tar").arg("-xf").arg(archive).args(["--strip-components=1", "-C"]).arg(installed));
    let names = succeed(Command::new("dpkg-deb").arg("-c").arg(first.join(ending(&files, ".deb"))));
    for name in [
        "./lib/systemd/system/overnight.service",
        "./etc/overnight/overnight.toml",
        "./usr/share/man/man1/overnight.1.gz",
        "./usr/share/doc/overnight/sbom.cdx.json",
    ] {
        assert!(names.contains(name), "{name} is not in\n{names}");
    }
    let bill = fs::read(first.join(ending(&files, ".cdx.json"))).unwrap();
    assert!(bill == fs::read(installed.join("share/doc/overnight/sbom.cdx.json")).unwrap());
    let chart = succeed(Command::new("tar").arg("-tf").arg(first.join(ending(&files, ".tgz"))));
    assert!(chart.contains("overnight/Chart.yaml\n") && !chart.contains("/ci/"), "{chart}");
    for documents in ["share/doc/overnight", "usr/share/doc/overnight"].map(|path| installed.join(path)) {
        assert_eq!(dead_links(&documents, &documents), [""; 0]);
    }
    for programs in ["usr/bin", "bin"] {
        let mut serve = Command::new(installed.join(programs).join("overnight"));
        serve
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(installed.join("etc/overnight/overnight.toml"));
        serve.arg("--data-dir").arg(installed.join(programs).join("data")).stderr(Stdio::null());
        let serving = Running::of(&mut serve);
        let file = installed.join(programs).join("data/serve.json");
        wait_until("what was installed serves", || file.exists());
        serving.signal("TERM");
        assert_eq!(serving.code(), 0);
    }
}

#[test]
fn the_unit_is_one_that_systemd_takes_and_rates_as_safe() {
    let unit = root().join("deploy/systemd/overnight.service");
    let Ok(rated) = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--no-pager", "--threshold=20"])
        .arg(&unit)
        .output()
    else {
        eprintln!("skipped: systemd-analyze is not installed");
        return;
    };
    assert!(rated.status.success(), "{}", String::from_utf8_lossy(&rated.stdout));
}

#[test]
fn the_service_manager_is_told_when_the_service_serves_and_when_it_stops() {
    let world = World::new();
    let socket = UnixDatagram::bind(world.path("notify")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let heard = || {
        let mut text = [0; 256];
        let length = socket.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    let mut serve = program();
    serve
        .args(["serve", "--quiet"])
        .current_dir(world.folder.path())
        .env("NOTIFY_SOCKET", world.path("notify"));
    let serving = Running::of(serve.stderr(Stdio::null()));
    assert!(heard().contains("READY=1"));
    assert_eq!(world.run("list").code, 0, "it serves as soon as it says so");
    serving.signal("TERM");
    assert!(heard().contains("STOPPING=1"));
    assert_eq!(serving.code(), 0);
}
