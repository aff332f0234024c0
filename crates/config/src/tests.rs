use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use overnight_domain::limits::Limits;
use overnight_hub::HubName;

use super::*;

mod billing;
mod commands;
mod connections;
mod console;
mod discovery;
mod encryption;
mod engine_limits;
mod environment;
mod hours;
mod models;
mod object_store;
mod one_model;
mod outgoing;
mod quotas;
mod reloading;
mod tls;
mod traces;
mod webhooks;

fn load_text(text: &str) -> Result<Config, ConfigError> {
    let mut file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    file.write_all(text.as_bytes()).unwrap();
    Config::load(&Sources { file: Some(file.path().to_owned()), ..Sources::default() })
}

fn load_environment(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let environment = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    Config::load(&Sources { environment, ..Sources::default() })
}

/// Asserts that a file is refused with a sentence that contains every part; a part after `^` must be its beginning.
fn check_refused(text: &str, parts: &[&str]) {
    let sentence = load_text(text).expect_err(text).to_string();
    for part in parts {
        let is_there =
            part.strip_prefix('^').map_or_else(|| sentence.contains(part), |part| sentence.starts_with(part));
        assert!(is_there, "{text}\n{sentence}\nlacks {part}");
    }
}

/// Asserts of each line of a table, `settings => part | part`, that these settings after `head` are refused with a sentence that contains
/// every part. A line break is written ` ; `.
fn check_table(head: &str, table: &str) {
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (settings, parts) = line.split_once("=>").expect(line);
        let text = format!("{head}{}", settings.trim_end().replace(" ; ", "\n"));
        check_refused(&text, &parts.trim_start().split(" | ").collect::<Vec<_>>());
    }
}

fn engine(settings: &str) -> EngineConfig {
    load_text(&format!("{ENGINE}{settings}")).unwrap().engines[0].clone()
}

fn openai(settings: &str) -> OpenAiConfig {
    engine(settings).openai().unwrap().clone()
}

const EMBEDDED: &str = "[[models]]\nname = \"m\"\n[[engines]]\nname = \"e\"\nkind = \"embedded\"\n";

const ENGINE: &str = r#"
[[models]]
name = "m"
[[engines]]
name = "e"
kind = "openai"
base_url = "http://127.0.0.1:8000/v1/"
"#;

#[test]
fn the_defaults_serve_the_model_in_the_box() {
    let config = Config::load(&Sources::default()).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!((config.aggregation_period, config.lease), (Millis(2_000), Millis(10_000)));
    assert_eq!((&config.limits, config.connections.max), (&Limits::default(), 4096));
    assert_eq!(config.disk_reserve, None);
    assert_eq!(
        (&config.public_url, config.metrics_listen, config.webhooks.allow_insecure_targets),
        (&None, None, false)
    );
    assert_eq!(config.models[0].name, BOXED_MODEL);
    assert_eq!(config.engines[0].models[BOXED_MODEL], BOXED_MODEL);
    let EngineKind::Embedded(embedded) = &config.engines[0].kind else { panic!("not embedded") };
    assert_eq!(embedded.model, ModelSource::Boxed);
    assert_eq!(config.warnings(), [""; 0]);
}

#[test]
fn the_manual_switched_on_is_a_configuration_that_shows_the_defaults() {
    let config = load_text(&manual::uncommented()).unwrap();
    let of_engine = |it: &EngineConfig| (it.max_concurrency, it.request_timeout, it.connect_timeout);
    assert_eq!(of_engine(&config.engines[0]), of_engine(&engine("")));
    assert_eq!(config.engines[0].openai().unwrap().cache_salt, openai("").cache_salt);
    let of_model = |it: &ModelConfig| (it.default_max_tokens, it.image_tokens, it.shared_cache);
    assert_eq!(of_model(&config.models[0]), of_model(&load_text(ENGINE).unwrap().models[0]));
    assert_eq!(config.engines[4].max_concurrency, EngineConfig::boxed().max_concurrency);
}

#[test]
fn an_engine_is_sent_a_salt_as_its_setting_says() {
    assert_eq!(openai("").cache_salt, CacheSaltUse::Auto);
    assert_eq!(openai("cache_salt = \"always\"").cache_salt, CacheSaltUse::Always);
    assert_eq!(openai("cache_salt = \"never\"").cache_salt, CacheSaltUse::Never);
    let wanted = "`engines[0].cache_salt` must be \"auto\", \"always\" or \"never\", and is \"on\"";
    check_refused(&format!("{ENGINE}cache_salt = \"on\""), &[wanted]);
    let wanted = "`engines[0].cache_salt` is a setting of engines with kind = \"openai\"";
    check_refused(&format!("{EMBEDDED}cache_salt = \"auto\""), &[wanted]);
}

#[test]
fn a_co_located_engine_has_a_share_of_a_number_that_is_set() {
    assert_eq!(engine("").colocated_percent(), None);
    assert_eq!(engine("max_concurrency = 64\ncolocated_share = \"25%\"").colocated_percent(), Some(25));
    for text in ["0%", "101%", "25", "+5%", "2.5%", "%", "half"] {
        let wanted = "`engines[0].colocated_share` must be a whole number from 1 to 100 and %";
        check_refused(&format!("{ENGINE}colocated_share = \"{text}\""), &[wanted, text]);
    }
    check_table(ENGINE, r#"colocated_share = "25%" => colocated_share` needs `max_concurrency`"#);
}

#[test]
fn a_model_shares_its_cache_only_if_told_to() {
    let with = |setting: &str| load_text(&format!("[[models]]\nname = \"m\"\n{setting}")).unwrap().models;
    assert_eq!([with("")[0].shared_cache, with("shared_cache = true")[0].shared_cache], [false, true]);
    check_refused("[[models]]\nname = \"m\"\nshared_cache = 1", &["must be true or false"]);
}

/// A file whose only fault is a date at `path`; no setting is a date.
fn with_a_date_at(path: &str) -> String {
    let (section, key) = path.rsplit_once('.').unwrap_or(("", path));
    let own = engines::OWN_KEYS.iter().find(|(_, keys)| keys.contains(&key));
    let kind = own.map_or("openai", |(kinds, _)| kinds[0]);
    let head = match section {
        "" => "",
        "models" => "[[models]]\nname = \"m\"",
        "engines" if kind == "embedded" => "[[engines]]\nname = \"e\"\nkind = \"embedded\"",
        "engines" if kind == "command" => {
            "[[engines]]\nname = \"e\"\nkind = \"command\"\nbase_url = \"http://127.0.0.1:1\"\ncommand = [\"c\"]"
        }
        "engines" => "[[engines]]\nname = \"e\"\nkind = \"openai\"\nbase_url = \"http://h\"",
        "console.oidc" => "[console.oidc]\nissuer = \"https://h\"\nclient_id = \"c\"",
        "tls" => "[tls]\ncert = \"c\"\nkey = \"k\"",
        other => &format!("[{other}]"),
    };
    let given = head.lines().filter(|line| !line.starts_with(key)).collect::<Vec<_>>().join("\n");
    let models = if section == "engines" { "[[models]]\nname = \"m\"\n" } else { "" };
    format!("{models}{given}\n{key} = 2026-01-01")
}

#[test]
fn every_setting_of_the_manual_is_read() {
    for path in manual::paths() {
        let key = path.rsplit('.').next().unwrap();
        check_refused(&with_a_date_at(&path), &[&format!("{key}` must be "), "and is a date", ".toml line "]);
    }
}

#[test]
fn only_what_is_built_is_a_setting() {
    let sections: BTreeSet<_> =
        manual::paths().iter().filter_map(|path| Some(path.split_once('.')?.0.to_owned())).collect();
    let expected =
        "billing console encryption engines limits models object_store outgoing quotas tls traces webhooks";
    assert_eq!(Vec::from_iter(sections).join(" "), expected);
}

#[test]
fn an_unknown_setting_names_the_nearest_known_one_and_its_line() {
    check_table(
        "",
        r#"
        lease = "3s" ; leese = "3s" => `leese` | toml line 2 | `lease`
        request_body = "1 MiB" => `limits.request_body`
        [limit] ; metadata = "1 KiB" => `limit` | line 1
        [billing] ; price = "1" => `billing.price`
        "#,
    );
    check_table(
        ENGINE,
        r#"
        bas_url = "x" => `engines.bas_url` | `engines.base_url`
        hour = ["22:00-07:00"] => `engines.hour` | `engines.hours`
        "#,
    );
}

#[test]
fn a_setting_of_the_wrong_kind_is_refused_by_name() {
    check_table(
        "",
        r#"
        listen = "localhost" => `listen` must be an IP address and a port | "localhost"
        lease = "10" => `lease` must be a whole number and ms, s, m, h or d | "10"
        lease = "999ms" => `lease` must be 1s to 1h | line 1
        disk_reserve = "1025 GiB" => `disk_reserve` must be 0 B to 1024 GiB | line 1
        aggregation_period = "1d" => `aggregation_period` must be 0s to 12h | line 1
        limits = 3 => `limits` must be a section, and is an integer | line 1
        [limits] ; batch_requests = 0 => `limits.batch_requests` | from 1 to 1000000, and is 0
        [limits] ; batch_requests = 1.5 => must be an integer from 1 to 1000000 | and is a float
        [limits] ; metadata = "9 MiB" => `limits.metadata` must not be larger | line 2
        [limits] ; allow_fields = [1] => `limits.allow_fields` must be a list of strings | line 2
        database_url = "mysql://h/d" => `database_url` must be "sqlite" or "postgres:// | line 1
        database_url = "postgres://h" => `database_url` must be | host/database
        role = "api" => `role` must be all | line 1
        role = "boss" => `role` must be all, api or scheduler | "boss"
        node = "" => `node` must be a name | line 1
        public_url = "ftp://h" => `public_url` must be an http or https address | ftp://h
        metrics_listen = "127.0.0.1:8080" => `metrics_listen` is the same as `listen` | line 1
        metrics_token_env = "OVERNIGHT_T" => `metrics_token_env` must be the name | OVERNIGHT_T
        log = "loud" => `log` must be error, warn, info, debug or trace | "loud"
        lease = "1s" ; lease = "2s" => toml line 2 | duplicate key
        "#,
    );
    check_table(
        "\n",
        r#"
        listen = 8080 => `listen` must be a string, and is an integer | toml line 2
        lease = 1s => toml line 2 | must be quoted
        "#,
    );
}

#[test]
fn models_and_engines_must_fit_together() {
    check_table(
        "",
        r#"
        [[models]] ; name = "m" ; [[models]] ; name = "m" => `models[1].name` is given twice
        [[models]] ; name = "" => `models[0].name` must be 1 to 256 bytes
        [[models]] ; input_price = "1" => `models[0].name` is missing
        [[models]] ; name = "m" ; input_price = 0.1 => `models[0].input_price` must be a string
        [[models]] ; name = "m" ; input_price = "-1" => must be a decimal number
        [[engines]] ; name = "e" ; kind = "openai" => an engine without a model
        "#,
    );
    check_table(
        ENGINE,
        r#"
        models = { other = "x" } => names "other", which has no [[models]] section
        models = {} => `engines[0].models` names no model
        threads = 4 => `engines[0].threads` is a setting of engines with kind = "embedded"
        api_key_env = "OVERNIGHT_K" => does not begin with OVERNIGHT_
        "#,
    );
    for (from, to, part) in [
        ("openai", "vllm", "`engines[0].kind` must be \"openai\", \"command\" or \"embedded\""),
        ("http:", "unix:", "`engines[0].base_url` must be an http or https address"),
        ("127", "user@127", "without a query or user"),
        ("openai", "embedded", "`engines[0].base_url` is a setting of engines with kind"),
    ] {
        check_refused(&ENGINE.replace(from, to), &[part]);
    }
    let two = format!("[[models]]\nname = \"a\"\n{EMBEDDED}");
    check_refused(&two, &["`engines[0].models` must say which model this is"]);
}

#[test]
fn an_engine_serves_every_model_unless_told_which() {
    let all = load_text(ENGINE).unwrap();
    assert_eq!(all.engines[0].models["m"], "m");
    let EngineKind::OpenAi(openai) = &all.engines[0].kind else { panic!("not openai") };
    assert_eq!(openai.base_url.as_str(), "http://127.0.0.1:8000/v1");
    let told =
        load_text(&format!("{ENGINE}models = {{ m = \"theirs\" }}\n[[models]]\nname = \"idle\"")).unwrap();
    assert_eq!(told.engines[0].models["m"], "theirs");
    assert_eq!(told.warnings(), ["no engine serves the model `idle`: its requests wait"]);
}

#[test]
fn without_an_engine_the_model_in_the_box_joins_the_others() {
    let config = load_text("[[models]]\nname = \"mine\"").unwrap();
    let names: Vec<_> = config.models.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(names, ["mine", BOXED_MODEL]);
    assert_eq!(config.warnings().len(), 1);
}

#[test]
fn a_database_server_is_shown_without_its_password() {
    let config =
        load_text("database_url = \"postgres://me:secret@db.example:6432/night?sslmode=require\"").unwrap();
    let Database::Postgres(url) = &config.database else { panic!("{:?}", config.database) };
    assert_eq!(url.to_string(), "postgres://db.example:6432/night");
    assert!(!format!("{config:?}").contains("secret"));
    assert!(url.reveal().contains("secret"));
    let refused = load_text("database_url = \"postgres://me:secret@db.example\"").unwrap_err();
    assert!(!refused.to_string().contains("secret"), "{refused}");
}

#[test]
fn the_address_of_a_database_and_its_password_may_stand_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let (url, password) = (folder.path().join("url"), folder.path().join("password"));
    let of_url = format!("database_url = \"file:{}\"", url.display());
    check_refused(&of_url, &["`database_url` names the file", "url, which cannot be read: "]);
    std::fs::write(&url, "\u{feff}postgres://me:secret@h/d\n").unwrap();
    let load = |text: &str| match load_text(text).unwrap().database {
        Database::Postgres(url) => url,
        Database::Sqlite => panic!("{text}"),
    };
    let loaded = load(&of_url);
    assert_eq!((loaded.reveal(), loaded.file.as_ref()), ("postgres://me:secret@h/d", Some(&url)));
    std::fs::write(&url, "postgres://me:other@h/d").unwrap();
    assert_eq!(load(&of_url), loaded, "what stands in the file changes without a restart");
    let of_password =
        |url: &str| format!("database_url = \"{url}\"\ndatabase_password_file = \"{}\"", password.display());
    assert_eq!(load(&of_password("postgres://me@h/d")).password_file, Some(password.clone()));
    assert_eq!(load_text(&of_password("sqlite")).unwrap().database, Database::Sqlite);
    check_refused(&of_password("postgres://me:secret@h/d"), &["stands beside a password", "line 2"]);
    for (text, part) in [("", "is empty"), ("post\0gres", "NUL"), ("sqlite", "must be \"sqlite\"")] {
        std::fs::write(&url, text).unwrap();
        check_refused(&of_url, &["`database_url`", part]);
    }
}

#[test]
fn a_tilde_begins_a_path_in_the_home_folder() {
    let home = std::env::home_dir().unwrap();
    let text = "data_dir = \"~/night\"\n[tls]\ncert = \"~/c.pem\"\nkey = \"~other/k.pem\"\n[encryption]\nkey_dir = \"~/keys\"";
    let config = load_text(text).unwrap();
    let tls = config.tls.unwrap();
    assert_eq!((config.data_dir, tls.cert), (home.join("night"), home.join("c.pem")));
    assert_eq!(
        (tls.key, config.encryption.unwrap().key_dir),
        (PathBuf::from("~other/k.pem"), home.join("keys"))
    );
}

#[test]
fn a_model_is_a_file_or_one_of_the_hub() {
    let settings = |path: &str| format!("{EMBEDDED}model_path = \"{path}\"");
    let model = |path: &str| match load_text(&settings(path)).unwrap().engines[0].kind.clone() {
        EngineKind::Embedded(embedded) => embedded.model,
        EngineKind::OpenAi(_) | EngineKind::Command(_) => panic!("it is embedded"),
    };
    assert_eq!(model("a/b.gguf"), ModelSource::File("a/b.gguf".into()));
    assert_eq!(model("hf:o/r:Q8_0"), ModelSource::Hub("hf:o/r:Q8_0".parse().unwrap()));
    check_refused(&settings(""), &["must be the path of a GGUF file, or a model of the Hub"]);
    check_refused(&settings("hf:r"), &["must be hf:OWNER/REPO"]);
}

#[test]
fn a_model_of_the_hub_is_added_under_its_name_once() {
    let name: HubName = "hf:o/r:Q8_0".parse().unwrap();
    let config = Config::load(&Sources::default()).unwrap();
    let added = config.clone().with_hub_model(&name);
    assert_eq!(
        (added.models.len(), added.engines.len()),
        (config.models.len() + 1, config.engines.len() + 1)
    );
    let engine = added.engines.last().unwrap();
    assert!(engine.models.contains_key("o/r:Q8_0") && added.warnings() == config.warnings());
    assert_eq!(added.clone().with_hub_model(&name), added);
}
