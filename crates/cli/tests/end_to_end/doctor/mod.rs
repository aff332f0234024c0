//! `overnight doctor`.

mod engines;
mod store;

use std::fs;

use overnight_testkit::engine::SimConfig;
use serde_json::Value;

use crate::support::{Ran, World};

fn state<'a>(report: &'a Value, check: &str) -> &'a str {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|found| found["check"] == check).map_or("", |found| found["state"].as_str().unwrap())
}

fn told(report: &Value, check: &str) -> String {
    let checks = report["checks"].as_array().unwrap().iter().filter(|found| found["check"] == check);
    checks.map(|found| format!("{} {}\n", found["message"], found["hint"])).collect()
}

fn examine(world: &World) -> (Ran, Value) {
    let ran = world.run("doctor --json");
    let report = serde_json::from_str(&ran.stdout).unwrap();
    (ran, report)
}

#[test]
fn a_running_installation_is_well() {
    let world = World::new();
    let _serving = world.serve();
    let (ran, report) = examine(&world);
    assert_eq!((ran.code, &report["is_well"]), (0, &Value::Bool(true)), "{report}");
    for check in [
        "settings",
        "clock",
        "data folder",
        "file modes",
        "lock",
        "database",
        "engine sim",
        "console",
        "service",
    ] {
        assert_eq!(state(&report, check), "ok", "{check}: {report}");
    }
    assert!(world.run("doctor").stdout.contains("ok    engine sim"));
}

#[test]
fn an_engine_that_does_not_answer_or_lacks_the_model_is_found() {
    let world = World::new();
    world.engine.tune(|engine| engine.models = vec!["another".to_owned()]);
    let (ran, report) = examine(&world);
    assert_eq!((ran.code, state(&report, "engine sim"), state(&report, "service")), (0, "warn", "warn"));
    world.engine.tune(|engine| engine.api_key = Some("secret".to_owned()));
    let (ran, report) = examine(&world);
    assert_eq!((ran.code, state(&report, "engine sim")), (1, "fail"), "{report}");
}

#[test]
fn the_context_of_a_model_is_told_and_an_output_limit_beyond_it_is_found() {
    let (ran, report) = examine(&World::new());
    assert_eq!((ran.code, state(&report, "engine sim")), (0, "ok"), "{report}");
    assert!(report.to_string().contains("m (context: 131072 tokens)"), "{report}");
    let world = World::with(SimConfig { context_tokens: 2_048, ..SimConfig::default() });
    let (ran, report) = examine(&world);
    assert_eq!((ran.code, state(&report, "engine sim")), (0, "warn"), "{report}");
    let expected = "`default_max_tokens` of m is 4096, and its context is 2048";
    assert!(report.to_string().contains(expected), "{report}");
    world.engine.tune(|engine| engine.lists_context = false);
    assert_eq!(state(&examine(&world).1, "engine sim"), "ok");
}

#[test]
fn settings_and_programs_that_are_not_there_are_found() {
    let world = World::new();
    world.write("overnight.toml", "[[engines]]\nname = \"e\"\nkind = \"embedded\"\nengine_path = \"absent\"\n[[models]]\nname = \"m\"\n");
    let (ran, report) = examine(&world);
    assert_eq!((ran.code, state(&report, "engine e")), (1, "fail"), "{report}");
    world.write("overnight.toml", "nonsense");
    let (ran, report) = examine(&world);
    assert_eq!((ran.code, state(&report, "settings")), (1, "fail"));
}

#[test]
fn a_model_file_that_is_cut_short_is_found() {
    let world = World::new();
    let settings = "[[engines]]\nname = \"e\"\nkind = \"embedded\"\nengine_path = \"/bin/true\"\nmodel_path = \"m.gguf\"\n[[models]]\nname = \"m\"\n";
    world.write("overnight.toml", settings);
    let model = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/overnight-tiny.gguf")).unwrap();
    for (file, expected) in [
        (None, "the model m.gguf cannot be read: "),
        (Some(&b"<html>"[..]), "the model m.gguf is no GGUF file"),
        (Some(&model[..1_000]), "the model m.gguf is cut short or damaged: it ends within its header"),
        (Some(&model[..100_000]), "the model m.gguf is cut short: it has 100000 of 1359840 bytes"),
    ] {
        file.into_iter().for_each(|bytes| fs::write(world.path("m.gguf"), bytes).unwrap());
        let (ran, report) = examine(&world);
        assert_eq!((ran.code, state(&report, "engine e")), (1, "fail"), "{report}");
        assert!(report.to_string().contains(expected), "{expected}: {report}");
    }
    fs::write(world.path("m.gguf"), model).unwrap();
    assert_eq!(state(&examine(&world).1, "engine e"), "ok");
}

#[test]
fn what_keeps_an_engine_from_being_started_by_its_command_is_found() {
    let world = World::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let taken = world.engine.address().port();
    for (port, settings, expected, words) in [
        (free, "command = [\"sh\"]", "ok", format!("sh can be started, and port {free} is free")),
        (free, "command = [\"absent-engine\"]", "fail", "there is no program `absent-engine`".to_owned()),
        (free, "command = [\"./overnight.toml\"]", "fail", "overnight.toml is not executable".to_owned()),
        (free, "command = [\"sh\"]\nworking_dir = \"absent\"", "fail", "absent is no folder".to_owned()),
        (
            free,
            "command = [\"sh\"]\npass_env = [\"ABSENT_TOKEN\"]",
            "warn",
            "not set: ABSENT_TOKEN".to_owned(),
        ),
        (free, "command = [\"sh\"]\napi_key_env = \"ABSENT_KEY\"", "fail", "ABSENT_KEY".to_owned()),
        (taken, "command = [\"sh\"]", "fail", format!("port {taken} is taken by another process")),
    ] {
        let engine = "listen = \"127.0.0.1:0\"\ndata_dir = \"data\"\n[[models]]\nname = \"m\"\n[[engines]]\nname = \"e\"\nkind = \"command\"\n";
        world.write(
            "overnight.toml",
            &format!("{engine}base_url = \"http://127.0.0.1:{port}/v1\"\n{settings}\n"),
        );
        let (_, report) = examine(&world);
        assert_eq!(state(&report, "engine e"), expected, "{settings}: {report}");
        assert!(report.to_string().contains(&words), "{words}: {report}");
    }
    let _serving = world.serve();
    let (_, report) = examine(&world);
    assert_eq!(state(&report, "engine e"), "ok", "the service may have started what answers there: {report}");
}

#[test]
fn a_provider_of_sign_ins_that_lacks_its_secret_or_does_not_answer_is_found() {
    let world = World::new();
    let oidc = "console = { oidc = { issuer = \"http://127.0.0.1:9\", client_id = \"c\", client_secret_env = \"SSO_SECRET\" } }\n";
    world.write("overnight.toml", &format!("{oidc}{}", world.read("overnight.toml")));
    let (ran, report) = examine(&world);
    assert_eq!((ran.code, state(&report, "single sign-on")), (1, "fail"), "{report}");
    assert!(report.to_string().contains("SSO_SECRET"), "{report}");
    let served = world.run("serve");
    assert_eq!((served.code, served.stderr.contains("SSO_SECRET")), (2, true), "{served:?}");
    let ran: Ran = world.command("doctor --json").env("SSO_SECRET", "s").output().unwrap().into();
    let report = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, state(&report, "single sign-on")), (0, "warn"), "{report}");
}

#[test]
fn metrics_that_nobody_reads_or_that_lack_their_token_are_found() {
    let world = World::new();
    let settings = world.read("overnight.toml");
    assert_eq!(state(&examine(&world).1, "metrics"), "ok");
    world.write("overnight.toml", &settings.replace("127.0.0.1:0", "0.0.0.0:0"));
    let (ran, report) = examine(&world);
    assert_eq!((ran.code, state(&report, "metrics")), (0, "warn"), "{report}");
    world.write("overnight.toml", &format!("metrics_token_env = \"SCRAPE\"\n{settings}"));
    let (ran, report) = examine(&world);
    assert_eq!((ran.code, state(&report, "metrics")), (1, "fail"), "{report}");
    let served = world.run("serve");
    assert_eq!((served.code, served.stderr.contains("SCRAPE")), (2, true), "{served:?}");
    let ran: Ran = world.command("doctor --json").env("SCRAPE", "token").output().unwrap().into();
    assert_eq!(state(&serde_json::from_str(&ran.stdout).unwrap(), "metrics"), "ok");
}

#[test]
fn an_engine_that_does_not_answer_outside_its_hours_is_no_failure() {
    let world = World::new();
    let mut settings = "[[models]]\nname = \"m\"\n".to_owned();
    for hours in ["00:00-08:00", "08:00-16:00", "16:00-24:00"] {
        settings += &format!(
            "[[engines]]\nname = \"{hours}\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nhours = [\"{hours}\"]\n"
        );
    }
    world.write("overnight.toml", &settings);
    let (_, report) = examine(&world);
    let is_closed = |found: &Value| {
        found["state"] == "warn"
            && found["message"].as_str().unwrap().contains("it is outside its hours until ")
    };
    assert!(report["checks"].as_array().unwrap().iter().any(is_closed), "{report}");
}

#[test]
fn a_co_located_engine_without_metrics_is_found() {
    let world = World::new();
    let engine = format!(
        "[[models]]\nname = \"m\"\n[[engines]]\nname = \"e\"\nkind = \"openai\"\nbase_url = \"{}\"\nmax_concurrency = 8\ncolocated_share = \"50%\"\n",
        world.engine.base_url()
    );
    world.write("overnight.toml", &engine);
    assert_eq!(state(&examine(&world).1, "engine e"), "ok");
    world.engine.tune(|engine| engine.reports_metrics = false);
    let (ran, report) = examine(&world);
    assert_eq!((ran.code, state(&report, "engine e")), (1, "fail"), "{report}");
    assert!(report.to_string().contains("co-located and tells no load"), "{report}");
}
