use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Command, Stdio},
    thread,
};

use serde_json::json;

use crate::{
    models::Model,
    support::{Engine, KEY, MODEL, chat, command, message, poll},
};

#[test]
fn the_process_ends_well_when_its_input_ends() {
    let mut engine = Engine::start(&[]);
    drop(engine.stdin.take());
    assert!(engine.child.wait().expect("an end").success());
    assert!(TcpStream::connect(&engine.address).is_err(), "somebody still listens");
}

#[test]
fn the_version_and_the_log_name_what_computes() {
    let output = Command::new(env!("CARGO_BIN_EXE_overnight-engine")).arg("--version").output();
    let told = String::from_utf8(output.expect("the engine starts").stdout).expect("text");
    let begin = format!("overnight-engine {} on ", env!("CARGO_PKG_VERSION"));
    let devices = told.strip_prefix(&begin).and_then(|told| told.strip_suffix('\n')).expect("one line");
    let has_gpus = cfg!(any(feature = "cuda", feature = "metal", feature = "rocm", feature = "vulkan"));
    assert!(has_gpus || devices.starts_with("CPU: ") && devices.ends_with(')'), "{devices}");
    let mut engine =
        command(MODEL, &["--gpu-layers", "0"]).stderr(Stdio::piped()).spawn().expect("the engine");
    let mut stdin = engine.stdin.take().expect("a pipe");
    writeln!(stdin, "{}", json!({ "key": KEY })).expect("the key is taken");
    let mut log = BufReader::new(engine.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let line = log.find(|line| line.contains("serve model")).expect("it serves");
    assert!(line.contains("devices=CPU: "), "{line}");
    drop(stdin);
    assert!(engine.wait().expect("an end").success());
}

#[test]
fn it_ends_in_the_middle_of_work_and_of_loading() {
    let mut working = Engine::start(&[]);
    let endless = chat("Count.", &json!({ "max_tokens": 4_000, "n": 64, "ignore_eos": true }));
    let mut stream = working.send(&message("POST", "/v1/chat/completions", KEY, &endless));
    assert!(poll(|| working.metric("num_requests_running") > 0.5));
    drop(working.stdin.take());
    assert!(working.child.wait().expect("an end").success());
    let mut answer = Vec::new();
    let is_cut = stream.read_to_end(&mut answer).is_err() || answer.is_empty();
    assert!(is_cut || answer.starts_with(b"HTTP/1.1 503"), "{}", String::from_utf8_lossy(&answer));
    let mut loading = Engine::start_loading(&[]);
    drop(loading.stdin.take());
    assert!(loading.child.wait().expect("an end").success());
}

#[test]
fn input_without_a_key_ends_it_at_once() {
    let mut silent = command(MODEL, &[]).spawn().expect("the engine starts");
    drop(silent.stdin.take());
    assert!(silent.wait().expect("an end").success());
    let mut talking = command(MODEL, &[]).stderr(Stdio::piped()).spawn().expect("the engine starts");
    writeln!(talking.stdin.as_mut().expect("a pipe"), "hello").expect("a line is taken");
    let output = talking.wait_with_output().expect("an end");
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("the first line on standard input"),
        "{output:?}"
    );
}

#[test]
fn a_file_that_is_no_model_ends_it_with_a_sentence() {
    let cut = fs::read(MODEL).expect("the model").split_at(20_000).0.to_vec();
    for (name, content) in [("text", b"no model".to_vec()), ("cut", cut)] {
        let (code, log) = Model::new(name, &content).refusal();
        assert_eq!(code, Some(1), "{name}: {log}");
        assert!(log.contains("cannot be used"), "{name}: {log}");
    }
}

#[test]
fn standard_output_holds_one_line_and_a_kill_frees_the_port() {
    let mut engine = Engine::start(&[]);
    let endless = chat("Count.", &json!({ "max_tokens": 4_000, "n": 64, "ignore_eos": true }));
    let mut stream = engine.send(&message("POST", "/v1/chat/completions", KEY, &endless));
    let reading = thread::spawn(move || stream.read_to_end(&mut Vec::new()).map_or(0, |length| length));
    assert!(poll(|| engine.metric("num_requests_running") > 0.5));
    engine.child.kill().expect("a kill");
    assert!(!engine.child.wait().expect("an end").success());
    assert_eq!(reading.join().expect("the client sees the end"), 0);
    let mut rest = String::new();
    engine.stdout.read_to_string(&mut rest).expect("the rest of standard output");
    assert_eq!(rest, "");
}

#[test]
fn help_and_version_need_no_key() {
    for flag in ["--help", "--version"] {
        let mut asking = Command::new(env!("CARGO_BIN_EXE_overnight-engine"));
        let output = asking.arg(flag).output().expect("an answer");
        assert!(
            output.status.success() && String::from_utf8_lossy(&output.stdout).contains("overnight-engine")
        );
    }
}
