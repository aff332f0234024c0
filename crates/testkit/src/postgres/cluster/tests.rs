use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

#[test]
fn what_was_committed_survives_a_crash_of_the_server_and_nothing_else_does() {
    let mut cluster = Cluster::start(&ClusterOptions::default()).unwrap();
    cluster.database("crash").unwrap();
    let mut session = cluster.session("crash").unwrap();
    session.run("CREATE TABLE kept (value int); INSERT INTO kept VALUES (1), (2)").unwrap();
    session.run("BEGIN; INSERT INTO kept VALUES (3)").unwrap();
    cluster.restart_immediate().unwrap();
    assert!(session.run("COMMIT").is_err());
    let mut session = cluster.session("crash").unwrap();
    assert_eq!(session.run("SELECT * FROM kept").unwrap(), "SELECT 2");
}

#[test]
fn a_commit_waits_for_the_disk_only_where_it_shall() {
    for (durability, waits) in [(Durability::Server, "SELECT 0"), (Durability::Disk, "SELECT 1")] {
        let options = ClusterOptions { durability, ..ClusterOptions::default() };
        let cluster = Cluster::start(&options).unwrap();
        let mut session = cluster.session(MAINTENANCE).unwrap();
        let statement = "SELECT * FROM pg_settings WHERE name = 'fsync' AND setting = 'on'";
        assert_eq!(session.run(statement).unwrap(), waits, "{durability:?}");
    }
}

#[test]
fn a_stopped_server_takes_nobody_until_it_is_started_again() {
    let mut cluster = Cluster::start(&ClusterOptions::default()).unwrap();
    cluster.stop_immediate();
    assert!(cluster.session(MAINTENANCE).is_err());
    assert!(cluster.database("early").is_err());
    cluster.start_again().unwrap();
    cluster.start_again().unwrap();
    assert!(cluster.session(MAINTENANCE).is_ok());
}

#[test]
fn a_schema_is_made_once_and_copied() {
    let cluster = Cluster::shared();
    let made = AtomicU32::new(0);
    let migrate = async |_| {
        made.fetch_add(1, Ordering::Relaxed);
        cluster.execute(TEMPLATE, "CREATE TABLE copied (value int)").unwrap();
    };
    for name in ["copy_1", "copy_2"] {
        assert!(cluster.database_with_schema(name, migrate).unwrap().contains(name));
        cluster.execute(name, "INSERT INTO copied VALUES (1)").unwrap();
        let mut session = cluster.session(name).unwrap();
        assert_eq!(session.run("SELECT * FROM copied").unwrap(), "SELECT 1", "{name}");
    }
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

#[test]
fn databases_of_the_shared_cluster_know_nothing_of_each_other() {
    let cluster = Cluster::shared();
    for name in ["one", "other"] {
        cluster.database(name).unwrap();
        cluster.session(name).unwrap().run("CREATE TABLE mine ()").unwrap();
    }
    assert!(cluster.database("one").unwrap_err().to_string().contains("already exists"));
    for name in ["", "One", "a-b", &"a".repeat(64)] {
        assert_eq!(cluster.database(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
    }
}

#[test]
fn the_url_names_the_folder_of_the_socket() {
    let expected = "postgres://overnight@localhost:5432/name?host=/tmp/a%20b/c%25.d";
    assert_eq!(url(Path::new("/tmp/a b/c%.d"), PORT, "name"), expected);
}

#[test]
fn a_server_that_does_not_start_says_why() {
    let mut cluster = Cluster::start(&ClusterOptions::default()).unwrap();
    cluster.stop_immediate();
    std::fs::write(cluster.folder.data().join("postgresql.conf"), "nonsense = 1\n").unwrap();
    let message = cluster.start_again().unwrap_err().to_string();
    assert!(message.contains("nonsense"), "{message}");
}

#[test]
fn when_its_process_dies_the_server_goes_and_leaves_no_folder() {
    let mut cluster = Cluster::start(&ClusterOptions::default()).unwrap();
    let server = cluster.server.take();
    let (socket, path) = (cluster.socket(), cluster.folder.path().to_owned());
    // As after a kill of this process, the keeper's input ends while the server runs.
    drop(cluster);
    assert!(UnixStream::connect(socket).is_err());
    assert!(!path.exists());
    drop(server);
}

#[test]
fn a_path_too_long_for_a_socket_is_refused() {
    let parent = tempfile::Builder::new().prefix(&"a".repeat(100)).tempdir().unwrap();
    let options = ClusterOptions { folder: parent.path().to_owned(), ..ClusterOptions::default() };
    assert!(Cluster::start(&options).unwrap_err().to_string().contains("too long"));
}
