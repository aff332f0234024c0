use super::*;

#[test]
fn a_certificate_comes_with_its_key_and_an_https_address() {
    assert_eq!(load_text("").unwrap().tls, None);
    let config = load_text("[tls]\ncert = \"a/c.pem\"\nkey = \"k.pem\"").unwrap();
    let tls = config.tls.as_ref().unwrap();
    assert_eq!((tls.cert.to_str(), tls.key.to_str()), (Some("a/c.pem"), Some("k.pem")));
    assert_eq!(config.public_address("/v1"), "https://127.0.0.1:8080/v1");
    check_refused("[tls]\ncert = \"c\"", &["`tls.cert` is set, and `tls.key` is missing", "line 2"]);
    check_refused("[tls]\nkey = \"k\"", &["`tls.key` is set, and `tls.cert` is missing", "line 2"]);
    check_refused("[tls]\ncert = \"\"\nkey = \"k\"", &["`tls.cert` must be a path"]);
    check_refused(
        "public_url = \"http://h\"\n[tls]\ncert = \"c\"\nkey = \"k\"",
        &["`public_url` must begin with https://", "line 1"],
    );
}
