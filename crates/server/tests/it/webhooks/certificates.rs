//! Receivers with TLS, and impostors.

use overnight_outgoing::webhooks::{Failure, Sender, Tried};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::support::{Authority, Names, Receiver, allowing, outcome, send, sender};

const HERE: &str = "127.0.0.2";

/// A sender that trusts this authority and may call [`HERE`], the address of every name in the tests.
fn trusting(authority: &Authority) -> Sender {
    let names =
        Names(["hook.example", "hook.example.", "a.hook.example"].map(|name| (name, vec![HERE])).into());
    sender(&allowing(HERE), names).trusting(vec![authority.file()])
}

async fn try_at(sender: &Sender, host: &str, tls: TlsAcceptor) -> (Tried, Receiver) {
    let receiver = Receiver::start_tls(&format!("{HERE}:0"), tls).await;
    let tried = send(sender, &format!("https://{host}:{}/", receiver.address.port())).await;
    (tried, receiver)
}

#[tokio::test]
async fn a_receiver_whose_certificate_is_in_order_is_called() {
    let authority = Authority::new();
    let sender = trusting(&authority);
    for (host, certified, server_name) in [
        ("hook.example", "hook.example", Some("hook.example")),
        ("A.HOOK.example", "*.hook.example", Some("a.hook.example")),
        ("hook.example.", "hook.example", Some("hook.example")),
        (HERE, HERE, None),
        ("0x7f.2", HERE, None),
    ] {
        let (tried, receiver) = try_at(&sender, host, authority.certify(certified)).await;
        assert_eq!(outcome(&tried), Ok(200), "{host}");
        let calls = receiver.calls();
        assert_eq!(calls[0].server_name.as_deref(), server_name, "{host}");
        assert_eq!(calls[0].protocol.as_deref(), Some(&b"http/1.1"[..]), "{host}");
        assert!(calls[0].request.starts_with("POST / HTTP/1.1\r\nhost: "), "{host}");
    }
}

#[tokio::test]
async fn a_receiver_whose_certificate_is_not_in_order_is_told_nothing() {
    let (authority, another) = (Authority::new(), Authority::new());
    let sender = trusting(&authority);
    for (what, host, tls) in [
        ("an authority that nobody trusts", "hook.example", another.certify("hook.example")),
        ("another name", "hook.example", authority.certify("other.example")),
        ("a name for an address", HERE, authority.certify("hook.example")),
        ("another address", HERE, authority.certify("127.0.0.1")),
        ("an old one", "hook.example", authority.certify_until("hook.example", 2_020)),
    ] {
        let (tried, receiver) = try_at(&sender, host, tls).await;
        assert_eq!(outcome(&tried), Err(Failure::Tls), "{what}");
        assert!(receiver.calls().iter().all(|call| call.request.is_empty()), "{what}");
    }
}

#[tokio::test]
async fn an_authority_is_trusted_only_where_it_was_named() {
    let authority = Authority::new();
    let sender = sender(&allowing(HERE), Names::one("hook.example", &[HERE]));
    let (tried, _receiver) = try_at(&sender, "hook.example", authority.certify("hook.example")).await;
    assert_eq!(tried.failure, Some(Failure::Tls));
}

#[tokio::test]
async fn who_does_not_speak_tls_is_told_nothing() {
    let sender = trusting(&Authority::new());
    for answer in
        ["", "HTTP/1.1 200 OK\r\n\r\n", "\u{15}\u{3}\u{3}\0\u{2}\u{2}(", "\u{16}\u{3}\u{3}\0\u{4}abcd"]
    {
        let listener = TcpListener::bind((HERE, 0)).await.unwrap();
        let url = format!("https://hook.example:{}/", listener.local_addr().unwrap().port());
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_buf(&mut Vec::new()).await.unwrap();
            let _ = stream.write_all(answer.as_bytes()).await;
        });
        assert_eq!(send(&sender, &url).await.failure, Some(Failure::Tls), "{answer:?}");
        server.await.unwrap();
    }
}
