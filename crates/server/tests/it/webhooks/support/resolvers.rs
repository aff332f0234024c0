use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use overnight_outgoing::webhooks::{Hold, Resolve};

fn read(addresses: &[&str]) -> Vec<IpAddr> {
    addresses.iter().map(|address| address.parse().unwrap()).collect()
}

pub(in super::super) struct Names(pub(in super::super) Vec<(&'static str, Vec<&'static str>)>);

impl Names {
    pub(in super::super) fn none() -> Self {
        Self(Vec::new())
    }

    pub(in super::super) fn one(name: &'static str, addresses: &[&'static str]) -> Self {
        Self(vec![(name, addresses.to_vec())])
    }
}

impl Resolve for Names {
    fn resolve(&self, name: &str, _: Hold) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let known = self.0.iter().find(|(known, _)| *known == name);
        let found = known.map(|(_, addresses)| read(addresses));
        async move { found.ok_or_else(|| io::Error::other("no such name")) }.boxed()
    }
}

/// Resolves every name, to another answer each time.
#[derive(Clone)]
pub(in super::super) struct Turns {
    answers: Vec<Vec<IpAddr>>,
    count: Arc<AtomicUsize>,
}

impl Turns {
    pub(in super::super) fn new(answers: &[&[&str]]) -> Self {
        Self { answers: answers.iter().map(|answer| read(answer)).collect(), count: Arc::default() }
    }

    /// The number of look-ups.
    pub(in super::super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

impl Resolve for Turns {
    fn resolve(&self, _: &str, _: Hold) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let answer = self.answers[self.count.fetch_add(1, Ordering::Relaxed) % self.answers.len()].clone();
        async move { Ok(answer) }.boxed()
    }
}

pub(in super::super) struct Silent;

impl Resolve for Silent {
    fn resolve(&self, _: &str, _: Hold) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        std::future::pending().boxed()
    }
}

/// Resolves names in threads that cannot be stopped, until it is released.
#[derive(Clone)]
pub(in super::super) struct Lingering(pub(in super::super) Arc<tokio::sync::Notify>);

impl Resolve for Lingering {
    fn resolve(&self, _: &str, hold: Hold) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let bell = Arc::clone(&self.0);
        let lookup = tokio::spawn(async move {
            bell.notified().await;
            drop(hold);
        });
        async move { lookup.await.map(|()| Vec::new()).map_err(io::Error::other) }.boxed()
    }
}
