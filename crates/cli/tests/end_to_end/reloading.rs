//! Settings that a running service reloads.

use serde_json::json;

use crate::support::{World, chats, wait_until};

#[test]
fn settings_are_read_again_and_what_came_of_it_is_told() {
    let world = World::new();
    let none = world.run("reload");
    assert_eq!(none.code, 4, "{none:?}");
    assert!(none.stderr.contains("no service runs with the data folder"), "{none:?}");

    let serving = world.serve();
    let settings = world.read("overnight.toml");
    let write = |text: &str| world.write("overnight.toml", text);
    let warned = |expected: &str| {
        let report = world.run("doctor").stdout;
        report.contains("warn  loaded settings: ") && report.contains(expected)
    };
    assert!(!warned(""));
    write(&settings.replace("[[models]]", "retention = \"30d\"\nlease = \"31s\"\n[[models]]"));
    assert!(warned("overnight.toml has changed since the service read it"));
    assert_eq!(world.json("reload"), json!({"changed": ["retention"], "needs_restart": ["lease"]}));
    assert!(warned("does not go by changed settings: lease"));
    let told = world.run("reload");
    assert_eq!(told.code, 0, "{told:?}");
    let expected = "loaded; no setting that holds without a restart has changed\n\
                    changed, and holds after a restart: lease\n";
    assert_eq!(told.stdout, expected);

    let keyed = settings.replace("kind = \"openai\"", "kind = \"openai\"\napi_key_file = \"key\"");
    write(&keyed);
    let refused = world.run("reload");
    assert_eq!(refused.code, 2, "{refused:?}");
    let why = "engine `sim`: the file key, which should hold its key, cannot be read";
    assert!(
        refused.stderr.contains("goes on with the settings of before") && refused.stderr.contains(why),
        "{refused:?}"
    );
    assert!(warned(why));
    let made = std::process::Command::new("mkfifo").arg(world.path("key")).status();
    assert!(made.is_ok_and(|status| status.success()));
    let refused = world.run("reload");
    assert!(refused.code == 2 && refused.stderr.contains("is no regular file"), "{refused:?}");
    std::fs::remove_file(world.path("key")).unwrap();
    world.write("key", "a secret\n");
    assert_eq!(world.run("reload").code, 2, "no key has a space");
    world.write("key", "a-secret\n");
    world.engine.tune(|engine| engine.api_key = Some("a-secret".to_owned()));
    assert_eq!(world.json("reload")["changed"], json!(["retention", "engines (changed `sim`)"]));
    assert!(!warned(""));
    world.write("prompts.jsonl", &chats(3));
    assert_eq!(world.run("submit prompts.jsonl --wait").code, 0);

    write("listen = 7");
    let unusable = world.run("reload");
    assert_eq!(unusable.code, 2, "{unusable:?}");
    serving.signal("HUP");
    wait_until("the refusal is noted", || world.read("data/serve.json").contains("refused"));
    write(&keyed);
    assert_eq!(world.run("list").code, 0, "it goes on");
    serving.signal("TERM");
    let ended = serving.end();
    assert_eq!(ended.code, 0, "{ended:?}");
    for expected in ["settings loaded again", "settings not loaded; those of before hold: "] {
        assert!(ended.stderr.contains(expected), "{expected}: {ended:?}");
    }
    assert!(!ended.stderr.contains("a-secret"));
}

#[test]
fn a_process_that_is_no_service_is_not_sent_the_signal() {
    let world = World::slow();
    world.write("prompts.jsonl", &chats(40));
    let mut running = world.start("run prompts.jsonl -o out.jsonl");
    wait_until("it serves itself", || world.path("data/serve.json").exists());
    let refused = world.run("reload");
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("is no `overnight serve`"), "{refused:?}");
    assert!(!running.has_ended());
}

#[test]
fn requests_that_wait_for_a_model_that_was_removed_are_told_and_served_when_its_name_is_an_alias() {
    let world = World::new();
    let serving = world.serve();
    let settings = world.read("overnight.toml");
    let load = |text: String| {
        world.write("overnight.toml", &text);
        assert_eq!(world.run("reload").code, 0);
    };
    let away = settings.replace(&world.engine.base_url(), "http://127.0.0.1:9/v1");
    load(away.clone());
    world.write("prompts.jsonl", &chats(3));
    assert_eq!(world.run("submit prompts.jsonl").code, 0);

    let renamed = |text: &str, lines: &str| {
        let models = text.replacen("name = \"m\"", &format!("name = \"n\"\n{lines}"), 1);
        models.replace("kind = \"openai\"", "kind = \"openai\"\nmodels = { n = \"m\" }")
    };
    load(renamed(&away, ""));
    let told = || world.run("doctor").stdout;
    wait_until("the doctor tells of all", || {
        told().contains("warn  models: requests wait for models that are not configured: m (3)")
    });
    // Requests still in their aggregation period are not reported by the reload itself.
    assert_eq!(world.run("reload").code, 0);
    load(renamed(&settings, "aliases = [\"m\"]"));
    assert!(!told().contains("not configured"));
    wait_until("they are served", || {
        world.json("list requests --status completed --limit 0").as_array().unwrap().len() == 3
    });
    assert_eq!(world.run("submit prompts.jsonl --dry-run").code, 0, "an alias has a price");
    serving.signal("TERM");
    let ended = serving.end();
    assert!(ended.stderr.contains("requests wait for a model that is not configured"), "{ended:?}");
}

#[test]
fn commands_beside_a_service_go_by_the_settings_that_it_loaded() {
    let world = World::new();
    std::fs::create_dir(world.path("etc")).unwrap();
    let settings = world.read("overnight.toml");
    world.write("etc/night.toml", &settings);
    world.write("overnight.toml", "data_dir = \"data\"\n[[models]]\nname = \"of-another-folder\"");
    let serving = world.start("serve --quiet --config etc/night.toml");
    wait_until("the service says where it is", || world.path("data/serve.json").exists());
    let models = |flags: &str| {
        let report = world.run(&format!("doctor {flags}")).stdout;
        report
            .lines()
            .find(|line| line.contains("  settings: they can be used"))
            .unwrap_or_default()
            .to_owned()
    };
    assert!(!models("").contains("of-another-folder"), "{}", models(""));
    assert!(models("--config overnight.toml").contains("of-another-folder"));
    serving.signal("TERM");
    assert_eq!(serving.end().code, 0);
    assert!(models("").contains("of-another-folder"), "no service runs");
}
