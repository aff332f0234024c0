//! The chart's pods: their confinement, and the command lines of their programs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use overnight_testkit::postgres::Cluster;
use serde_json::Value;

use super::{POSTGRES, SQLITE, of_kind, rendered, workloads};
use crate::support::{Running, program, wait_until};

#[test]
fn every_pod_is_confined_and_has_the_time_to_end_well() {
    for arguments in [SQLITE, POSTGRES] {
        for (name, pod) in workloads(&rendered(&arguments)) {
            let spec = &pod["spec"];
            let container = &spec["containers"][0];
            for (at, wanted) in [
                (&spec["automountServiceAccountToken"], Value::from(false)),
                // A Service named overnight-… would set variables that look like settings.
                (&spec["enableServiceLinks"], false.into()),
                (&spec["securityContext"]["runAsNonRoot"], true.into()),
                (&spec["securityContext"]["runAsUser"], 65532.into()),
                (&spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault".into()),
                (&container["securityContext"]["allowPrivilegeEscalation"], false.into()),
                (&container["securityContext"]["readOnlyRootFilesystem"], true.into()),
                (&container["securityContext"]["capabilities"]["drop"], vec!["ALL"].into()),
            ] {
                assert_eq!(*at, wanted, "{name}");
            }
            let variables = container["env"].as_array().unwrap();
            let seconds = |wanted: &str| -> u64 {
                let found = variables.iter().find(|it| it["name"] == wanted).unwrap();
                found["value"].as_str().unwrap().strip_suffix('s').unwrap().parse().unwrap()
            };
            if container["args"][0] == "serve" {
                let grace = spec["terminationGracePeriodSeconds"].as_u64().unwrap();
                assert!(grace >= seconds("OVERNIGHT_LINGER") + seconds("OVERNIGHT_DRAIN") + 5, "{name}");
            }
        }
    }
}

/// The command of a pod's container with its arguments and variables, in a folder instead of its volumes.
fn command_of(pod: &Value, folder: &Path, settings: &str, database_url: &str) -> Command {
    let container = &pod["spec"]["containers"][0];
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("overnight.toml"), settings).unwrap();
    let mut command = program();
    command.args(container["args"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()));
    command.current_dir(folder).envs([("GPU0_KEY", "secret"), ("METRICS_TOKEN", "secret")]);
    for variable in container["env"].as_array().unwrap() {
        let given = variable["value"].as_str();
        let here = match variable["name"].as_str().unwrap() {
            "OVERNIGHT_LISTEN" | "OVERNIGHT_METRICS_LISTEN" => "127.0.0.1:0".to_owned(),
            "OVERNIGHT_DATA_DIR" => folder.join("data").display().to_string(),
            "OVERNIGHT_CONFIG" => folder.join("overnight.toml").display().to_string(),
            "OVERNIGHT_DATABASE_URL" => database_url.to_owned(),
            name => given.unwrap_or(name).to_owned(),
        };
        command.env(variable["name"].as_str().unwrap(), here);
    }
    command.stderr(Stdio::null());
    command
}

/// Starts the programs of the chart's pods in order; each must become ready.
fn start_pods(arguments: &[&str], database_url: &str) {
    let resources = rendered(arguments);
    let settings = of_kind(&resources, "ConfigMap")[0]["data"]["overnight.toml"].as_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (migrations, services): (Vec<_>, Vec<_>) = workloads(&resources)
        .into_iter()
        .partition(|(_, pod)| pod["spec"]["containers"][0]["args"][0] == "migrate");
    for (name, pod) in migrations {
        let ran = command_of(pod, &folder.path().join(name), settings, database_url).output().unwrap();
        assert!(ran.status.success(), "{name}");
    }
    let mut serving = Vec::new();
    for (name, pod) in services {
        let folder = folder.path().join(name);
        serving.push(Running::of(&mut command_of(pod, &folder, settings, database_url)));
        wait_until(name, || folder.join("data/serve.json").exists());
    }
}

#[test]
fn what_the_pods_start_takes_the_arguments_variables_and_settings_of_the_chart() {
    start_pods(&SQLITE, "");
    let database = Cluster::shared().database("chart").unwrap();
    start_pods(&POSTGRES, &database);
}
