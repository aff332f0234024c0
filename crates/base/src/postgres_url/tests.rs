//! URLs as `psql` takes them.

use super::*;

fn parse(text: &str) -> PostgresUrl {
    PostgresUrl::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

/// `host, port, user, password, database`, the empty ones as `-`.
fn read(text: &str) -> String {
    let url = parse(text);
    ["host", "port", "user", "password", "dbname"].map(|part| url.get(part).unwrap_or("-")).join(" ")
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
         &ssl_min_protocol_version=TLSv1.2&client_encoding=UTF8&sslsni=1&load_balance_hosts=disable\
         &max_protocol_version=latest&min_protocol_version=3.0&ssl_max_protocol_version=TLSv1.3&requiressl=0&replication=false",
    );
    for (name, wanted) in [
        ("sslmode", "verify-full"),
        ("sslrootcert", "/ca"),
        ("sslcert", "/c"),
        ("sslkey", "/k"),
        ("connect_timeout", "3"),
        ("statement-cache-capacity", "0"),
        ("application_name", "a"),
        ("options", "-c a=b"),
    ] {
        assert_eq!(url.get(name), Some(wanted));
    }
    assert_eq!(parse("postgres://h/d?ssl=true").get("sslmode"), Some("require"));
    assert_eq!(parse("postgres://h/d?hostaddr=::1").get("hostaddr"), Some("::1"));
}

#[test]
fn what_cannot_be_done_is_refused_by_its_name_and_without_the_password() {
    for (text, wanted) in [
        ("mysql://h/d", "postgres://"),
        ("postgres://[::1/d", "`]`"),
        ("postgres://[::1]x/d", "`port`"),
        ("postgres://::1/d", "[::1]"),
        ("postgres://h:70000/d", "65535"),
        ("postgres://me:secret/x@h/d", "percent-encode"),
        ("postgres://a,b/d", "several are named"),
        ("postgres://h:1,i:2/d", "several are named"),
        ("postgres://h/d?host=a,b", "several are named"),
        ("postgres://me:100%@h/d", "`password` is not percent-encoded"),
        ("postgres://h/d%ff", "`dbname` is not percent-encoded UTF-8"),
        ("postgres://h/d%00", "%00"),
        ("postgres://h/d?sslmode=full", "`sslmode` may only be disable or allow"),
        ("postgres://h/d?ssl_mode=require", "`ssl_mode` is not taken: did you mean `sslmode`?"),
        ("postgres://h/d?pool_max=5", "`pool_max` is not taken"),
        ("postgres://h/d?channel_binding=require", "`channel_binding` is not taken: `sslrootcert=system`"),
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
