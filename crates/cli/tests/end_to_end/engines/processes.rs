use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use overnight_base::clock::{Clock, SharedClock, Sleep, SystemClock};
use overnight_base::ids::Ids;
use overnight_config::{Config, Sources};
use overnight_engine_clients::{EngineClient, Engines, NotReady, ProcessStatus};
use tempfile::TempDir;

use super::program::{engine_in_shell, engine_of_model_in_shell};
use super::{is_there, kill, pids};
use crate::support::wait_until;

/// Engines of kind `command` with the model `m`, in their own folder, under the real guard.
struct World {
    folder: TempDir,
    engines: Engines,
    ports: Vec<u16>,
}

const STOPPED: ProcessStatus = ProcessStatus::Stopped { reason: None };

/// Writes its process id and becomes an engine.
fn engine(port: u16) -> String {
    format!("echo $$ >> pids; {}", engine_in_shell(port))
}

/// Writes its process id and becomes an engine of another model.
fn other_engine(port: u16) -> String {
    format!("echo $$ >> pids; {}", engine_of_model_in_shell(port, "other"))
}

/// Writes its process id and serves nothing.
fn idler(_: u16) -> String {
    "echo $$ >> pids; echo no device here; sleep 1000".to_owned()
}

impl World {
    /// One engine for each script, which gets its port.
    fn new(settings: &str, scripts: &[fn(u16) -> String]) -> Self {
        let clock: SharedClock = Arc::new(SystemClock);
        Self::with_clock(&clock, settings, scripts)
    }

    fn with_clock(clock: &SharedClock, settings: &str, scripts: &[fn(u16) -> String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut text = "[[models]]\nname = \"m\"\n".to_owned();
        let mut ports = Vec::new();
        for script in scripts {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            text += &format!(
                "[[engines]]\nname = \"e{port}\"\nkind = \"command\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n\
                 working_dir = \"{}\"\ncommand = [\"sh\", \"-c\", \"\"\"{}\"\"\"]\n{settings}\n",
                folder.path().display(),
                script(port)
            );
            ports.push(port);
        }
        let file = folder.path().join("overnight.toml");
        fs::write(&file, text).unwrap();
        let engines = engines_of(file, clock);
        Self { folder, engines, ports }
    }

    fn client(&self) -> Arc<EngineClient> {
        self.engines.list().remove(0)
    }

    fn status(&self) -> ProcessStatus {
        self.client().process_status().unwrap().borrow().clone()
    }

    fn is_free(&self) -> bool {
        self.ports.iter().all(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("pids")
    }

    /// The recorded process ids, newest last.
    fn pids(&self) -> Vec<u32> {
        pids(&self.path())
    }
}

/// The engines of a settings file, none of them running.
fn engines_of(settings: PathBuf, clock: &SharedClock) -> Engines {
    let config = Config::load(&Sources { file: Some(settings), ..Sources::default() }).unwrap();
    let guard = Path::new(env!("CARGO_BIN_EXE_overnight"));
    Engines::start_with_guard(guard, &config, clock, &Arc::new(Ids::from_seed(1))).unwrap()
}

/// The parent of an engine's process: its guard.
fn guard_of(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_is_started_until_it_answers_and_stopped_until_its_port_is_free_again_and_again() {
    let world = World::new("", &[engine]);
    let client = world.client();
    assert_eq!(world.status(), STOPPED);
    for life in 1..=2 {
        client.start_process().await.unwrap();
        assert_eq!(world.status(), ProcessStatus::Running);
        assert_eq!(client.list_models().await.unwrap()[0].id, "m");
        let twice = client.start_process().await.unwrap_err().to_string();
        assert!(twice.contains("started already"), "{twice}");
        assert_eq!((world.status(), world.pids().len()), (ProcessStatus::Running, life));
        client.stop_process().await.unwrap();
        assert_eq!(world.status(), STOPPED);
        assert!(world.is_free() && !world.pids().iter().any(|pid| is_there(*pid)));
        assert_eq!(client.process_ended().await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_whose_port_is_taken_is_not_started() {
    let world = World::new("", &[engine]);
    let _other = TcpListener::bind(("127.0.0.1", world.ports[0])).unwrap();
    let taken = world.client().start_process().await.unwrap_err().to_string();
    assert!(taken.contains(&format!("port {} is taken by another process", world.ports[0])), "{taken}");
    assert_eq!(world.status(), ProcessStatus::Stopped { reason: Some(taken) });
    assert!(world.pids().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_ends_before_it_is_ready_says_why() {
    let world = World::new("", &[|_| "echo no device here >&2; exit 3".to_owned()]);
    let why = world.client().start_process().await.unwrap_err().to_string();
    assert_eq!(why, "it ended with exit status 3; its last words: no device here");
    assert_eq!(world.status(), ProcessStatus::Stopped { reason: Some(why) });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_does_not_become_ready_in_time_is_ended() {
    let world = World::new("start_timeout = \"1s\"", &[idler]);
    let why = world.client().start_process().await.unwrap_err().to_string();
    let expected = format!("it was not ready within 1 s: nothing listens at port {}", world.ports[0]);
    assert!(why.starts_with(&expected), "{why}");
    assert_eq!(world.status(), STOPPED);
    assert!(!world.pids().iter().any(|pid| is_there(*pid)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_serves_other_models_is_ended_long_before_its_time_is_over() {
    let clock: SharedClock = Arc::new(FastClock);
    let world = World::with_clock(&clock, "start_timeout = \"24h\"", &[other_engine]);
    let why = world.client().start_process().await.unwrap_err().to_string();
    assert!(why.starts_with("it serves other models: status 404"), "{why}");
    assert_eq!(world.status(), STOPPED);
    assert!(!world.pids().iter().any(|pid| is_there(*pid)) && world.is_free());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_whose_start_nobody_waits_for_is_ended() {
    let world = World::new("", &[idler]);
    let client = world.client();
    let starting = tokio::spawn(async move { client.start_process().await });
    wait_until("it runs", || world.pids().len() == 1);
    assert_eq!(world.status(), ProcessStatus::Starting);
    starting.abort();
    wait_until("it is ended", || world.status() == STOPPED);
    assert!(!is_there(world.pids()[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_stopped_while_it_starts_is_not_ready() {
    let world = World::new("", &[idler]);
    let client = world.client();
    let starting = tokio::spawn(async move { client.start_process().await });
    wait_until("it runs", || world.pids().len() == 1);
    world.client().stop_process().await.unwrap();
    assert_eq!(starting.await.unwrap(), Err(NotReady::Stopped));
    assert!(!is_there(world.pids()[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_crashes_says_so_and_can_be_started_again() {
    let world = World::new("", &[engine]);
    let client = world.client();
    client.start_process().await.unwrap();
    kill(world.pids()[0], "KILL");
    let why = client.process_ended().await.unwrap();
    assert!(why.starts_with("it was ended by signal 9"), "{why}");
    client.start_process().await.unwrap();
    client.stop_process().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_group_of_an_engine_whose_guard_is_killed_is_ended_by_the_service() {
    let script = |port| format!("sleep 1000 & echo $! >> pids; {}", engine(port));
    let world = World::new("", &[script]);
    let client = world.client();
    client.start_process().await.unwrap();
    let group = world.pids();
    kill(guard_of(group[1]), "KILL");
    let why = client.process_ended().await.unwrap();
    assert!(why.starts_with("its guard was killed by signal 9, so it was ended"), "{why}");
    assert_eq!(group.len(), 2);
    assert!(!group.iter().any(|pid| is_there(*pid)), "{group:?}");
    client.start_process().await.unwrap();
    client.stop_process().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn all_engines_are_stopped_together_and_what_is_dropped_is_ended_too() {
    let world = World::new("", &[engine, idler]);
    let clients = world.engines.list();
    clients[0].start_process().await.unwrap();
    let idling = Arc::clone(&clients[1]);
    let starting = tokio::spawn(async move { idling.start_process().await });
    wait_until("both run", || world.pids().len() == 2);
    world.engines.stop().await;
    assert!(starting.await.unwrap().is_err() && world.is_free());
    assert!(!world.pids().iter().any(|pid| is_there(*pid)));
    clients[0].start_process().await.unwrap();
    let World { folder, engines, .. } = world;
    drop((engines, clients));
    wait_until("nothing is left", || !pids(&folder.path().join("pids")).iter().any(|pid| is_there(*pid)));
}

/// Runs a hundred times as fast as real time.
struct FastClock;

impl Clock for FastClock {
    fn now(&self) -> i64 {
        SystemClock.now() * 100
    }

    fn sleep_until(&self, at: i64) -> Sleep {
        SystemClock.sleep_until(at / 100)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_whose_guard_does_nothing_is_killed_and_not_started_until_the_guard_has_ended() {
    let clock: SharedClock = Arc::new(FastClock);
    let world = World::with_clock(&clock, "start_timeout = \"24h\"", &[engine]);
    let client = world.client();
    client.start_process().await.unwrap();
    let engine = world.pids()[0];
    let guard = guard_of(engine);
    kill(guard, "STOP");
    let late = client.stop_process().await.unwrap_err();
    assert_eq!(late, "it has not ended within 105 s");
    assert!(!is_there(engine));
    assert!(client.start_process().await.unwrap_err().to_string().contains("still being ended"));
    let gone = tokio::spawn(async move { client.process_gone().await });
    assert!(!gone.is_finished() && world.status() == ProcessStatus::Stopping);
    kill(guard, "CONT");
    gone.await.unwrap();
    assert!(world.status() == STOPPED && world.is_free());
}

/// The path of a service's settings. Without the variable the test below does nothing.
const SETTINGS: &str = "TEST_SERVICE_SETTINGS";

#[tokio::test]
async fn this_process_starts_an_engine_if_it_is_told_which() {
    let Ok(settings) = std::env::var(SETTINGS) else { return };
    let clock: SharedClock = Arc::new(SystemClock);
    let engines = engines_of(settings.into(), &clock);
    engines.list()[0].start_process().await.unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_an_engine_whose_service_is_killed() {
    let world = World::new("", &[engine]);
    let mut service = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "engines::processes::this_process_starts_an_engine_if_it_is_told_which"])
        .env(SETTINGS, world.folder.path().join("overnight.toml"))
        .spawn()
        .unwrap();
    wait_until("the engine listens", || world.pids().len() == 1 && !world.is_free());
    service.kill().unwrap();
    service.wait().unwrap();
    wait_until("nothing is left", || world.is_free() && !is_there(world.pids()[0]));
    world.client().start_process().await.unwrap();
    world.client().stop_process().await.unwrap();
}
