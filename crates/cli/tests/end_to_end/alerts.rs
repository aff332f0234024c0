//! The alert rules and the dashboard in Prometheus: its tool tests every rule, and a real server scrapes a real service.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Running, World, chats, read, root, wait_until};

fn dashboard() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&read("deploy/grafana/overnight.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array()).flatten();
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// The service's metrics in a text.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let metrics = words.filter(|word| word.starts_with("overnight_"));
    let parts = ["_bucket", "_sum", "_count"];
    metrics.map(|it| parts.iter().find_map(|part| it.strip_suffix(part)).unwrap_or(it)).collect()
}

fn promtool(arguments: &[&str]) {
    let ran = Command::new("promtool").args(arguments).current_dir(root()).output();
    let ran = ran.expect("promtool is missing. ./scripts/test installs what tests need.");
    assert!(
        ran.status.success(),
        "{}{}",
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[test]
fn each_fault_fires_its_alert_and_a_night_without_one_fires_none() {
    promtool(&["check", "rules", "deploy/prometheus/overnight-alerts.yml"]);
    promtool(&["test", "rules", "deploy/prometheus/overnight-alerts.test.yml"]);
    let (rules, tests) =
        (read("deploy/prometheus/overnight-alerts.yml"), read("deploy/prometheus/overnight-alerts.test.yml"));
    let pages = read("docs/operating/alerts.md");
    for alert in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        assert!(tests.contains(&format!("{{alertname=\"{alert}\"}}', value: 1")), "no test fires {alert}");
        assert!(
            pages.contains(&format!("### {alert}\n")),
            "docs/operating/alerts.md does not explain {alert}"
        );
        let page = format!("docs/operating/alerts.md#{}\n", alert.to_lowercase());
        assert!(rules.contains(&page), "{alert} has no runbook");
    }
}

#[test]
fn alerts_and_dashboard_name_metrics_that_there_are() {
    let (rules, metrics) = (read("deploy/prometheus/overnight-alerts.yml"), read("docs/metrics.md"));
    let dashboard = dashboard().join("\n");
    for metric in named(&rules).union(&named(&dashboard)) {
        assert!(metrics.contains(&format!("| `{metric}` |")), "{metric} is no metric of docs/metrics.md");
    }
}

/// A Prometheus that scrapes one target and reads the rules.
struct Prometheus {
    url: String,
    _folder: TempDir,
    _process: Running,
}

impl Prometheus {
    fn start(target: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rules = root().join("deploy/prometheus/overnight-alerts.yml");
        let settings = format!(
            "global: {{ scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }}\nrule_files: [{}]\n\
             scrape_configs: [{{ job_name: overnight, static_configs: [{{ targets: [\"{target}\"] }}] }}]\n",
            rules.display()
        );
        fs::write(folder.path().join("prometheus.yml"), settings).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut command = Command::new("prometheus");
        command.arg(format!("--web.listen-address={address}")).current_dir(folder.path());
        command.args(["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=error"]);
        let process = Running::of(command.stderr(Stdio::null()));
        Self { url: format!("http://{address}/api/v1"), _folder: folder, _process: process }
    }

    /// The answer; null until the server is ready.
    fn ask(&self, path: &str, query: &str) -> Value {
        let url = format!("{}/{path}", self.url);
        let query = format!("query={query}");
        let ran = Command::new("curl").args(["-s", "-G", &url, "--data-urlencode", &query]).output();
        serde_json::from_slice(&ran.unwrap().stdout).unwrap_or_default()
    }

    fn series(&self, query: &str) -> Vec<Value> {
        let answer = self.ask("query", query);
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"]["result"].as_array().unwrap().clone()
    }

    fn is_alerted(&self, alert: &str) -> bool {
        !self.series(&format!("ALERTS{{alertname=\"{alert}\"}}")).is_empty()
    }
}

#[test]
fn a_prometheus_that_scrapes_the_service_evaluates_every_rule_and_every_panel() {
    let world = World::new();
    let serving = world.serve();
    world.write("prompts.jsonl", &chats(8));
    assert_eq!(world.run("submit prompts.jsonl --wait").code, 0);
    let address: Value = serde_json::from_str(&world.read("data/serve.json")).unwrap();
    let target = address["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
    let prometheus = Prometheus::start(&target);
    wait_until("the service is scraped", || prometheus.ask("query", "up == 1")["data"]["result"].is_array());
    let ended = "sum(overnight_requests_ended_total) == 8";
    wait_until("its figures are there", || !prometheus.series(ended).is_empty());
    // A quotient has no value while the rate in its denominator is zero.
    for expression in dashboard().iter().filter(|expression| !expression.contains("> 0)")) {
        wait_until(expression, || !prometheus.series(expression).is_empty());
    }
    assert!(!prometheus.is_alerted("OvernightEnginePaused") && !prometheus.is_alerted("OvernightNodeDown"));
    world.engine.die(60_000);
    world.write("more.jsonl", &chats(3));
    assert_eq!(world.run("submit more.jsonl").code, 0);
    wait_until("the pause of the engine is seen", || prometheus.is_alerted("OvernightEnginePaused"));
    serving.kill();
    wait_until("the end of the node is seen", || prometheus.is_alerted("OvernightNodeDown"));
    let rules = prometheus.ask("rules", "");
    let groups = rules["data"]["groups"].as_array().unwrap().iter();
    for rule in groups.flat_map(|group| group["rules"].as_array().unwrap()) {
        assert_eq!(rule["health"], "ok", "{rule}");
    }
}
