use super::*;

#[test]
fn networks_and_single_addresses_may_be_allowed() {
    let config = load_text(
        "[webhooks]\nallow_networks = [\"10.1.0.0/16\", \"10.2.3.4\", \"fd00:1::/64\", \"fd00:2::1\", \"0.0.0.0/0\"]",
    )
    .unwrap();
    let networks: Vec<_> = config.webhooks.allow_networks.iter().map(ToString::to_string).collect();
    assert_eq!(networks, ["10.1.0.0/16", "10.2.3.4/32", "fd00:1::/64", "fd00:2::1/128", "0.0.0.0/0"]);
    assert!(!config.webhooks.allow_insecure_targets);
}

#[test]
fn what_is_no_network_is_refused_by_name() {
    for network in
        " 10.1.0.0/33 10.1.0.0/ 10.1/16 localhost [::1] ::ffff:10.0.0.0/104 ::ffff:10.0.0.1".split(' ')
    {
        check_refused(
            &format!("[webhooks]\nallow_networks = [\"10.0.0.0/8\", \"{network}\"]"),
            &["`webhooks.allow_networks` must be networks like \"10.1.0.0/16\"", network, "line 2"],
        );
    }
    check_refused("[webhooks]\nallow_networks = \"10.0.0.0/8\"", &["must be a list of strings"]);
}

#[test]
fn tries_are_made_again_as_documented_unless_the_operator_says_otherwise() {
    let seconds = |text: &str| -> Vec<i64> {
        load_text(text).unwrap().webhooks.retries.iter().map(|Millis(ms)| ms / 1_000).collect()
    };
    assert_eq!(seconds(""), [5, 60, 300, 1_800, 7_200, 18_000, 36_000, 50_400]);
    assert_eq!(seconds("[webhooks]\nretries = [\"1s\", \"7d\"]"), [1, 604_800]);
    assert_eq!(seconds("[webhooks]\nretries = []"), [0_i64; 0]);
    for wrong in ["5", "-5s", "8d", "soon"] {
        let text = format!("[webhooks]\nretries = [\"5s\", \"{wrong}\"]");
        check_refused(&text, &["`webhooks.retries` must be durations", wrong]);
    }
    let many = vec!["\"1s\""; 21].join(", ");
    check_refused(&format!("[webhooks]\nretries = [{many}]"), &["at most 20"]);
}

#[test]
fn the_address_of_a_database_is_the_one_that_is_connected_to() {
    let address = |url: &str, variables: &[(&str, &str)]| {
        let config = load_text(&format!("database_url = \"{url}\"")).unwrap();
        let Database::Postgres(url) = config.database else { panic!("{:?}", config.database) };
        url.address(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    };
    let is = |host: &str, port| Some((host.to_owned(), port));
    let variables = [("PGHOST", "other"), ("PGPORT", "7000")];
    assert_eq!(address("postgres://me:secret@db.example:6432/night", &variables), is("db.example", 6432));
    assert_eq!(address("postgres://db.example/night", &[]), is("db.example", 5432));
    assert_eq!(address("postgresql://[fd00::1]/night", &[]), is("fd00::1", 5432));
    assert_eq!(address("postgres://db/night?host=10.0.0.5&port=1", &[]), is("10.0.0.5", 1));
    assert_eq!(address("postgres://db/night?hostaddr=10.0.0.5", &variables), is("10.0.0.5", 7000));
    assert_eq!(address("postgres:///night", &[]), is("localhost", 5432));
    assert_eq!(address("postgres:///night", &variables), is("other", 7000));
    assert_eq!(address("postgres:///night?host=/run/postgresql&port=1", &[]), is("localhost", 1));
    assert_eq!(address("postgres://%2Frun%2Fpostgresql/night", &[]), is("localhost", 5432));
}
