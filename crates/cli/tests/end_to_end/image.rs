//! The image from `scripts/image`, unpacked like a container runtime does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Running, succeed, wait_until};

/// The image of the programs under test.
fn image(dist: &Path) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/image");
    let programs = Path::new(env!("CARGO_BIN_EXE_overnight")).parent().unwrap();
    succeed(Command::new(script).arg("--built").arg(programs).env("DIST", dist));
    let mut files = fs::read_dir(dist).unwrap().map(|file| file.unwrap().path());
    files.find(|path| path.extension().is_some_and(|it| it == "tar")).unwrap()
}

fn blob(unpacked: &Path, named: &Value) -> PathBuf {
    let digest = named["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    unpacked.join("blobs/sha256").join(digest)
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_image_is_the_same_bytes_again_and_serves_as_its_user_without_a_shell() {
    let folders: [TempDir; 3] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let [first, second, unpacked] = folders.each_ref().map(TempDir::path);
    let archive = image(first);
    assert!(
        fs::read(&archive).unwrap() == fs::read(image(second)).unwrap(),
        "the second time the bytes are others"
    );
    succeed(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(unpacked));
    let manifest = json(&blob(unpacked, &json(&unpacked.join("index.json"))["manifests"][0]));
    let config = json(&blob(unpacked, &manifest["config"]))["config"].clone();
    assert_eq!(config["User"], "65532:65532");
    let root = unpacked.join("root");
    fs::create_dir(&root).unwrap();
    succeed(Command::new("tar").arg("-xzf").arg(blob(unpacked, &manifest["layers"][0])).arg("-C").arg(&root));
    assert_eq!(names(&root.join("usr/bin")), ["overnight", "overnight-engine"]);
    let bill = json(&root.join("usr/share/doc/overnight/sbom.cdx.json"));
    let components: Vec<_> =
        bill["components"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    for name in ["libc6", "llama-cpp-sys-2", "overnight-server", "overnight-tiny", "rustls"] {
        assert!(components.contains(&name), "{name} is not in the bill of materials");
    }
    if succeed(Command::new("id").arg("-u")).trim() != "0" {
        eprintln!("skipped: only root can run it in its own root folder");
        return;
    }
    let inside = |program: &str, argument: &str| {
        let mut command = Command::new("/usr/sbin/chroot");
        command.arg("--userspec").arg(config["User"].as_str().unwrap()).arg(&root).args([program, argument]);
        let variables =
            config["Env"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().split_once('=').unwrap());
        command.env_clear().envs(variables).env("OVERNIGHT_LISTEN", "127.0.0.1:0").stderr(Stdio::null());
        command
    };
    // Nothing else of it runs without /proc, which has the processor's features.
    succeed(&mut inside("/usr/bin/overnight-engine", "--help"));
    let [program, command] = [&config["Entrypoint"], &config["Cmd"]].map(|it| it[0].as_str().unwrap());
    let serving = Running::of(&mut inside(program, command));
    wait_until("the image serves", || root.join("var/lib/overnight/data/serve.json").exists());
    serving.signal("TERM");
    assert_eq!(serving.code(), 0);
}
