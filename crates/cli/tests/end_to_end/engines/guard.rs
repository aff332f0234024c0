use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::{is_there, kill, pids};
use crate::support::{Ran, program, wait_until};

/// A shell script under a guard, in its own folder.
struct Guarded {
    folder: TempDir,
    guard: Child,
    /// The service's end of the socket.
    service: UnixStream,
}

/// Writes its process id, starts a child, and an orphaned grandchild that has left the group and ignores SIGTERM.
const FAMILY: &str = r#"
echo $$ >> pids
sleep 1000 & echo $! >> pids
(setsid sh -c 'trap "" TERM; echo $$ >> pids; sleep 1000 & echo $! >> pids; wait; wait' &)
while [ "$(wc -l < pids)" -lt 4 ]; do sleep 0.01; done
"#;

impl Guarded {
    fn start(stop_timeout_ms: u32, script: &str) -> Self {
        let (service, theirs) = UnixStream::pair().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let guard = guard(stop_timeout_ms, &["sh", "-c", script])
            .current_dir(folder.path())
            .stdin(OwnedFd::from(theirs))
            // A process that outlives its guard must not hold the tests' output.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { folder, guard, service }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn wait_for(&self, name: &str) {
        wait_until(&format!("there is a file {name}"), || self.path(name).exists());
    }

    /// The processes of a script that includes [`FAMILY`], once they exist.
    fn family(&self) -> Vec<u32> {
        wait_until("the family is complete", || pids(&self.path("pids")).len() == 4);
        let pids = pids(&self.path("pids"));
        assert!(pids.iter().all(|pid| is_there(*pid)), "{pids:?}");
        pids
    }

    fn exit_code(&mut self) -> Option<i32> {
        wait_until("the guard ends", || self.guard.try_wait().unwrap().is_some());
        self.guard.wait().unwrap().code()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.service.shutdown(std::net::Shutdown::Both);
        let _ = self.guard.wait();
    }
}

fn guard(stop_timeout_ms: u32, command: &[&str]) -> Command {
    let mut guard = program();
    guard.args(["engine-guard", "--stop-timeout-ms", &stop_timeout_ms.to_string(), "--"]).args(command);
    guard
}

#[test]
fn all_that_a_command_started_is_ended_when_the_service_lets_go() {
    let mut guarded = Guarded::start(300, &format!("{FAMILY} wait"));
    let family = guarded.family();
    guarded.service.shutdown(std::net::Shutdown::Both).unwrap();
    assert_eq!(guarded.exit_code(), Some(128 + 15));
    assert!(!family.iter().any(|pid| is_there(*pid)), "{family:?}");
}

#[test]
fn all_that_a_command_started_is_ended_when_the_service_is_killed() {
    // A separate process holds the service's end of the socket, so that it can be killed.
    let mut guarded = Guarded::start(300, &format!("{FAMILY} wait"));
    let family = guarded.family();
    let held = OwnedFd::from(guarded.service.try_clone().unwrap());
    let mut service = Command::new("sleep").arg("1000").stdin(held).spawn().unwrap();
    guarded.service = UnixStream::pair().unwrap().0;
    assert!(guarded.guard.try_wait().unwrap().is_none());
    service.kill().unwrap();
    service.wait().unwrap();
    assert_eq!(guarded.exit_code(), Some(128 + 15));
    assert!(!family.iter().any(|pid| is_there(*pid)), "{family:?}");
}

#[test]
fn what_a_command_leaves_behind_when_it_ends_is_ended_and_its_status_is_passed_on() {
    let mut guarded =
        Guarded::start(300, &format!("{FAMILY} while [ ! -e go ]; do sleep 0.01; done; exit 3"));
    let family = guarded.family();
    fs::write(guarded.path("go"), "").unwrap();
    assert_eq!(guarded.exit_code(), Some(3));
    assert!(!family.iter().any(|pid| is_there(*pid)), "{family:?}");
}

#[test]
fn a_command_is_given_its_time_to_end() {
    let script = "trap 'echo > saved; exit 7' TERM; echo > ready; while :; do sleep 0.01; done";
    let mut guarded = Guarded::start(600_000, script);
    guarded.wait_for("ready");
    guarded.service.shutdown(std::net::Shutdown::Both).unwrap();
    assert_eq!(guarded.exit_code(), Some(7));
    assert!(guarded.path("saved").exists());
}

#[test]
fn a_guard_that_is_told_to_end_ends_its_command_and_the_keys_of_a_terminal_do_not() {
    let waiting = "echo > ready; while [ ! -e go ]; do sleep 0.01; done; exit 5";
    let mut guarded = Guarded::start(600_000, waiting);
    guarded.wait_for("ready");
    kill(guarded.guard.id(), "INT");
    kill(guarded.guard.id(), "HUP");
    fs::write(guarded.path("go"), "").unwrap();
    assert_eq!(guarded.exit_code(), Some(5));
    let mut guarded = Guarded::start(600_000, waiting);
    guarded.wait_for("ready");
    kill(guarded.guard.id(), "TERM");
    assert_eq!(guarded.exit_code(), Some(128 + 15));
}

#[test]
fn a_guard_tells_the_group_that_it_guards_and_has_a_name_of_its_own() {
    let mut guarded = Guarded::start(600_000, "echo $$ >> pids; sleep 1000");
    let mut line = String::new();
    BufReader::new(&guarded.service).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    wait_until("the command says who it is", || pids(&guarded.path("pids")).len() == 1);
    assert_eq!(told, serde_json::json!({"process_group": pids(&guarded.path("pids"))[0]}));
    let name = fs::read_to_string(format!("/proc/{}/comm", guarded.guard.id())).unwrap();
    assert_eq!(name, "engine-guard\n");
    guarded.service.shutdown(std::net::Shutdown::Both).unwrap();
    assert_eq!(guarded.exit_code(), Some(128 + 15));
}

#[test]
fn a_command_that_a_signal_ends_or_that_cannot_run_has_the_code_of_a_shell() {
    assert_eq!(Guarded::start(1_000, "kill -9 $$").exit_code(), Some(128 + 9));
    let (_service, theirs) = UnixStream::pair().unwrap();
    let ran = guard(1_000, &["/nowhere/engine"]).stdin(OwnedFd::from(theirs)).output().unwrap();
    let ran = Ran::from(ran);
    assert_eq!(
        (ran.code, ran.stderr.contains("/nowhere/engine cannot be started: ")),
        (127, true),
        "{ran:?}"
    );
    let by_hand = Ran::from(guard(1_000, &["true"]).stdin(Stdio::null()).output().unwrap());
    assert_eq!(
        (by_hand.code, by_hand.stderr.contains("only the service starts it")),
        (125, true),
        "{by_hand:?}"
    );
}
