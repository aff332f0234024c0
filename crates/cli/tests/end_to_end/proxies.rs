//! Bulk creates through real proxies: every line exists exactly once.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use overnight_domain::line_digests::LineDigest;
use overnight_testkit::proof;
use serde_json::{Value, json};

use crate::support::{World, chat, lines, wait_until};

const LINES: usize = 300;

const CADDY: &str = "{\n admin off\n}\nhttp://:PORT {\n reverse_proxy SERVICE\n}\n";
const NGINX: &str = "daemon off;\nuser root;\npid FOLDER/nginx.pid;\nerror_log FOLDER/nginx.log;\nevents {}\nhttp {\n\
    access_log off;\nclient_body_temp_path FOLDER/body;\nproxy_temp_path FOLDER/proxied;\nfastcgi_temp_path FOLDER/fastcgi;\n\
    uwsgi_temp_path FOLDER/uwsgi;\nscgi_temp_path FOLDER/scgi;\nserver {\nlisten 127.0.0.1:PORT;\nlocation / {\n\
    proxy_pass http://SERVICE;\nproxy_http_version 1.1;\nproxy_request_buffering off;\n}\n}\n}\n";
const HAPROXY: &str = "defaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n\
    frontend all\n bind 127.0.0.1:PORT\n default_backend service\nbackend service\n server one SERVICE\n";

/// A proxy that is killed when dropped.
struct Proxy {
    child: Child,
    url: String,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Proxy {
    /// Writes its settings and starts it in front of the service.
    fn start(world: &World, command: &str, settings: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let service: Value = serde_json::from_str(&world.read("data/serve.json")).unwrap();
        let service = service["url"].as_str().unwrap().trim_start_matches("http://");
        let folder = world.folder.path().to_str().unwrap();
        let settings = settings.replace("PORT", &port.to_string()).replace("SERVICE", service);
        world.write("proxy", &settings.replace("FOLDER", folder));
        let command = command.replace("FOLDER", folder);
        let mut words = command.split_whitespace();
        let child = Command::new(words.next().unwrap())
            .args(words)
            .env("HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{command}: {error}"));
        wait_until("the proxy listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { child, url: format!("http://127.0.0.1:{port}") }
    }
}

/// Long bodies, so that the service answers the first before the last have arrived.
fn prompts(name: &str) -> Vec<String> {
    (0..LINES).map(|number| format!("{name} {number} {}", "x".repeat(700))).collect()
}

/// Posts the lines with curl, with a content length or in chunks.
fn post_with_curl(world: &World, url: &str, prompts: &[String], is_chunked: bool) {
    let body = |prompt: &String| json!({"request_body": chat(prompt)}).to_string();
    let sent: Vec<String> = prompts.iter().map(body).collect();
    world.write("lines", &(sent.join("\n") + "\n"));
    let key = format!("x-api-key: {}", world.read("data/api-key").trim());
    let coding = ["-H", "transfer-encoding: chunked"];
    let posted = Command::new("curl")
        .args([
            "-sS",
            "--max-time",
            "60",
            "-H",
            &key,
            "-H",
            "content-type: application/x-ndjson",
            "--data-binary",
        ])
        .arg(format!("@{}", world.path("lines").display()))
        .args(coding.iter().filter(|_| is_chunked))
        .arg(format!("{url}/v1/requests"))
        .output()
        .unwrap();
    assert!(posted.status.success(), "{posted:?}");
    let answers = lines(&String::from_utf8(posted.stdout).unwrap());
    let told: Vec<_> = answers.iter().map(|answer| (answer["id"].is_string(), &answer["sha256"])).collect();
    let digests: Vec<_> = sent.iter().map(|line| json!(LineDigest::of(line.as_bytes()))).collect();
    assert_eq!(told, digests.iter().map(|digest| (true, digest)).collect::<Vec<_>>());
}

fn submit(world: &World, name: &str, url: &str, prompts: &[String]) {
    let file = format!("{name}.jsonl");
    world.write(&file, &prompts.iter().map(|prompt| format!("{}\n", chat(prompt))).collect::<String>());
    let mut command = world.command(&format!("submit {file} --url {url}"));
    let sent = command.env("OVERNIGHT_API_KEY", world.read("data/api-key").trim()).output().unwrap();
    assert!(sent.status.success(), "{sent:?}");
}

/// Several runs, because a proxy loses a part of a body by chance.
fn runs() -> usize {
    std::env::var("OVERNIGHT_PROXY_RUNS").map_or(5, |it| it.parse().expect("a number"))
}

fn each_line_exists_once_behind(command: &str, settings: &str) {
    let world = World::new();
    let _serving = world.serve();
    let proxy = Proxy::start(&world, command, settings);
    let mut all = Vec::new();
    for run in 0..runs() {
        for how in ["plain", "chunked", "submit"] {
            let name = format!("{how}-{run}");
            let prompts = prompts(&name);
            match how {
                "submit" => submit(&world, &name, &proxy.url, &prompts),
                _ => post_with_curl(&world, &proxy.url, &prompts, how == "chunked"),
            }
            all.extend(prompts);
        }
    }
    wait_until("all are answered", || world.engine.attempts().len() >= all.len());
    assert_eq!(world.stored_requests(), all.len());
    assert!(all.iter().all(|prompt| world.engine.attempts_of(prompt) == 1));
    let name = command.split(' ').next().unwrap();
    let runs = runs();
    proof::record(
        &format!("proxy-{name}"),
        &format!(
            "{runs} calls of curl with a length, {runs} in chunks and {runs} `submit` runs of {LINES} lines: each line exists once"
        ),
    );
}

/// Go's server for HTTP/1.1 loses a part of a body whose response has begun (golang/go#57786).
#[test]
fn each_line_exists_once_behind_caddy() {
    each_line_exists_once_behind("caddy run --adapter caddyfile --config FOLDER/proxy", CADDY);
}

#[test]
fn each_line_exists_once_behind_nginx_with_and_without_a_buffer() {
    let buffered = NGINX.replace("proxy_request_buffering off;\n", "");
    for settings in [NGINX, &buffered] {
        each_line_exists_once_behind("nginx -c FOLDER/proxy -p FOLDER", settings);
    }
}

#[test]
fn each_line_exists_once_behind_haproxy() {
    each_line_exists_once_behind("haproxy -f FOLDER/proxy", HAPROXY);
}

#[test]
fn a_body_that_a_proxy_refuses_names_the_setting_to_raise() {
    let world = World::new();
    let _serving = world.serve();
    let settings = NGINX.replace("proxy_request_buffering off;", "client_max_body_size 1k;");
    let proxy = Proxy::start(&world, "nginx -c FOLDER/proxy -p FOLDER", &settings);
    world.write(
        "prompts.jsonl",
        &prompts("long").iter().map(|it| format!("{}\n", chat(it))).collect::<String>(),
    );
    let mut command = world.command(&format!("submit prompts.jsonl --url {}", proxy.url));
    let sent = command.env("OVERNIGHT_API_KEY", world.read("data/api-key").trim()).output().unwrap();
    let told = String::from_utf8_lossy(&sent.stderr);
    assert_eq!(sent.status.code(), Some(3), "{told}");
    assert!(
        told.contains("HTTP 413") && told.contains("client_max_body_size") && !told.contains("<html>"),
        "{told}"
    );
}
