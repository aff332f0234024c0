use super::*;

#[test]
fn the_environment_overrules_the_file_and_flags_overrule_both() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"listen = \"127.0.0.1:1\"\nlease = \"11s\"\n[limits]\nmetadata = \"2 KiB\"\n").unwrap();
    let config = Config::load(&Sources {
        file: Some(file.path().to_owned()),
        environment: vec![
            ("OVERNIGHT_LISTEN".into(), "127.0.0.1:2".into()),
            ("OVERNIGHT_LIMITS__CONNECTIONS".into(), "7".into()),
            ("PATH".into(), "/bin".into()),
        ],
        flags: vec![("listen".into(), "127.0.0.1:3".into()), ("data_dir".into(), "there".into())],
    })
    .unwrap();
    assert_eq!((config.listen.port(), config.lease), (3, Millis(11_000)));
    assert_eq!((config.limits.metadata_bytes, config.limits.request_body_bytes), (2 << 10, 8 << 20));
    assert_eq!((config.connections.max, config.data_dir), (7, PathBuf::from("there")));
}

#[test]
fn variables_are_read_as_the_setting_wants_them() {
    let config = load_environment(&[
        ("OVERNIGHT_WEBHOOKS__ALLOW_INSECURE_TARGETS", "true"),
        ("OVERNIGHT_WEBHOOKS__ALLOW_NETWORKS", r#"["10.1.0.0/16"]"#),
        ("OVERNIGHT_LIMITS__ALLOW_FIELDS", r#"["priority"]"#),
        ("OVERNIGHT_MODELS", r#"[{ name = "m" }]"#),
        ("OVERNIGHT_ENGINES", r#"[{ name = "e", kind = "openai", base_url = "http://h" }]"#),
        ("OVERNIGHT_METRICS_LISTEN", ""),
        ("OVERNIGHT_URL", "http://h"),
        ("OVERNIGHT_API_KEY", "k"),
        ("OVERNIGHT_CONFIG", "c"),
        ("OVERNIGHT_WEBHOOK_SECRET", "w"),
        ("OVERNIGHT_SERVICE_HOST", "10.0.0.1"),
        ("OVERNIGHT_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
    ])
    .unwrap();
    assert!(config.webhooks.allow_insecure_targets);
    assert_eq!(config.limits.allow_fields, ["priority"]);
    assert_eq!((config.engines[0].name.as_str(), config.metrics_listen), ("e", None));
}

#[test]
fn a_wrong_variable_is_refused_by_name() {
    let table = r#"
        OVERNIGHT_LEESE=3s => unknown setting `leese` (OVERNIGHT_LEESE); the nearest known one is `lease`
        OVERNIGHT_LEASE__X=3s => `lease.x`
        OVERNIGHT_LIMITS=3 => `limits` must be a section, and is a string (OVERNIGHT_LIMITS)
        OVERNIGHT_LIMITS__CONNECTIONS=many => and is a string (OVERNIGHT_LIMITS__CONNECTIONS)
        OVERNIGHT_ENGINES__NAME=e => `engines.name`
        OVERNIGHT_ENGINES=[{ nam = 1 }] => `engines.nam` (OVERNIGHT_ENGINES)
        OVERNIGHT_ENGINES=[ => OVERNIGHT_ENGINES: unclosed array
        OVERNIGHT_=e => unknown setting ``"#;
    for line in table.lines().skip(1) {
        let (variable, part) = line.trim().split_once(" => ").unwrap();
        let sentence = load_environment(&[variable.split_once('=').unwrap()]).expect_err(line).to_string();
        assert!(sentence.contains(part), "{sentence}\nlacks {part}");
    }
}

#[test]
fn a_file_that_is_not_there_is_said_so() {
    let sources = Sources { file: Some("/nowhere/o.toml".into()), ..Sources::default() };
    let sentence = Config::load(&sources).unwrap_err().to_string();
    assert!(sentence.contains("/nowhere/o.toml cannot be read"), "{sentence}");
}

#[test]
fn no_setting_is_hidden_by_a_variable_that_is_none() {
    for path in manual::paths() {
        assert!(!["url", "api_key", "config"].contains(&path.as_str()), "{path}");
        assert!(!path.starts_with("port") && !path.starts_with("service"), "{path}");
    }
}

#[test]
fn white_space_around_an_address_or_a_path_is_none_of_it() {
    let config = load_environment(&[
        ("OVERNIGHT_DATABASE_URL", " postgres://me@h/d\n"),
        ("OVERNIGHT_PUBLIC_URL", "https://night.example.com\r\n"),
        ("OVERNIGHT_METRICS_LISTEN", "\n"),
        ("OVERNIGHT_MODELS", "[{ name = \"m\" }]\n"),
        ("OVERNIGHT_ENGINES", "[{ name = \"e\", kind = \"openai\", base_url = \" http://h/v1\\n\" }]\n"),
    ])
    .unwrap();
    let Database::Postgres(url) = &config.database else { panic!("{:?}", config.database) };
    assert_eq!(url.reveal(), "postgres://me@h/d");
    assert_eq!(config.public_url.unwrap().as_str(), "https://night.example.com/");
    assert_eq!(config.metrics_listen, None);
    assert_eq!(config.engines[0].openai().unwrap().base_url.as_str(), "http://h/v1");
}
