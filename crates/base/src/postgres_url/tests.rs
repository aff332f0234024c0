//! URLs as `psql` takes them.

use super::*;

fn parse(text: &str) -> PostgresUrl {
    PostgresUrl::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

/// `host, port, user, password, database`, the empty ones as `-`.
fn read(text: &str) -> String {
    let url = parse(text);
    let port = url.port.map(|port| port.to_string());
    let parts = [url.host, port, url.user, url.password, url.database];
    parts.map(|part| part.unwrap_or_else(|| "-".to_owned())).join(" ")
}

#[test]
fn each_part_is_read_as_psql_reads_it() {
    for (text, wanted) in [
        ("postgres://me:secret@db.example:6432/night", "db.example 6432 me secret night"),
        ("postgresql://db.example/night", "db.example - - - night"),
        ("postgres://me@[::1]:5433/night", "::1 5433 me - night"),
        ("postgres://[2001:db8::5]/night", "2001:db8::5 - - - night"),
        ("postgres://u:p@/db?host=/dir", "/dir - u p db"),
        ("postgres:///db?host=/run/my%20sockets&port=5433", "/run/my sockets 5433 - - db"),
        ("postgres://u@%2Frun%2Fpostgresql:5433/db", "/run/postgresql 5433 u - db"),
        ("postgres://?host=::1&user=a@b&password=p%2Bq+r&dbname=n", "::1 - a@b p+q+r n"),
        ("postgres://a%40b:p%3A%2F%3F%23%40@h/d%20e", "h - a@b p:/?#@ d e"),
        ("postgres://me@tenant:pa@ss@h:5432/d", "h 5432 me@tenant pa@ss d"),
        ("postgres://me:p#ss@h/d#e", "h - me p#ss d#e"),
        ("postgres://h/d?host=first&host=second", "second - - - d"),
        ("postgres://h:/d", "h - - - d"),
        ("postgres://", "- - - - -"),
    ] {
        assert_eq!(read(text), wanted, "{text}");
    }
}

#[test]
fn parameters_are_taken_and_those_of_libpq_that_hold_anyway_too() {
    let url = parse(
        "postgres://h/d?sslmode=verify-full&sslrootcert=/ca&sslcert=/c&sslkey=/k&connect_timeout=3&application_name=a\
         &options=-c%20a%3Db&statement-cache-capacity=0&target_session_attrs=any&gssencmode=prefer&channel_binding=prefer\
         &ssl_min_protocol_version=TLSv1.2&client_encoding=UTF8&sslsni=1&load_balance_hosts=disable",
    );
    assert_eq!(url.tls.mode, Some(SslMode::VerifyFull));
    assert_eq!(url.tls.roots, Some(Roots::File("/ca".into())));
    assert_eq!((url.tls.certificate, url.tls.key), (Some("/c".into()), Some("/k".into())));
    assert_eq!((url.connect_timeout_s, url.statement_cache_capacity), (Some(3), Some(0)));
    assert_eq!((url.application_name.as_deref(), url.options.as_deref()), (Some("a"), Some("-c a=b")));
    assert_eq!(parse("postgres://h/d?ssl=true").tls.mode, Some(SslMode::Require));
    let address = parse("postgres://h/d?hostaddr=::1").address;
    assert_eq!(address, "::1".parse().ok());
}

#[test]
fn what_cannot_be_done_is_refused_by_its_name_and_without_the_password() {
    for (text, wanted) in [
        ("mysql://h/d", "postgres://"),
        ("postgres://[::1/d", "`]` is missing"),
        ("postgres://[::1]x/d", "only a port"),
        ("postgres://::1/d", "[::1]"),
        ("postgres://h:70000/d", "65535"),
        ("postgres://me:secret/x@h/d", "percent-encode"),
        ("postgres://a,b/d", "several are named"),
        ("postgres://h:1,i:2/d", "several are named"),
        ("postgres://h/d?host=a,b", "several are named"),
        ("postgres://h/d?host=@abstract", "abstract"),
        ("postgres://me:100%@h/d", "the password: a `%`"),
        ("postgres://h/d%ff", "the database: is no UTF-8"),
        ("postgres://h/d%00", "%00"),
        ("postgres://h/d?sslmode=full", "verify-ca or verify-full"),
        ("postgres://h/d?ssl_mode=require", "`ssl_mode` is unknown; did you mean `sslmode`?"),
        ("postgres://h/d?pool_max=5", "`pool_max` is unknown"),
        ("postgres://h/d?channel_binding=require", "`channel_binding` is not taken: it is not there"),
        ("postgres://h/d?target_session_attrs=read-write", "name the one that takes writes"),
        ("postgres://h/d?sslcrl=/x", "`sslcrl` is not taken: revocations"),
        ("postgres://h/d?sslpassword=secret", "take the password off"),
        ("postgres://h/d?sslnegotiation=direct", "`sslnegotiation` may only be postgres"),
        ("postgres://h/d?connect_timeout=soon", "`connect_timeout` must be a whole number"),
        ("postgres://h/d?hostaddr=db", "`hostaddr` must be one IP address"),
        ("postgres://h/d?hostaddr=10.0.0.1&sslmode=verify-full", "`hostaddr` goes with no"),
    ] {
        let fault = PostgresUrl::parse(text).err().unwrap_or_else(|| panic!("{text} is taken"));
        assert!(fault.contains(wanted) && !fault.contains("secret"), "{text}: {fault}");
    }
}

#[test]
fn tls_is_decided_by_the_url_then_by_variables_and_never_on_a_socket() {
    let tls = |query: &str, variables: &[(&str, &str)]| {
        let find =
            |name: &str| variables.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned());
        parse(&format!("postgres://h/d?{query}")).tls.resolve(false, find)
    };
    let mode = |query: &str, variables: &[(&str, &str)]| tls(query, variables).map(|tls| tls.mode);
    assert_eq!(mode("", &[]), Ok(SslMode::Prefer));
    assert_eq!(mode("", &[("PGSSLMODE", "require")]), Ok(SslMode::Require));
    assert_eq!(mode("sslmode=disable", &[("PGSSLMODE", "require")]), Ok(SslMode::Disable));
    assert!(mode("", &[("PGSSLMODE", "sure")]).is_err());
    assert_eq!(mode("sslmode=require&sslrootcert=/ca", &[]), Ok(SslMode::VerifyCa));
    assert_eq!(mode("sslmode=require", &[("PGSSLROOTCERT", "/ca")]), Ok(SslMode::VerifyCa));
    assert_eq!(mode("sslmode=prefer&sslrootcert=/ca", &[]), Ok(SslMode::Prefer));
    assert_eq!(mode("sslrootcert=system", &[]), Ok(SslMode::VerifyFull));
    for weak in ["disable", "allow", "prefer", "require", "verify-ca"] {
        assert!(mode(&format!("sslrootcert=system&sslmode={weak}"), &[]).is_err(), "{weak}");
    }
    assert!(tls("sslcert=/c", &[]).is_err() && tls("sslkey=/k", &[]).is_err());
    let identity = tls("sslcert=/c", &[("PGSSLKEY", "/k")]).map(|tls| tls.identity);
    assert_eq!(identity, Ok(Some(("/c".into(), "/k".into()))));
    let on_socket = parse("postgres:///d?host=/s&sslmode=require&sslcert=/c").tls.resolve(true, |_| None);
    assert_eq!(on_socket.map(|tls| tls.mode), Ok(SslMode::Disable));
}
