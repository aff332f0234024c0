use super::*;

const COMMAND: &str = r#"
[[models]]
name = "m"
[[engines]]
name = "e"
kind = "command"
command = ["serve", "--port", "8000"]
base_url = "http://127.0.0.1:8000/v1"
"#;

fn read(settings: &str) -> CommandConfig {
    let config = load_text(&format!("{COMMAND}{settings}")).unwrap();
    let EngineKind::Command(command) = &config.engines[0].kind else { panic!("not a command") };
    command.clone()
}

#[test]
fn a_command_has_the_defaults_that_the_manual_shows() {
    let plain = read("");
    let shown = load_text(&manual::uncommented()).unwrap();
    let EngineKind::Command(shown) = &shown.engines[3].kind else { panic!("not a command") };
    let times = |it: &CommandConfig| (it.start_timeout, it.stop_timeout, it.start_after, it.idle_stop);
    assert_eq!(times(&plain), times(shown));
    assert_eq!(read("exclusive = \"gpu-0\"").exclusive, shown.exclusive);
    assert_eq!((plain.exclusive, plain.working_dir, plain.env.len()), (None, None, 0));
    assert_eq!((plain.command.join(" "), plain.openai.is_shared), ("serve --port 8000".to_owned(), false));
}

#[test]
fn a_command_is_read_as_it_is_written() {
    let settings = "working_dir = \"w\"\nenv = { A = \"1\", B = \"\" }\npass_env = [\"HF_TOKEN\"]\nstart_after = \"0s\"\n\
                    exclusive = \"gpu-0\"\ntime_slice = \"5m\"\napi_key_env = \"KEY\"\ncache_salt = \"never\"\n";
    let command = read(settings);
    assert_eq!(command.working_dir, Some("w".into()));
    assert_eq!(command.env, [("A", "1"), ("B", "")].map(|(name, value)| (name.into(), value.into())).into());
    assert_eq!((command.pass_env, command.start_after), (vec!["HF_TOKEN".to_owned()], Millis(0)));
    let device = ExclusiveDevice { name: "gpu-0".to_owned(), time_slice: Millis(300_000) };
    assert_eq!(command.exclusive, Some(device));
    assert_eq!(command.openai.api_key, Some(KeySource::Variable("KEY".to_owned())));
    assert_eq!(command.openai.cache_salt, CacheSaltUse::Never);
}

#[test]
fn a_command_is_called_like_a_server_of_the_openai_api() {
    let config = load_text(COMMAND).unwrap();
    let (engine, plain) = (&config.engines[0], &load_text(ENGINE).unwrap().engines[0]);
    assert_eq!(engine.max_concurrency, plain.max_concurrency);
    assert_eq!(engine.openai().unwrap().base_url, plain.openai().unwrap().base_url);
    assert_eq!((engine.shared_name(), engine.colocated_percent()), (None, None));
    assert!(!engine.rate_limits().are_set() && EngineConfig::boxed().openai().is_none());
}

#[test]
fn a_command_that_cannot_be_meant_is_refused() {
    let url = "`engines[0].base_url` must be an http address of this machine with the port";
    let program = "`engines[0].command` must be a program and its arguments";
    let (command, base_url) = ("[\"serve\", \"--port\", \"8000\"]", "http://127.0.0.1:8000/v1");
    for (from, to, part) in [
        (&*format!("command = {command}"), "", "`engines[0].command` is missing"),
        (command, "[]", program),
        ("\"serve\"", "\"\"", program),
        (command, "\"serve\"", "must be a list of strings, and is a string"),
        (&*format!("base_url = \"{base_url}\""), "", "`engines[0].base_url` is missing"),
        (base_url, "https://127.0.0.1:8000/v1", url),
        (base_url, "http://127.0.0.1/v1", url),
        (base_url, "http://10.0.0.1:8000/v1", url),
        (base_url, "http://127.0.0.1:0/v1", url),
    ] {
        check_refused(&COMMAND.replace(from, to), &[part]);
    }
    check_table(
        COMMAND,
        r#"
        env = { "A=B" = "1" } => must have as each name the name of an environment variable | .toml line
        env = { A = "\u0000" } => that of A | .toml line
        env = { A = 1 } => must be a section of strings | .toml line
        pass_env = ["OVERNIGHT_API_KEY"] => that does not begin with OVERNIGHT_, and has "OVERNIGHT_API_KEY" | .toml line
        working_dir = "" => must be a path | .toml line
        exclusive = " " => must be the name of a device | .toml line
        time_slice = "5m" => `engines[0].time_slice` needs `exclusive` | .toml line
        exclusive = "g" ; time_slice = "59s" => must be 1m to 24h | .toml line
        start_timeout = "25h" => must be 1s to 24h | .toml line
        stop_timeout = "0s" => must be 1s to 1h | .toml line
        start_after = "25h" => must be 0s to 24h | .toml line
        idle_stop = "8d" => must be 1s to 7d | .toml line
        "#,
    );
}

#[test]
fn settings_of_other_kinds_are_refused_for_a_command_and_its_own_for_them() {
    check_table(
        COMMAND,
        r#"
        shared = true => is a setting of engines with kind = "openai"
        colocated_share = "50%" => is a setting of engines with kind = "openai"
        one_model_at_a_time = true => is a setting of engines with kind = "openai"
        max_requests_per_minute = 1 => is a setting of engines with kind = "openai"
        max_tokens_per_minute = 1 => is a setting of engines with kind = "openai"
        max_tokens_per_day = 1 => is a setting of engines with kind = "openai"
        discovery = "dns" => is a setting of engines with kind = "openai"
        headers = {} => is a setting of engines with kind = "openai"
        query = {} => is a setting of engines with kind = "openai"
        ca_file = "c" => is a setting of engines with kind = "openai"
        proxy = "none" => is a setting of engines with kind = "openai"
        model_path = "m.gguf" => is a setting of engines with kind = "embedded"
        "#,
    );
    check_table(ENGINE, r#"idle_stop = "1m" => is a setting of engines with kind = "command""#);
    check_table(EMBEDDED, r#"exclusive = "g" => is a setting of engines with kind = "command""#);
}

#[test]
fn two_commands_share_a_port_only_where_they_never_run_together() {
    let two = |first: &str, second: &str| {
        let other = COMMAND.replace("[[models]]\nname = \"m\"\n", "").replace("\"e\"", "\"f\"");
        format!("{COMMAND}{first}\n{other}{second}")
    };
    let (here, there) = ("exclusive = \"gpu-0\"", "exclusive = \"gpu-1\"");
    assert_eq!(load_text(&two(here, here)).unwrap().engines.len(), 2);
    let part = "`engines[1].base_url` has the port of the engine \"e\"";
    for (first, second) in [("", ""), (here, ""), (here, there)] {
        check_refused(&two(first, second), &[part]);
        let elsewhere = two(first, second).replacen("8000/v1", "8001/v1", 1);
        assert_eq!(load_text(&elsewhere).unwrap().engines.len(), 2);
    }
}
