use std::io::{Read, Write};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use super::super::frames::{Header, QUERY};
use super::super::session::Session;
use super::*;

/// A database with an empty table, and a proxy in front of it.
struct Stage {
    proxy: FaultProxy,
    database: String,
}

impl Stage {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let database = format!("proxied_{}", COUNT.fetch_add(1, Relaxed));
        let cluster = Cluster::shared();
        cluster.database(&database).unwrap();
        cluster.session(&database).unwrap().run("CREATE TABLE rows (value int)").unwrap();
        Self { proxy: FaultProxy::start(cluster).unwrap(), database }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.proxy.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    fn session(&self) -> io::Result<Session<TcpStream>> {
        Session::begin(self.connect(), &self.database)
    }

    /// A session through the proxy with an inserted, uncommitted row.
    fn writer(&self) -> Session<TcpStream> {
        let mut session = self.session().unwrap();
        session.run("BEGIN").unwrap();
        assert_eq!(session.run("INSERT INTO rows VALUES (1)").unwrap(), "INSERT 0 1");
        session
    }

    /// Committed rows, read without the proxy.
    fn rows(&self) -> String {
        Cluster::shared().session(&self.database).unwrap().run("SELECT * FROM rows").unwrap()
    }
}

#[test]
fn what_nobody_wants_lost_passes() {
    let stage = Stage::new();
    let mut writer = stage.writer();
    assert_eq!(writer.run("COMMIT").unwrap(), "COMMIT");
    assert!(writer.run("SELECT 1 / 0").unwrap_err().to_string().contains("division by zero"));
    let many = writer.run("SELECT repeat('a', 100000) FROM generate_series(1, 50)").unwrap();
    assert_eq!((many.as_str(), stage.rows().as_str()), ("SELECT 50", "SELECT 1"));
    assert_eq!(stage.proxy.dropped(), Dropped::default());
}

#[test]
fn a_commit_whose_answer_is_dropped_is_there_afterwards() {
    let stage = Stage::new();
    stage.proxy.drop_commit_answers(1);
    assert!(stage.writer().run("COMMIT").is_err());
    assert_eq!(stage.rows(), "SELECT 1");
    assert_eq!(stage.writer().run("COMMIT").unwrap(), "COMMIT");
    assert_eq!(stage.proxy.dropped(), Dropped { answers: 1, commits: 0 });
}

#[test]
fn a_commit_that_was_cut_is_not_there() {
    let stage = Stage::new();
    stage.proxy.cut_before_commit(1);
    assert!(stage.writer().run(" commit ").is_err());
    assert_eq!(stage.rows(), "SELECT 0");
    assert_eq!(stage.writer().run("COMMIT").unwrap(), "COMMIT");
    assert_eq!(stage.proxy.dropped(), Dropped { answers: 0, commits: 1 });
}

#[test]
fn what_was_asked_before_a_dropped_commit_is_answered() {
    let stage = Stage::new();
    stage.proxy.drop_commit_answers(1);
    let mut writer = stage.writer();
    let long = format!("SELECT '{}'", "a".repeat(100_000));
    for statements in [long.as_str(), "SELECT 2", "COMMIT"] {
        writer.ask(statements).unwrap();
    }
    assert_eq!(writer.answer().unwrap(), "SELECT 1");
    assert_eq!(writer.answer().unwrap(), "SELECT 1");
    assert!(writer.answer().is_err());
    assert_eq!(stage.rows(), "SELECT 1");
}

#[test]
fn a_commit_that_comes_byte_by_byte_is_one() {
    let stage = Stage::new();
    stage.proxy.cut_before_commit(1);
    let mut writer = stage.writer();
    let body = b"COMMIT\0";
    let header = Header { kind: QUERY, body_bytes: u32::try_from(body.len()).unwrap() };
    let stream = writer.stream.get_mut();
    stream.set_nodelay(true).unwrap();
    for byte in header.encode().iter().chain(body) {
        stream.write_all(&[*byte]).unwrap();
        thread::yield_now();
    }
    assert!(writer.answer().is_err());
    assert_eq!(stage.proxy.dropped().commits, 1);
}

#[test]
fn a_client_that_asks_for_encryption_is_told_no_and_goes_on() {
    let stage = Stage::new();
    let mut stream = stage.connect();
    for code in [5_679_u16, 5_680] {
        let [high, low] = code.to_be_bytes();
        stream.write_all(&[0, 0, 0, 8, 0x04, 0xd2, high, low]).unwrap();
        let mut answer = [0];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"N");
    }
    assert!(Session::begin(stream, &stage.database).unwrap().run("SELECT 1").is_ok());
}

#[test]
fn all_connections_can_be_cut_and_new_ones_refused() {
    let stage = Stage::new();
    let mut sessions = [stage.session().unwrap(), stage.writer()];
    for _ in 0..2 {
        stage.proxy.refuse(true).unwrap();
    }
    assert_eq!(TcpStream::connect(stage.proxy.address).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    assert!(sessions[0].run("SELECT 1").is_ok());
    stage.proxy.cut_all();
    assert!(sessions.iter_mut().all(|session| session.run("SELECT 1").is_err()));
    for _ in 0..2 {
        stage.proxy.refuse(false).unwrap();
    }
    assert!(stage.session().unwrap().run("SELECT 1").is_ok());
}

#[test]
fn a_proxy_goes_on_when_its_server_is_back_and_ends_when_it_is_dropped() {
    let mut cluster = Cluster::start(&super::super::ClusterOptions::default()).unwrap();
    cluster.database("proxied").unwrap();
    let stage = Stage { proxy: FaultProxy::start(&cluster).unwrap(), database: "proxied".to_owned() };
    assert_eq!(stage.proxy.url("proxied"), format!("postgres://overnight@{}/proxied", stage.proxy.address));
    let mut session = stage.session().unwrap();
    cluster.stop_immediate();
    assert!(session.run("SELECT 1").is_err());
    assert!(stage.session().is_err());
    cluster.start_again().unwrap();
    let mut session = stage.session().unwrap();
    let stream = stage.connect();
    drop(stage);
    assert!(session.run("SELECT 1").is_err());
    assert!(TcpStream::connect(stream.peer_addr().unwrap()).is_err());
}
