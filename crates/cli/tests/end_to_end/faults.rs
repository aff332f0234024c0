//! Faults of operation: irrelevant signals, unexpanded paths, unwritable folders, and system limits.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::support::{Ran, Running, World, chats, program, wait_until};

const NOBODY: &str = "65534";

fn set_mode(world: &World, path: &str, mode: u32) {
    fs::set_permissions(world.path(path), Permissions::from_mode(mode)).unwrap();
}

fn setpriv() -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", NOBODY, "--clear-groups"]);
    command
}

/// The program as that user; `None` without root, or if the user cannot reach the program.
fn as_nobody(world: &World, line: &str) -> Option<Command> {
    let reached = setpriv().arg(program().get_program()).arg("--version").output();
    if !reached.is_ok_and(|told| told.status.success()) {
        eprintln!("skipped: the program cannot be run as another user");
        return None;
    }
    let mut command = setpriv();
    command.arg(program().get_program()).args(line.split_whitespace()).current_dir(world.folder.path());
    for (name, _) in program().get_envs() {
        command.env_remove(name);
    }
    Some(command)
}

#[test]
fn signals_that_ask_for_nothing_are_logged_and_sigquit_drains() {
    let world = World::new();
    let serving = world.start("serve");
    wait_until("it answers", || world.path("data/serve.json").exists() && world.run("list").code == 0);
    for name in ["USR1", "USR2", "ALRM", "XFSZ"] {
        serving.signal(name);
    }
    assert_eq!(world.run("list").code, 0);
    serving.signal("QUIT");
    let ended = serving.end();
    assert_eq!(ended.code, 0, "{ended:?}");
    for part in ["SIGUSR1 asks for nothing here", "SIGUSR2", "SIGALRM", "stopped"] {
        assert!(ended.stderr.contains(part), "{part}: {ended:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_whose_terminal_is_closed_stops_as_by_ctrl_c_and_goes_on_under_nohup() {
    let world = World::slow();
    world.write("prompts.jsonl", &chats(50));
    let run = |wrapper: &[&str]| {
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]).arg(program().get_program()).args([
            "run",
            "prompts.jsonl",
            "-o",
            "out.jsonl",
        ]);
        command.current_dir(world.folder.path()).stdin(Stdio::null()).stderr(Stdio::null());
        command
    };
    // These tests may run under nohup themselves.
    let running = Running::of(&mut run(&["env", "--default-signal=HUP"]));
    wait_until("it serves", || world.path("data/serve.json").exists());
    running.signal("HUP");
    assert_eq!(running.code(), 130);
    assert!(!world.path("data/serve.json").exists(), "the service was stopped");
    let running = Running::of(&mut run(&["nohup"]));
    wait_until("it serves", || world.path("data/serve.json").exists());
    running.signal("HUP");
    assert_eq!(running.code(), 0);
}

#[test]
fn a_tilde_that_the_shell_left_is_the_home_folder() {
    let world = World::answered();
    let at_home = |line: &str| -> Ran {
        let mut command = world.command(line);
        command.env("HOME", world.folder.path()).output().unwrap().into()
    };
    for line in [
        "--config=~/overnight.toml --data-dir=~/data audit",
        "backup ~/kept",
        "export ~/all.jsonl",
        "restore ~/kept --list",
    ] {
        let ran = at_home(line);
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
    }
    assert!(world.path("kept").is_dir() && world.path("all.jsonl").is_file() && !world.path("~").exists());
}

#[test]
fn an_export_replaces_a_file_only_if_it_is_told_to() {
    let world = World::answered();
    world.write("all.jsonl", "precious");
    let refused = world.run("export all.jsonl");
    assert!(refused.code == 2 && refused.stderr.contains("--force"), "{refused:?}");
    assert_eq!(world.read("all.jsonl"), "precious");
    assert_eq!(world.run("export all.jsonl --force").code, 0);
    assert!(world.read("all.jsonl").contains("overnight-export"));
    world.write("empty.jsonl", "");
    assert_eq!(world.run("export empty.jsonl").code, 0);
}

#[test]
fn a_backup_into_the_folder_that_it_saves_is_refused_and_makes_nothing() {
    let world = World::answered();
    std::os::unix::fs::symlink(world.path("data"), world.path("link")).unwrap();
    for target in ["data", "data/kept", "./data/../data/kept", "link/kept", "."] {
        let refused = world.run(&format!("backup {target}"));
        assert!(refused.code == 2 && refused.stderr.contains("one in the other"), "{target}: {refused:?}");
    }
    assert!(!world.path("data/kept").exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_backed_up_and_exported() {
    let world = World::answered();
    let Some(mut backup) = as_nobody(&world, "backup out/kept") else { return };
    fs::create_dir(world.path("out")).unwrap();
    set_mode(&world, "out", 0o777);
    set_mode(&world, ".", 0o755);
    for entry in fs::read_dir(world.path("data")).unwrap() {
        let path = entry.unwrap().path();
        let mode = if path.is_dir() { 0o555 } else { 0o444 };
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    set_mode(&world, "data", 0o555);
    let names = || fs::read_dir(world.path("data")).unwrap().count();
    let before = names();
    let backed_up: Ran = backup.output().unwrap().into();
    assert_eq!(backed_up.code, 0, "{backed_up:?}");
    let exported: Ran = as_nobody(&world, "export out/all.jsonl").unwrap().output().unwrap().into();
    assert_eq!(exported.code, 0, "{exported:?}");
    assert!(exported.stderr.contains("its audit log does not tell of this export"), "{exported:?}");
    assert_eq!(names(), before, "nothing was made");
    assert_eq!(world.json("restore out/kept --data-dir other")["requests"], 5);
    assert_eq!(world.run("import out/all.jsonl --data-dir third").code, 0);

    // Commits that are only in its log, without an index, are not ignored.
    fs::write(world.path("data/overnight.db-wal"), "commits").unwrap();
    _ = fs::remove_file(world.path("data/overnight.db-shm"));
    set_mode(&world, "data/overnight.db-wal", 0o444);
    let refused: Ran = as_nobody(&world, "export out/more.jsonl").unwrap().output().unwrap().into();
    assert!(refused.code == 2 && refused.stderr.contains("overnight.db-wal"), "{refused:?}");
}

#[test]
fn a_database_of_another_user_is_told_with_its_file_its_owner_and_the_user() {
    let world = World::answered();
    let Some(mut serve) = as_nobody(&world, "serve") else { return };
    set_mode(&world, ".", 0o755);
    set_mode(&world, "data", 0o755);
    let refused: Ran = serve.output().unwrap().into();
    assert_eq!(refused.code, 2, "{refused:?}");
    for part in ["data/overnight.db", "belongs to the user root (0)", "runs as", NOBODY] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
}

#[test]
fn a_batch_is_submitted_from_every_kind_of_pipe() {
    let world = World::new();
    world.write("prompts.jsonl", &chats(3));
    let _serving = world.serve();
    wait_until("it answers", || world.run("list").code == 0);
    let program = program().get_program().to_owned();
    for script in [
        "cat prompts.jsonl | \"$0\" submit -",
        "cat prompts.jsonl | \"$0\" submit /dev/stdin",
        "\"$0\" submit <(cat prompts.jsonl)",
        "mkfifo pipe; cat prompts.jsonl > pipe & \"$0\" submit pipe",
    ] {
        let mut command = world.command("");
        let envs: Vec<_> = command.get_envs().map(|(name, _)| name.to_owned()).collect();
        command = Command::new("bash");
        command.args(["-c", script]).arg(&program).current_dir(world.folder.path());
        envs.iter().for_each(|name| _ = command.env_remove(name));
        let ran: Ran = command.output().unwrap().into();
        assert!(ran.code == 0 && ran.stdout.starts_with("batch_"), "{script}: {ran:?}");
    }
}

/// The limit counts all threads of a user, so the service runs as a user without others.
#[cfg(target_os = "linux")]
#[test]
fn a_service_that_gets_no_thread_any_more_ends_with_the_code_of_a_failed_part() {
    let world = World::new();
    let Some(mut serve) = as_nobody(&world, "serve --data-dir own/data") else { return };
    fs::create_dir(world.path("own")).unwrap();
    set_mode(&world, "own", 0o777);
    set_mode(&world, ".", 0o755);
    let serving = Running::of(serve.stderr(Stdio::piped()));
    wait_until("it serves", || world.path("own/data/serve.json").exists());
    let limited = setpriv().args(["prlimit", "--nproc=1", "--pid", &serving.id().to_string()]).status();
    if !limited.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: prlimit is missing");
    }
    let ended = serving.end();
    assert_eq!(ended.code, 70, "{ended:?}");
    // Any part may be the first to need a thread.
    assert!(ended.stderr.contains("could not be started: Resource temporarily unavailable"), "{ended:?}");
}
