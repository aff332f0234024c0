//! The chart rendered by Helm, validated with the schemas of Kubernetes and of the operators that it supports.

mod pods;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{read, root};

const SQLITE: [&str; 2] = ["--values", "deploy/helm/overnight/ci/sqlite.yaml"];
const POSTGRES: [&str; 2] = ["--values", "deploy/helm/overnight/ci/postgres.yaml"];
/// The oldest Kubernetes in the chart, and the newest one with schemas.
const KUBERNETES: [&str; 2] = ["1.25", "1.37"];

fn tool(name: &str) -> Command {
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-clients").join("deploy/bin");
    let mut command = Command::new(tools.join(name));
    command.current_dir(root());
    command
}

/// Runs a program with this input; it must succeed. Returns its output.
fn feed(command: &mut Command, input: &str) -> String {
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut process = started.expect("a tool is missing. ./scripts/test installs what tests need.");
    process.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let ran = process.wait_with_output().unwrap();
    assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// The documents of a YAML text. Kubernetes' own resources must be valid in these versions.
fn yaml(text: &str, versions: &[&str]) -> Vec<Value> {
    let json = feed(tool("python").arg("crates/cli/tests/deploy/rendered.py").args(versions), text);
    serde_json::from_str(&json).unwrap()
}

/// The rendered chart, or Helm's error.
fn template(arguments: &[&str]) -> Result<String, String> {
    let ran = tool("helm")
        .args(["template", "night", "deploy/helm/overnight", "--namespace", "nights"])
        .args(arguments)
        .output()
        .expect("helm is missing. ./scripts/test installs what tests need.");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if ran.status.success() { Ok(text(ran.stdout)) } else { Err(text(ran.stderr)) }
}

fn rendered(arguments: &[&str]) -> Vec<Value> {
    yaml(&template(arguments).unwrap(), &KUBERNETES)
}

fn of_kind<'a>(resources: &'a [Value], kind: &str) -> Vec<&'a Value> {
    resources.iter().filter(|it| it["kind"] == kind).collect()
}

fn name(resource: &Value) -> &str {
    resource["metadata"]["name"].as_str().unwrap()
}

/// Resources that create pods, with their pod templates.
fn workloads(resources: &[Value]) -> Vec<(&str, &Value)> {
    let all = resources.iter().filter(|it| it["spec"]["template"].is_object());
    all.map(|it| (name(it), &it["spec"]["template"])).collect()
}

/// The names of the labelled items that a selector matches.
fn selected<'a>(selector: &Value, labelled: &[(&'a str, &Value)]) -> Vec<&'a str> {
    let wanted = selector.as_object().unwrap();
    let fits = |it: &Value| wanted.iter().all(|(label, value)| it["metadata"]["labels"][label] == *value);
    let mut names: Vec<_> = labelled.iter().filter(|(_, it)| fits(it)).map(|(name, _)| *name).collect();
    names.sort_unstable();
    names
}

#[test]
fn it_renders_what_kubernetes_and_the_operators_take() {
    let operators = root().join("crates/cli/tests/deploy");
    for (arguments, wanted) in [(&[][..], 0), (&SQLITE[..], 2), (&POSTGRES[..], 3)] {
        let resources = rendered(arguments);
        let is_operators = |it: &&Value| {
            it["apiVersion"].as_str().unwrap().contains(".coreos.com/") || it["kind"] == "ScaledObject"
        };
        let of_operators: Vec<_> = resources.iter().filter(is_operators).collect();
        assert_eq!(of_operators.len(), wanted, "{arguments:?}");
        let json = serde_json::to_string(&of_operators).unwrap();
        feed(Command::new("node").arg("operators.js").current_dir(&operators), &json);
    }
}

#[test]
fn services_budgets_and_the_policy_are_for_the_pods_that_they_name() {
    let resources = rendered(&POSTGRES);
    let pods = workloads(&resources);
    let [api, scheduler, migrate] =
        ["night-overnight-api", "night-overnight-scheduler", "night-overnight-migrate"];
    for (kind, it, selector, wanted) in [
        ("Service", "night-overnight", "/spec/selector", &[api][..]),
        ("Service", "night-overnight-nodes", "/spec/selector", &[api, scheduler]),
        ("PodDisruptionBudget", api, "/spec/selector/matchLabels", &[api]),
        ("PodDisruptionBudget", scheduler, "/spec/selector/matchLabels", &[scheduler]),
        ("Deployment", api, "/spec/selector/matchLabels", &[api]),
        ("Deployment", scheduler, "/spec/selector/matchLabels", &[scheduler]),
        ("NetworkPolicy", "night-overnight", "/spec/podSelector/matchLabels", &[api, migrate, scheduler]),
    ] {
        let found = of_kind(&resources, kind).into_iter().find(|resource| name(resource) == it).unwrap();
        assert_eq!(selected(found.pointer(selector).unwrap(), &pods), wanted, "{kind} {it}");
    }
    let services: Vec<_> = of_kind(&resources, "Service").into_iter().map(|it| (name(it), it)).collect();
    let monitor = of_kind(&resources, "ServiceMonitor")[0];
    let scraped = selected(&monitor["spec"]["selector"]["matchLabels"], &services);
    assert_eq!(scraped, ["night-overnight-nodes"]);
    let job = services.iter().find(|(name, _)| *name == scraped[0]).unwrap().1;
    let label = monitor["spec"]["jobLabel"].as_str().unwrap();
    assert_eq!(job["metadata"]["labels"][label], "overnight", "the job of the alert rules");
}

#[test]
fn values_that_cannot_be_meant_are_refused() {
    for (arguments, wanted) in [
        (&["--set", "mode=postgres"][..], "needs database.existingSecret"),
        (&["--set", "replicas=2"], "replicas"),
        (&["--set", "mode=mysql"], "mode"),
        (&["--set", "keda.enabled=true"], "targets"),
        (&["--set", "metrics.tokenKey=OVERNIGHT_TOKEN"], "tokenKey"),
        (&["--set", "metrics.tokenKey=TOKEN,metrics.serviceMonitor.enabled=true"], "a key of existingSecret"),
        (&["--set", "ingress.enabled=true"], "ingress.host is missing"),
    ] {
        let refusal = template(arguments).expect_err("it is taken");
        assert!(refusal.contains(wanted), "{arguments:?}: {refusal}");
    }
}

#[test]
fn the_alert_rules_and_the_query_of_the_backlog_are_ones_that_prometheus_takes() {
    let resources = rendered(&SQLITE);
    let rules = yaml(&read("deploy/prometheus/overnight-alerts.yml"), &[]);
    assert_eq!(of_kind(&resources, "PrometheusRule")[0]["spec"], rules[0], "the rules are others");
    let resources = rendered(&POSTGRES);
    let triggers = of_kind(&resources, "ScaledObject").into_iter().map(|it| &it["spec"]["triggers"][0]);
    let rules: Vec<_> = triggers
        .map(|it| serde_json::json!({"record": "backlog", "expr": it["metadata"]["query"]}))
        .enumerate()
        .map(|(number, rule)| serde_json::json!({"name": number.to_string(), "rules": [rule]}))
        .collect();
    assert_eq!(rules.len(), 2);
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), serde_json::json!({"groups": rules}).to_string()).unwrap();
    feed(Command::new("promtool").args(["check", "rules"]).arg(file.path()), "");
    let query = rules[0]["rules"][0]["expr"].as_str().unwrap();
    assert!(query.contains(r#"model=~"llama-3\\.1-8b-instruct|a\\|b""#), "{query}");
}

#[test]
fn the_chart_is_of_this_version_and_its_page_names_every_value() {
    let chart = &yaml(&read("deploy/helm/overnight/Chart.yaml"), &[])[0];
    for version in ["version", "appVersion"] {
        assert_eq!(chart[version], env!("CARGO_PKG_VERSION"), "{version}");
    }
    let page = read("docs/operating/kubernetes.md");
    for (value, inner) in yaml(&read("deploy/helm/overnight/values.yaml"), &[])[0].as_object().unwrap() {
        assert!(page.contains(&format!("`{value}")), "{value} is not in docs/operating/kubernetes.md");
        let inner = inner.as_object().into_iter().flatten().map(|(name, _)| name);
        for name in inner.filter(|name| {
            !["resources", "nodeSelector", "tolerations", "affinity", "podAnnotations"]
                .contains(&name.as_str())
        }) {
            assert!(
                page.contains(&format!("`{value}.{name}")),
                "{value}.{name} is not in docs/operating/kubernetes.md"
            );
        }
    }
}
