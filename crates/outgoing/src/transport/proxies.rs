//! Connections through a proxy.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use overnight_config::ProxyUse;
use tokio::net::TcpStream;
use tower::Service;

use super::BoxError;

/// Which calls go through which proxy.
#[derive(Clone)]
pub struct Proxies(Option<Arc<Rules>>);

struct Rules {
    matcher: Matcher,
    /// `NO_PROXY`, for the forms that the matcher does not know; empty if the settings name the proxy.
    no_proxy: String,
}

impl Proxies {
    pub fn new(proxy: &ProxyUse) -> Self {
        Self(match proxy {
            ProxyUse::Environment => names_proxy().then(|| {
                let no_proxy = ["no_proxy", "NO_PROXY"].into_iter().find_map(|name| std::env::var(name).ok());
                Arc::new(Rules { matcher: Matcher::from_env(), no_proxy: no_proxy.unwrap_or_default() })
            }),
            ProxyUse::Direct => None,
            ProxyUse::At(url) => {
                let matcher = Matcher::builder().all(url.as_str()).build();
                Some(Arc::new(Rules { matcher, no_proxy: String::new() }))
            }
        })
    }

    /// The proxy for a URL; `None` for a direct call. Calls to this machine are always direct.
    fn find(&self, to: &Uri) -> Option<Intercept> {
        let rules = self.0.as_ref()?;
        let host = to.host()?.trim_matches(['[', ']']);
        let is_loopback = host == "localhost"
            || host.ends_with(".localhost")
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        if is_loopback || is_exempt(&rules.no_proxy, host, port_of(to)) {
            return None;
        }
        rules.matcher.intercept(to)
    }

    /// The header that authenticates calls to an `http://` URL at the proxy. A tunnel carries it itself.
    pub(super) fn password(&self, to: &Uri) -> Option<HeaderValue> {
        self.find(to)?.basic_auth().cloned()
    }

    /// The address of the proxy for a URL, without a password.
    pub fn describe(&self, to: &Uri) -> Option<String> {
        let proxy = self.find(to)?;
        Some(format!("http://{}", proxy.uri().authority()?.as_str().rsplit('@').next()?))
    }
}

fn port_of(to: &Uri) -> u16 {
    to.port_u16().unwrap_or(if to.scheme_str() == Some("https") { 443 } else { 80 })
}

/// Whether `NO_PROXY` names the host as `*`, `*.domain` or with a port. The matcher knows names, domains, addresses and networks.
fn is_exempt(no_proxy: &str, host: &str, port: u16) -> bool {
    let ends_with = |domain: &str| {
        let start = host.len().checked_sub(domain.len());
        start.and_then(|start| host.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(domain))
    };
    no_proxy.split(',').map(str::trim).any(|entry| {
        let (name, is_port) = match entry.rsplit_once(':') {
            Some((name, only)) if !name.ends_with(':') && (!name.contains(':') || name.ends_with(']')) => {
                (name.trim_matches(['[', ']']), only.parse() == Ok(port))
            }
            _ => (entry, entry.starts_with('*')),
        };
        let domain = name.trim_start_matches('*');
        let is_host = match domain.starts_with('.') {
            true => ends_with(domain),
            false => name == "*" || domain.eq_ignore_ascii_case(host),
        };
        is_port && is_host
    })
}

/// Whether the environment has `http_proxy` or a similar variable.
fn names_proxy() -> bool {
    std::env::vars_os().any(|(name, _)| name.to_ascii_lowercase().to_string_lossy().ends_with("_proxy"))
}

/// Connects by TCP, to the address or to its proxy.
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) tcp: HttpConnector,
    pub(super) proxies: Proxies,
}

impl Service<Uri> for Connector {
    type Response = MaybeProxied;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<MaybeProxied, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let mut tcp = self.tcp.clone();
        let Some(proxy) = self.proxies.find(&to) else {
            let connecting = self.tcp.call(to);
            return Box::pin(
                async move { Ok(MaybeProxied { stream: connecting.await?, is_proxied: false }) },
            );
        };
        let is_secure = to.scheme_str() == Some("https");
        Box::pin(async move {
            if !is_secure {
                return Ok(MaybeProxied { stream: tcp.call(proxy.uri().clone()).await?, is_proxied: true });
            }
            let mut tunnel = Tunnel::new(proxy.uri().clone(), tcp);
            if let Some(password) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(password.clone());
            }
            Ok(MaybeProxied { stream: tunnel.call(to).await?, is_proxied: false })
        })
    }
}

/// A connection. If a proxy reads its requests, they contain the absolute URL.
pub(super) struct MaybeProxied {
    stream: TokioIo<TcpStream>,
    is_proxied: bool,
}

impl Connection for MaybeProxied {
    fn connected(&self) -> Connected {
        self.stream.inner().connected().proxy(self.is_proxied)
    }
}

impl Read for MaybeProxied {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for MaybeProxied {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_to_this_machine_go_through_no_proxy() {
        let proxy = ProxyUse::At("http://user:secret@proxy:3128".parse().unwrap());
        let proxies = Proxies::new(&proxy);
        for (to, expected) in [
            ("http://127.0.0.1:8000/v1", None),
            ("http://[::1]:8000/v1", None),
            ("http://localhost/v1", None),
            ("https://gpu.localhost/v1", None),
            ("http://10.0.0.7:8000/v1", Some("http://proxy:3128")),
            ("https://api.example.com/v1", Some("http://proxy:3128")),
        ] {
            assert_eq!(proxies.describe(&to.parse().unwrap()).as_deref(), expected, "{to}");
        }
        assert!(Proxies::new(&ProxyUse::Direct).find(&Uri::from_static("http://h")).is_none());
    }

    #[test]
    fn no_proxy_names_hosts_by_stars_and_ports() {
        for (no_proxy, host, port, expected) in [
            ("*", "gpu.test", 80, true),
            ("a.test, *.lab", "gpu.lab", 8000, true),
            ("*.lab", "lab.example", 8000, false),
            ("*.lab", "xlab", 8000, false),
            ("10.0.0.7:8000", "10.0.0.7", 8000, true),
            ("10.0.0.7:8000", "10.0.0.7", 8001, false),
            ("GPU.lab:443", "gpu.LAB", 443, true),
            (".lab:443", "gpu.lab", 443, true),
            ("[fd00::7]:8000", "fd00::7", 8000, true),
            // These the matcher knows.
            ("fd00::7", "fd00::7", 8000, false),
            ("gpu.lab", "gpu.lab", 8000, false),
            ("", "gpu.lab", 8000, false),
        ] {
            assert_eq!(is_exempt(no_proxy, host, port), expected, "{no_proxy} {host}:{port}");
        }
    }
}
