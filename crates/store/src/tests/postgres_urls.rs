//! The ways to a real PostgreSQL: sockets, addresses, and TLS with what is verified.

use std::net::{Ipv6Addr, TcpListener};

use overnight_testkit::postgres::{ClusterOptions, Network};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::ServerFiles;
use crate::database::Database;
use crate::tests::prelude::*;

/// One database for those who come with TLS, one for those who come without, one for those with a certificate, one for all.
const ACCESS: &str = "hostssl encrypted all all trust
hostnossl plain all all trust
hostssl certified all all cert
host secret all all scram-sha-256
host overnight all all trust
";

/// A server whose certificate is for `localhost`, and the files that its clients have.
struct Stage {
    cluster: Cluster,
    files: TempDir,
}

impl Stage {
    fn start() -> Self {
        let authority = authority();
        let files = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: String| fs::write(files.path().join(name), text).expect("a file");
        let (certificate, key) = certify(&authority, "localhost", None);
        let (client, client_key) = certify(&authority, "client", Some("overnight"));
        write("ca.pem", authority.pem());
        write("other.pem", self::authority().pem());
        write("client.pem", client);
        write("client.key", client_key);
        write("empty.pem", "nothing".to_owned());
        let network =
            Network { certificate, key, client_authority: authority.pem(), access: ACCESS.to_owned() };
        let options = ClusterOptions { network: Some(network), ..ClusterOptions::default() };
        let cluster = Cluster::start(&options).expect("a PostgreSQL");
        for name in ["encrypted", "plain", "certified", "secret", "overnight"] {
            cluster.database(name).expect("a database");
        }
        Self { cluster, files }
    }

    /// A URL with `PORT`, `SOCKETS` and `FILES` filled in.
    fn url(&self, text: &str) -> String {
        let files = self.files.path().display().to_string();
        let sockets = self.cluster.socket_folder().display().to_string();
        let port = self.cluster.port().to_string();
        text.replace("PORT", &port).replace("SOCKETS", &sockets).replace("FILES", &files)
    }

    async fn connect(&self, text: &str) -> Result<Connection, StoreError> {
        Database::server(&self.url(text), ServerFiles::default(), Arc::default())?.connect().await
    }

    async fn is_encrypted(&self, text: &str) -> bool {
        let mut connection = self.connect(text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
        let query = sql("SELECT ssl::text AS is_encrypted FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
        let rows = connection.fetch(query).await.expect("an answer");
        connection.close().await.expect("an end");
        rows[0].get::<String>("is_encrypted").expect("a text") == "true"
    }

    async fn refusal(&self, text: &str) -> String {
        match self.connect(text).await {
            Ok(_) => panic!("{text} is taken"),
            Err(error) => error.to_string(),
        }
    }
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("a certificate");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
}

/// A certificate for a host, or of a client that is called so, and its key.
fn certify(
    authority: &CertifiedIssuer<'static, KeyPair>,
    host: &str,
    client: Option<&str>,
) -> (String, String) {
    let mut params = CertificateParams::new(vec![host.to_owned()]).expect("a certificate");
    if let Some(client) = client {
        params.distinguished_name.push(rcgen::DnType::CommonName, client);
    }
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, authority).expect("a certificate");
    (certificate.pem(), key.serialize_pem())
}

#[tokio::test]
async fn sockets_and_addresses_are_reached_as_psql_reaches_them() {
    let stage = Stage::start();
    for url in [
        "postgres://overnight@/overnight?host=SOCKETS&port=PORT",
        "postgres://overnight:secret@/overnight?host=SOCKETS&port=PORT&sslmode=require",
        "postgres:///overnight?host=SOCKETS&port=PORT&user=overnight",
        "postgres://overnight@localhost:1/overnight?host=SOCKETS&port=PORT",
    ] {
        assert!(!stage.is_encrypted(url).await, "{url}");
    }
    let encoded = stage.cluster.socket_folder().display().to_string().replace('/', "%2F");
    assert!(!stage.is_encrypted(&format!("postgres://overnight@{encoded}:PORT/overnight")).await);
    for url in [
        "postgres://overnight@127.0.0.1:PORT/overnight",
        "postgresql://overnight@localhost:PORT/overnight",
        "postgres://overnight@nowhere.invalid:PORT/overnight?hostaddr=127.0.0.1",
    ] {
        assert!(stage.is_encrypted(url).await, "{url}");
    }
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        return eprintln!("skipped: this machine has no ::1");
    }
    for url in
        ["postgres://overnight@[::1]:PORT/overnight", "postgres://overnight@/overnight?host=::1&port=PORT"]
    {
        assert!(stage.is_encrypted(url).await, "{url}");
    }
}

#[tokio::test]
async fn each_sslmode_encrypts_and_verifies_what_it_says() {
    let stage = Stage::start();
    let on = |host: &str, database: &str, query: &str| {
        format!("postgres://overnight@{host}:PORT/{database}?{query}")
    };
    // What the server takes decides about these two, and nothing is verified.
    for (mode, database, wanted) in [
        ("disable", "overnight", false),
        ("disable", "plain", false),
        ("allow", "overnight", false),
        ("allow", "encrypted", true),
        ("prefer", "overnight", true),
        ("prefer", "plain", false),
        ("require", "encrypted", true),
    ] {
        let url = on("127.0.0.1", database, &format!("sslmode={mode}"));
        assert_eq!(stage.is_encrypted(&url).await, wanted, "{url}");
    }
    let refusal = stage.refusal(&on("127.0.0.1", "encrypted", "sslmode=disable")).await;
    assert!(refusal.contains("pg_hba.conf"), "{refusal}");
    let refusal = stage.refusal(&on("127.0.0.1", "plain", "sslmode=require")).await;
    assert!(refusal.contains("pg_hba.conf"), "{refusal}");
    // The certificate is for `localhost`.
    let own = "sslrootcert=FILES/ca.pem";
    for (host, query) in [
        ("localhost", format!("sslmode=verify-full&{own}")),
        ("127.0.0.1", format!("sslmode=verify-ca&{own}")),
        ("127.0.0.1", format!("sslmode=require&{own}")),
    ] {
        assert!(stage.is_encrypted(&on(host, "overnight", &query)).await, "{host} {query}");
    }
    for (host, query, wanted) in [
        ("127.0.0.1", format!("sslmode=verify-full&{own}"), "is for another host"),
        ("localhost", "sslmode=verify-full".to_owned(), "name the file of its authority"),
        ("localhost", "sslmode=verify-ca&sslrootcert=FILES/other.pem".to_owned(), "`database_url`"),
        ("localhost", "sslmode=require&sslrootcert=FILES/other.pem".to_owned(), "`database_url`"),
    ] {
        let refusal = stage.refusal(&on(host, "overnight", &query)).await;
        assert!(refusal.contains("TLS with the server") && refusal.contains(wanted), "{query}: {refusal}");
    }
}

#[tokio::test]
async fn a_certificate_takes_the_place_of_a_password() {
    let stage = Stage::start();
    let url = "postgres://overnight@localhost:PORT/certified?sslmode=verify-full&sslrootcert=FILES/ca.pem";
    let refusal = stage.refusal(url).await;
    assert!(refusal.contains("certificate"), "{refusal}");
    let url = format!("{url}&sslcert=FILES/client.pem&sslkey=FILES/client.key");
    assert!(stage.is_encrypted(&url).await);
}

#[tokio::test]
async fn a_file_that_is_missing_or_no_certificate_is_named_with_its_parameter() {
    let stage = Stage::start();
    let rest = "sslmode=verify-full&sslrootcert=FILES/ca.pem";
    for (query, wanted) in [
        (
            "sslmode=verify-full&sslrootcert=FILES/gone.pem".to_owned(),
            ["`sslrootcert`", "gone.pem: No such file"],
        ),
        ("sslmode=verify-full&sslrootcert=FILES".to_owned(), ["`sslrootcert`", "directory"]),
        (
            "sslmode=verify-full&sslrootcert=FILES/empty.pem".to_owned(),
            ["`sslrootcert`", "empty.pem: holds no cert"],
        ),
        (format!("{rest}&sslcert=FILES/gone.pem&sslkey=FILES/client.key"), ["`sslcert`", "No such file"]),
        (
            format!("{rest}&sslcert=FILES/client.pem&sslkey=FILES/gone.key"),
            ["`sslkey`", "gone.key: No such file"],
        ),
        (format!("{rest}&sslcert=FILES/client.pem&sslkey=FILES/ca.pem"), ["`sslkey`", "holds no key"]),
        (format!("{rest}&sslcert=FILES/client.pem"), ["`sslcert`", "goes with `sslkey`"]),
    ] {
        let refusal = stage.refusal(&format!("postgres://overnight@localhost:PORT/overnight?{query}")).await;
        assert!(wanted.iter().all(|wanted| refusal.contains(wanted)), "{query}: {refusal}");
    }
}

#[tokio::test]
async fn what_a_url_says_of_the_session_is_so() {
    let stage = Stage::start();
    let url = "postgres://overnight@localhost:PORT/overnight?options=-c%20search_path%3Dnight&application_name=here";
    for (url, wanted) in [
        (url, "night here"),
        ("postgres://overnight@localhost:PORT/overnight", "\"$user\", public overnight"),
        ("postgres://overnight@localhost:PORT/overnight?fallback_application_name=b", "\"$user\", public b"),
    ] {
        let mut connection = stage.connect(url).await.expect("a connection");
        let query =
            "SELECT current_setting('search_path') || ' ' || current_setting('application_name') AS said";
        let rows = connection.fetch(sql(query)).await.expect("an answer");
        connection.close().await.expect("an end");
        assert_eq!(rows[0].get::<String>("said").expect("a text"), wanted);
    }
    // Nobody answers there, and nobody waits for ten seconds.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let refusal = stage.refusal(&format!("postgres://h@127.0.0.1:{port}/d?connect_timeout=1")).await;
    assert!(refusal.contains("does not answer"), "{refusal}");
}

/// The examples of the page for operators, but for the pooler and the roots of the machine, which tests of the program try.
#[tokio::test]
async fn the_documented_urls_lead_to_a_database() {
    let stage = Stage::start();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/postgresql.md");
    let page = fs::read_to_string(page).expect("the page");
    let urls: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("`postgres://"))
        .filter_map(|line| line.split('`').nth(1))
        .filter(|url| !url.contains("system") && !url.contains("pooler"))
        .collect();
    assert_eq!(urls.len(), 6);
    let has_ipv6 = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    for url in urls.into_iter().filter(|url| has_ipv6 || !url.contains("::1")) {
        let socket = url.contains("run").then(|| if url.contains('?') { "&port=PORT" } else { "?port=PORT" });
        let encoded = stage.cluster.socket_folder().display().to_string().replace('/', "%2F");
        let here = url
            .replace("db.example:5432", "localhost:PORT")
            .replace("db.example/", "localhost:PORT/")
            .replace("]:5432", "]:PORT")
            .replace("/etc/overnight", "FILES")
            .replace("/run/postgresql", "SOCKETS")
            .replace("%2Frun%2Fpostgresql", &encoded);
        let here = format!("{here}{}", socket.unwrap_or_default());
        assert_eq!(stage.is_encrypted(&here).await, socket.is_none(), "{url}");
    }
}

#[tokio::test]
async fn a_password_that_was_changed_is_read_from_its_file_by_the_next_connection() {
    let stage = Stage::start();
    let set = |password: &str| {
        let statement = format!("ALTER ROLE overnight PASSWORD '{password}'");
        stage.cluster.execute("secret", &statement).expect("a password");
    };
    let (url, password) = (stage.files.path().join("url"), stage.files.path().join("password"));
    let without = stage.url("postgres://overnight@localhost:PORT/secret");
    let with = |password: &str| stage.url(&format!("postgres://overnight:{password}@localhost:PORT/secret"));
    set("first");
    fs::write(&url, with("first") + "\n").expect("a file");
    fs::write(&password, "\u{feff}first \r\n").expect("a file");
    let of_url = ServerFiles { url: Some(url.clone()), password: None };
    let of_password = ServerFiles { url: None, password: Some(password.clone()) };
    let server = |url: &str, files| Database::server(url, files, Arc::default()).expect("a URL");
    let databases = [server(&with("first"), of_url), server(&without, of_password)];
    for database in &databases {
        database.connect().await.expect("the first password");
    }
    set("second");
    for database in &databases {
        let refused = database.connect().await.expect_err("another password");
        assert!(refused.outage().is_some_and(|why| why.contains("password")), "{refused}");
    }
    fs::write(&url, with("second")).expect("a file");
    fs::write(&password, "second").expect("a file");
    for database in &databases {
        database.connect().await.expect("the second password");
    }
    fs::write(&url, "postgres://h:x").expect("a file");
    fs::write(&password, "\n").expect("a file");
    let faults = ["`database_url`: the file", "`database_password_file`: the file"];
    for (database, fault) in databases.iter().zip(faults) {
        let refused = database.connect().await.expect_err("no password");
        assert!(refused.to_string().starts_with(fault) && refused.is_passing(), "{refused}");
    }
}
