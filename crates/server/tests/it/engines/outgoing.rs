//! Engines behind a proxy, with a private certificate, and with their own headers and parameters.

use std::sync::{Arc, Mutex};

use overnight_base::clock::{SharedClock, SystemClock};
use overnight_base::ids::Ids;
use overnight_domain::scheduler::AttemptError;
use overnight_engine_clients::{EngineClient, Engines};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::{ask, config, start};
use crate::support::Authority;

const ANSWER: &str = concat!(
    r#"{"object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","#,
    r#""message":{"role":"assistant","content":"hello"}}],"#,
    r#""usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#
);

/// The heads of received requests, in lower case.
type Heads = Arc<Mutex<Vec<String>>>;

/// A server that answers every call with a completion: an engine, or a proxy before an engine with this certificate.
async fn serve(engine: Option<TlsAcceptor>) -> (String, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heads = Heads::default();
    let seen = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (engine, seen) = (engine.clone(), Arc::clone(&seen));
            tokio::spawn(async move {
                let mut first = [0; 1];
                let is_tls = stream.peek(&mut first).await.is_ok_and(|_| first[0] == 22);
                match (engine, is_tls) {
                    (Some(engine), true) => answer(engine.accept(stream).await.ok()?, &seen).await,
                    (Some(engine), false) => {
                        let head = read_head(&mut stream).await?;
                        let is_tunnel = head.starts_with("connect ");
                        seen.lock().unwrap().push(head);
                        assert!(is_tunnel, "a call by https is tunnelled");
                        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
                        answer(engine.accept(stream).await.ok()?, &seen).await
                    }
                    (None, _) => answer(stream, &seen).await,
                }
            });
        }
    });
    (address, heads)
}

async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, seen: &Heads) -> Option<()> {
    while let Some(head) = read_head(&mut stream).await {
        let length = head.split("content-length: ").nth(1).and_then(|it| it.lines().next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        stream.read_exact(&mut body).await.ok()?;
        seen.lock().unwrap().push(head);
        let text = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{ANSWER}",
            ANSWER.len()
        );
        stream.write_all(text.as_bytes()).await.ok()?;
    }
    Some(())
}

async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(head).ok()?.to_lowercase())
}

fn client(settings: &str) -> Arc<EngineClient> {
    let settings = format!(r#"kind = "openai", models = {{ ours = "theirs" }}, {settings}"#);
    start(&config(&settings)).list().remove(0)
}

fn posted(heads: &Heads) -> String {
    heads.lock().unwrap().iter().find(|head| head.starts_with("post ")).cloned().unwrap_or_default()
}

#[tokio::test]
async fn calls_to_an_engine_elsewhere_go_through_the_proxy_of_the_settings() {
    let (proxy, heads) = serve(None).await;
    let client =
        client(&format!(r#"base_url = "http://gpu.invalid:8000/v1", proxy = "http://user:secret@{proxy}""#));
    assert_eq!(client.proxy(), Some(format!("http://{proxy}")));
    ask(&client, "hello").await.unwrap();
    let call = posted(&heads);
    assert!(call.starts_with("post http://gpu.invalid:8000/v1/chat/completions http/1.1\r\n"), "{call}");
    assert!(call.contains("proxy-authorization: basic "), "{call}");
    let local = self::client(&format!(r#"base_url = "http://{proxy}/v1", proxy = "http://127.0.0.1:9""#));
    assert_eq!(local.proxy(), None);
    ask(&local, "hello").await.unwrap();
}

#[tokio::test]
async fn calls_by_https_are_tunnelled_and_the_password_of_the_proxy_is_sent_to_it_alone() {
    let authority = Authority::new();
    let (proxy, heads) = serve(Some(authority.certify("gpu.invalid"))).await;
    let client = client(&format!(
        r#"base_url = "https://gpu.invalid/v1", ca_file = "{}", proxy = "http://user:secret@{proxy}""#,
        authority.file().display()
    ));
    assert_eq!(client.proxy(), Some(format!("http://{proxy}")));
    ask(&client, "hello").await.unwrap();
    let tunnel = heads.lock().unwrap()[0].clone();
    assert!(tunnel.starts_with("connect gpu.invalid:443 http/1.1\r\n"), "{tunnel}");
    assert!(tunnel.contains("proxy-authorization: basic "), "{tunnel}");
    let call = posted(&heads);
    let is_so = call.starts_with("post /v1/chat/completions http/1.1\r\n") && !call.contains("proxy-auth");
    assert!(is_so, "{call}");
}

#[tokio::test]
async fn an_engine_is_trusted_by_its_authority_or_by_its_own_certificate_and_no_other_is() {
    let (authority, another) = (Authority::new(), Authority::new());
    let (address, _) = serve(Some(authority.certify("127.0.0.1"))).await;
    let at = |ca_file: String| client(&format!(r#"base_url = "https://{address}/v1"{ca_file}"#));
    let trusting = |authority: &Authority| format!(r#", ca_file = "{}""#, authority.file().display());
    ask(&at(trusting(&authority)), "hello").await.unwrap();
    for ca_file in [String::new(), trusting(&another)] {
        let error = ask(&at(ca_file), "hello").await.unwrap_err();
        assert!(matches!(&error, AttemptError::Connect(why) if why.contains("certificate")), "{error:?}");
    }
    // A self-signed certificate is often marked as an authority's.
    let (address, _) = serve(Some(authority.certify_itself())).await;
    let client = client(&format!(r#"base_url = "https://{address}/v1"{}"#, trusting(&authority)));
    ask(&client, "hello").await.unwrap();
}

#[tokio::test]
async fn a_file_without_a_certificate_stops_the_start_whatever_the_scheme() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "no certificate").unwrap();
    for scheme in ["http", "https"] {
        for (file, why) in
            [(&folder.path().join("missing.pem"), ""), (&empty, "it holds no certificate in PEM")]
        {
            let settings =
                format!(r#"kind = "openai", base_url = "{scheme}://h", ca_file = "{}""#, file.display());
            let clock: SharedClock = Arc::new(SystemClock);
            let error =
                Engines::start(&config(&settings), &clock, &Arc::new(Ids::from_seed(1))).err().unwrap();
            let words = format!("engine `e`: no certificates to trust: `ca_file` {}: ", file.display());
            assert!(error.to_string().starts_with(&words) && error.to_string().ends_with(why), "{error}");
        }
    }
}

#[tokio::test]
async fn calls_carry_the_headers_and_parameters_of_the_settings_and_secrets_are_concealed() {
    let (address, heads) = serve(None).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "azure-secret\n").unwrap();
    let client = client(&format!(
        r#"base_url = "http://{address}/v1", headers = {{ "api-key" = "file:{}", "X-Title" = "nights" }}, query = {{ "api-version" = "2024-10-21" }}"#,
        file.display()
    ));
    ask(&client, "hello").await.unwrap();
    let call = posted(&heads);
    assert!(call.starts_with("post /v1/chat/completions?api-version=2024-10-21 http/1.1\r\n"), "{call}");
    assert!(call.contains("api-key: azure-secret\r\n") && call.contains("x-title: nights\r\n"), "{call}");
    assert!(!call.contains("authorization"), "{call}");
}
