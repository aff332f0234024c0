//! The program with PostgreSQL: the documented TLS settings, and messages of failures.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use overnight_testkit::postgres::{Cluster, ClusterOptions, Network};

use crate::support::{Ran, World};

const PAGE: &str = include_str!("../../../../docs/postgresql.md");

/// Runs the command with this URL and this file of system authorities.
fn run(world: &World, command: &str, url: &str, system: &str) -> Ran {
    let mut command = world.command(command);
    command.env("OVERNIGHT_DATABASE_URL", url).env("SSL_CERT_FILE", world.path(system));
    command.env_remove("SSL_CERT_DIR").output().unwrap().into()
}

/// Makes the documented authority and certificate for `localhost`.
fn certify(folder: &Path) {
    let block = PAGE.split("```sh\n").map(|rest| rest.split("```").next().unwrap()).nth(1).unwrap();
    assert!(block.contains("openssl x509"), "{block}");
    let script = format!("set -e\n{}", block.replace("db.example", "localhost"));
    let made = Command::new("sh").args(["-c", &script]).current_dir(folder).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn the_documented_authority_and_that_of_the_machine_are_verified() {
    let world = World::new();
    certify(world.folder.path());
    world.write("nobody.pem", &fs::read_to_string(world.path("server.crt")).unwrap());
    let network = Network {
        certificate: world.read("server.crt"),
        key: world.read("server.key"),
        client_authority: world.read("ca.pem"),
        access: "hostssl all all all trust\n".to_owned(),
    };
    let options = ClusterOptions { network: Some(network), ..ClusterOptions::default() };
    let cluster = Cluster::start(&options).unwrap();
    cluster.database("overnight").unwrap();
    let url = format!("postgres://overnight@localhost:{}/overnight", cluster.port());
    let migrated = run(&world, "migrate", &format!("{url}?sslrootcert=system"), "ca.pem");
    assert_eq!(migrated.code, 0, "{migrated:?}");
    let own = format!("{url}?sslmode=verify-full&sslrootcert={}", world.path("ca.pem").display());
    let audited = run(&world, "audit", &own, "nobody.pem");
    assert_eq!(audited.code, 0, "{audited:?}");
    let mut serve = world.command("serve --quiet");
    serve.env("OVERNIGHT_DATABASE_URL", &own).stderr(Stdio::piped());
    let serving = world.serve_by(&mut serve);
    let stray = world.run("account create --name stray");
    assert!(stray.code == 2 && stray.stderr.contains("it uses another"), "{stray:?}");
    assert!(!world.path("data/overnight.db").exists());
    drop(serving);
    let doubted = run(&world, "migrate", &format!("{url}?sslrootcert=system"), "nobody.pem");
    assert_ne!(doubted.code, 0, "{doubted:?}");
    assert!(doubted.stderr.contains("TLS with the server of `database_url`"), "{doubted:?}");
    let weak = run(&world, "migrate", &format!("{url}?sslrootcert=system&sslmode=require"), "ca.pem");
    assert!(weak.stderr.contains("`sslmode=verify-full` alone"), "{weak:?}");
    for command in ["migrate", "serve", "doctor"] {
        let ran = run(&world, command, &own.replace("ca.pem", "gone.pem"), "ca.pem");
        assert_ne!(ran.code, 0, "{command}: {ran:?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            said.contains("`sslrootcert` of `database_url`") && said.contains("gone.pem: No such file"),
            "{said}"
        );
    }
}

#[test]
fn a_parameter_that_cannot_be_done_is_named_and_the_password_is_not_shown() {
    let world = World::new();
    for (query, wanted) in [
        ("channel_binding=require", "the parameter `channel_binding` is not taken"),
        ("ssl_mode=require", "did you mean `sslmode`?"),
    ] {
        for command in ["serve", "migrate", "doctor"] {
            let ran = run(&world, command, &format!("postgres://me:secret@db.example/night?{query}"), "none");
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(ran.code != 0 && said.contains(wanted) && !said.contains("secret"), "{command}: {said}");
        }
    }
}

#[test]
fn commands_name_the_table_that_a_role_may_not_use() {
    let world = World::new();
    let url = Cluster::shared().database("rights").unwrap();
    assert_eq!(run(&world, "migrate", &url, "none").code, 0);
    Cluster::shared().execute("rights", "CREATE ROLE rights_of_little LOGIN").unwrap();
    let url = url.replace("overnight@", "rights_of_little@");
    for command in ["serve", "migrate", "doctor", "audit"] {
        let ran = run(&world, command, &url, "none");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            ran.code != 0 && said.contains("permission denied for table schema_version"),
            "{command}: {said}"
        );
        assert!(
            said.contains("GRANT SELECT, INSERT, UPDATE, DELETE ON") && !said.contains("at line"),
            "{said}"
        );
    }
}

#[test]
fn a_dump_is_restored_with_its_views_and_comments() {
    let world = World::new();
    let [from, to] = ["dumped", "restored"].map(|name| Cluster::shared().database(name).unwrap());
    assert_eq!(run(&world, "migrate", &from, "none").code, 0);
    let account =
        "INSERT INTO accounts (id, name, created_at) VALUES ('\\x0198a5b3c4d57e6f8a9b0c1d2e3f4a5b', 'a', 0)";
    Cluster::shared().execute("dumped", account).unwrap();
    let moved = Command::new("bash")
        .args(["-c", "set -eo pipefail; pg_dump \"$FROM\" | psql --quiet --set ON_ERROR_STOP=1 \"$TO\""])
        .envs([("FROM", &from), ("TO", &to)])
        .output()
        .unwrap();
    assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stderr));
    let check = "DO $$ BEGIN
        ASSERT (SELECT id = 'acct_01k2jv7h6nfsqrn6rc3mq3yjjv' AND id_bytes = overnight_id_bytes(id) FROM overnight_accounts);
        ASSERT obj_description('requests'::regclass) IS NOT NULL;
    END $$";
    Cluster::shared().execute("restored", check).unwrap();
    let audited = run(&world, "audit", &to, "none");
    assert_eq!(audited.code, 0, "{audited:?}");
    assert_eq!(run(&world, "migrate", &to, "none").code, 0);
}
