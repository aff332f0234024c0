//! Bodies stored as objects in the whole program: in an S3 server and in a folder.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use crate::support::{Running, World, lines, wait_until};

struct S3 {
    process: Child,
    address: String,
}

impl S3 {
    fn start() -> Self {
        let python =
            Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-clients/object-store/bin/python");
        let mut process = Command::new(python)
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", "0"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("moto, which scripts/test installs");
        let mut told = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("http://") {
            line.clear();
            assert!(told.read_line(&mut line).unwrap() > 0, "the server ended");
        }
        std::thread::spawn(move || std::io::copy(&mut told, &mut std::io::sink()));
        let address = line.trim().rsplit("http://").next().unwrap().to_owned();
        let s3 = Self { process, address };
        s3.call("PUT", "/bucket");
        s3
    }

    fn call(&self, method: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            self.address
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }

    fn objects(&self) -> usize {
        let list = self.call("GET", "/bucket?list-type=2");
        list.matches("<Key>night/").count() - list.matches("<Key>night/database</Key>").count()
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A proxy of an S3 server. It kills a process after a number of puts of account objects, before the process gets the last answer.
struct KillingWay {
    address: String,
    puts_left: Arc<AtomicI64>,
    victim: Arc<AtomicU32>,
}

impl KillingWay {
    fn to(s3: &S3) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let way = Self { address, puts_left: Arc::default(), victim: Arc::default() };
        let (puts_left, victim, server) =
            (Arc::clone(&way.puts_left), Arc::clone(&way.victim), s3.address.clone());
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (puts_left, victim, server) =
                    (Arc::clone(&puts_left), Arc::clone(&victim), server.clone());
                std::thread::spawn(move || hand_on(client.unwrap(), &server, &puts_left, &victim));
            }
        });
        way
    }
}

/// Forwards one call. A client that has left gets no answer.
fn hand_on(mut client: TcpStream, server: &str, puts_left: &AtomicI64, victim: &AtomicU32) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let (mut head, mut bytes) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            bytes = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            head += "connection: close\r\n\r\n";
            break;
        }
        if !name.eq_ignore_ascii_case("connection") {
            head += &line;
        }
    }
    let mut body = vec![0; bytes];
    reader.read_exact(&mut body).ok()?;
    let mut onward = TcpStream::connect(server).ok()?;
    onward.write_all(head.as_bytes()).ok()?;
    onward.write_all(&body).ok()?;
    let mut answer = Vec::new();
    onward.read_to_end(&mut answer).ok()?;
    let is_put = head.starts_with("PUT /bucket/night/") && !head.starts_with("PUT /bucket/night/database");
    if is_put && puts_left.fetch_sub(1, Ordering::SeqCst) == 1 {
        let killed =
            Command::new("kill").args(["-KILL", &victim.load(Ordering::SeqCst).to_string()]).status();
        assert!(killed.unwrap().success());
        return None;
    }
    client.write_all(&answer).ok()
}

/// Adds an `[object_store]` section with these lines.
fn add_section(world: &World, text: &str) {
    let settings = world.read("overnight.toml");
    let section =
        format!("[object_store]\nmin_bytes = \"64 KiB\"\ndelete_after = \"0s\"\n{text}\n[[models]]");
    world.write("overnight.toml", &settings.replacen("[[models]]", &section, 1));
}

/// `count` lines, each with a prompt of 100 kB.
fn large(count: usize) -> String {
    let line = |number| {
        let content = format!("prompt {number} {}", "long ".repeat(20_000));
        format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{content}"}}]}}"#)
    };
    (0..count).map(|number| line(number) + "\n").collect()
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files_under(&path) } else { vec![path] }).collect()
}

fn serve(world: &World) -> Running {
    let mut command = world.command("serve --quiet");
    world.serve_by(with_credentials(&mut command).stderr(Stdio::piped()))
}

fn with_credentials(command: &mut Command) -> &mut Command {
    command.env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "b")
}

fn assert_doctor_says(world: &World, words: &str) {
    let told = with_credentials(&mut world.command("doctor")).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains(words), "{told}");
}

/// A second service uses the object store of a first.
fn assert_doctor_finds_another_owner(url: &str) {
    let world = World::new();
    add_section(&world, url);
    assert_doctor_says(
        &world,
        "warn  object store: `night/database` there says that it belongs to a database",
    );
    let serving = serve(&world);
    assert_doctor_says(&world, "fail  object store: the object store belongs to another database");
    serving.signal("TERM");
    assert_eq!(serving.end().code, 0);
}

#[test]
fn large_bodies_are_in_a_bucket_of_s3_and_leave_it_when_they_are_deleted() {
    let (world, s3) = (World::new(), S3::start());
    let url = format!("url = \"s3://bucket/night\"\nendpoint = \"http://{}\"\nallow_http = true", s3.address);
    add_section(&world, &url);
    let put = "an object was put into s3://bucket/night, read, listed and deleted";
    assert_doctor_says(&world, &format!("ok    object store: on; it belongs to no database yet; {put}"));
    assert_eq!(s3.objects(), 0, "a probe leaves nothing");
    let serving = serve(&world);
    assert_doctor_says(&world, &format!("ok    object store: on; it belongs to no database yet; {put}"));
    world.write("prompts.jsonl", &large(5));
    let sent = world.run("submit prompts.jsonl --wait");
    assert_eq!(sent.code, 0, "{sent:?}");
    let batch = sent.stdout.lines().next().unwrap();
    let results = lines(&world.run(&format!("results {batch}")).stdout);
    assert_eq!(results.len(), 5);
    assert!(results.iter().all(|result| result["request_body"].to_string().len() > 100_000));
    assert!(s3.objects() >= 5);
    assert_doctor_says(&world, &format!("ok    object store: on; it is this database's; {put}"));
    assert_doctor_finds_another_owner(&url);
    let audit = with_credentials(&mut world.command("audit --objects --json")).output().unwrap();
    let audit: serde_json::Value = serde_json::from_slice(&audit.stdout).unwrap();
    assert_eq!(audit["objects"], serde_json::json!({"missing": 0, "damaged": 0, "unnamed": 0}), "{audit}");
    assert!(audit["rules"].as_array().unwrap().last().unwrap()["checked"].as_i64().unwrap() >= 5, "{audit}");
    let accounts = world.json("account list");
    let id = accounts[0]["id"].as_str().unwrap();
    world.json(&format!("account close {id}"));
    world.json(&format!("account erase {id} --yes"));
    wait_until("nothing is left of the account", || s3.objects() == 0);
    serving.signal("TERM");
    assert_eq!(serving.end().code, 0);
}

#[test]
fn a_service_that_is_killed_between_a_put_and_its_commit_loses_nothing_and_knows_what_is_left() {
    let (world, s3) = (World::new(), S3::start());
    let way = KillingWay::to(&s3);
    let url =
        format!("url = \"s3://bucket/night\"\nendpoint = \"http://{}\"\nallow_http = true", way.address);
    add_section(&world, &url);
    world.write("prompts.jsonl", &large(5));
    // A submission continues at the same address, so all services use it.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    world.write("overnight.toml", &world.read("overnight.toml").replace("127.0.0.1:0", &free.to_string()));
    for puts in [1, 5] {
        let mut serving = serve(&world);
        way.victim.store(serving.id(), Ordering::SeqCst);
        way.puts_left.store(puts, Ordering::SeqCst);
        let mut sending = world
            .command("submit prompts.jsonl --wait")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the service is killed", || serving.has_ended());
        let _ = sending.kill();
        sending.wait().unwrap();
        fs::remove_file(world.path("data/serve.json")).unwrap();
    }
    let serving = serve(&world);
    let sent = world.run("submit prompts.jsonl --wait");
    assert_eq!(sent.code, 0, "{sent:?}");
    let batch = sent.stdout.lines().next().unwrap();
    assert_eq!(lines(&world.run(&format!("results {batch}")).stdout).len(), 5);
    let audit = with_credentials(&mut world.command("audit --objects --json")).output().unwrap();
    let audit: serde_json::Value = serde_json::from_slice(&audit.stdout).unwrap();
    assert_eq!(audit["is_sound"], true, "{audit}");
    assert_eq!(audit["objects"], serde_json::json!({"missing": 0, "damaged": 0, "unnamed": 0}), "{audit}");
    serving.signal("TERM");
    assert_eq!(serving.end().code, 0);
}

#[test]
fn while_the_object_store_is_away_small_requests_complete_and_large_ones_wait() {
    let world = World::new();
    let objects = world.path("objects");
    add_section(&world, &format!("url = \"file://{}\"", objects.display()));
    let settings = world.read("overnight.toml");
    world.write("overnight.toml", &settings.replace("\"50ms\"", "\"3s\""));
    let serving = world.serve();
    world.write("large.jsonl", &large(1));
    let before = world.run("submit large.jsonl");
    assert_eq!(before.code, 0, "{before:?}");
    let elsewhere = world.path("elsewhere");
    fs::rename(&objects, &elsewhere).unwrap();
    fs::create_dir(&objects).unwrap();
    assert_doctor_says(&world, "another bucket, or the folder is not mounted");
    let audit = world.run("audit --objects");
    assert!(audit.code == 4 && audit.stderr.contains("the folder is not mounted"), "{audit:?}");
    assert_eq!(files_under(&objects).len(), 0, "a probe puts nothing there");
    fs::remove_dir(&objects).unwrap();
    fs::write(&objects, "no folder").unwrap();
    assert_doctor_says(&world, "fail  object store: `object_store.url`: ");
    let batch = before.stdout.trim();
    wait_until("an engine is to have it", || {
        world.json(&format!("status {batch}"))["requests_counts"]["in_progress"] == 1
    });
    world.write("small.jsonl", &crate::support::chats(3));
    let small = world.run("submit small.jsonl --wait");
    assert_eq!(small.code, 0, "{small:?}");
    let status = world.json(&format!("status {batch}"));
    assert_eq!(status["requests_counts"]["in_progress"], 1, "it neither fails nor completes: {status}");
    fs::remove_file(&objects).unwrap();
    fs::rename(&elsewhere, &objects).unwrap();
    assert_eq!(world.json(&format!("watch {batch}"))["requests_counts"]["completed"], 1);
    assert_eq!(files_under(&objects).len(), 2, "one body is large, and one says whose it is");
    let export = world.run("export export.jsonl");
    assert!(
        export.code == 0 && export.stderr.contains("bodies in the object store are not in the file"),
        "{export:?}"
    );
    let object = files_under(&objects).into_iter().find(|file| !file.ends_with("database")).unwrap();
    fs::rename(&object, world.path("elsewhere")).unwrap();
    let audit = world.run("audit --objects");
    assert!(audit.code == 1 && audit.stdout.contains("1 missing, 0 of another length"), "{audit:?}");
    assert!(audit.stderr.contains("objects are missing or cut: after a restore"), "{audit:?}");
    fs::rename(world.path("elsewhere"), &object).unwrap();
    assert_eq!(world.run("audit --objects").code, 0);
    serving.signal("TERM");
    assert_eq!(serving.end().code, 0);
}
