//! Calls of clients and of the console, without an engine.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;

use super::browser::Browser;
use super::{Growth, LARGE_FROM, connect};
use crate::service::Service;
use crate::{bulk, clock, load};

/// Calls in each round: enough for CPU times, which the system counts in steps of 10 ms.
const GETS: usize = 2_000;
const PAGES: usize = 400;
const CREATES: usize = 3_000;
const CREATE_CONNECTIONS: usize = 16;

const BATCH: usize = 10_000;
const LARGE_BATCH: usize = 100_000;

const IDLE_MS: u64 = 5_000;
const POLL_MS: u64 = 20;

/// CPU time of an idle service in a second.
const IDLE: Duration = Duration::from_millis(20);
const UPKEEP_MAX: Duration = Duration::from_secs(60);

/// What the console and clients ask for. No request failed, is live, or is so old or so new.
const LISTS: [(&str, &str); 8] = [
    ("list", "limit=20"),
    ("list, newest first", "limit=20&order=desc"),
    ("list, completed", "limit=20&order=desc&status=completed"),
    ("list, failed", "limit=20&status=failed"),
    ("list, in progress", "limit=20&status=in%20progress"),
    ("list, created after", "limit=20&created_after=4000000000"),
    ("list, created before", "limit=20&created_before=1000"),
    ("list, of another model", "limit=20&model=other-model"),
];

const PAGES_OF_CONSOLE: [(&str, &str); 4] = [
    ("console, overview", ""),
    ("console, requests", "/requests"),
    ("console, failed requests", "/requests?status=failed"),
    ("console, batches", "/batches"),
];

#[derive(Deserialize)]
struct Identified {
    id: String,
}

#[derive(Deserialize)]
struct Status {
    status: String,
}

impl Growth<'_> {
    /// Leaves the requests that it creates cancelled.
    pub(super) async fn calls(&mut self) -> io::Result<()> {
        let service = self.start().await?;
        self.reads(&service).await?;
        self.console(&service).await?;
        self.creates(&service).await?;
        self.batch(&service, BATCH).await?;
        if self.options.requests >= LARGE_FROM {
            self.batch(&service, LARGE_BATCH).await?;
        }
        service.process.kill().await
    }

    /// What a start costs, and the service without a call.
    async fn start(&mut self) -> io::Result<Service> {
        let database = self.database_time()?;
        let service = self.site.serve().await?;
        let used = self.cpu_time(&service)?.saturating_sub(database);
        self.table.note("start", 1, used);
        self.wait_until_idle(&service).await?;
        let before = self.cpu_time(&service)?;
        clock::sleep_ms(IDLE_MS).await;
        let used = self.cpu_time(&service)?.saturating_sub(before);
        self.table.note("five seconds without calls", 1, used);
        Ok(service)
    }

    /// After it was filled, the database copies its log and does other upkeep, which would be counted with the calls.
    async fn wait_until_idle(&self, service: &Service) -> io::Result<()> {
        let began_at = clock::now();
        let mut before = self.cpu_time(service)?;
        while began_at.elapsed() < UPKEEP_MAX {
            clock::sleep_ms(1_000).await;
            let now = self.cpu_time(service)?;
            if now.saturating_sub(before) <= IDLE {
                return Ok(());
            }
            before = now;
        }
        Ok(())
    }

    async fn reads(&mut self, service: &Service) -> io::Result<()> {
        let mut connection = connect(service).await?;
        let sample = std::mem::take(&mut self.sample);
        let get = async |number: usize| {
            // A stride over all ages.
            let id = &sample[number * 7_919 % sample.len()];
            connection.get(&format!("/v1/requests/{id}")).await.map(drop)
        };
        self.cost_of("get", GETS, service, get).await?;
        self.sample = sample;
        for (name, query) in LISTS {
            let path = format!("/v1/requests?{query}");
            let list = async |_| connection.get(&path).await.map(drop);
            self.cost_of(name, PAGES, service, list).await?;
        }
        self.cost_of("account", GETS, service, async |_| connection.get("/v1/account").await.map(drop)).await
    }

    async fn console(&mut self, service: &Service) -> io::Result<()> {
        let mut browser = Browser::sign_in(&self.site, service).await?;
        for (name, path) in PAGES_OF_CONSOLE {
            self.cost_of(name, PAGES, service, async |_| browser.open(path).await).await?;
        }
        Ok(())
    }

    async fn creates(&mut self, service: &Service) -> io::Result<()> {
        let create = async |_| {
            load::create(service.address, &service.key, CREATE_CONNECTIONS, CREATES).await.map(drop)
        };
        self.cost_of("3,000 creates", 1, service, create).await?;
        let created = self.options.rounds * CREATES;
        self.stored += created;
        let mut connection = connect(service).await?;
        let path = "/v1/requests?limit=20&status=registered";
        self.cost_of("list, registered", PAGES, service, async |_| connection.get(path).await.map(drop))
            .await?;
        let live = connection.get(&format!("/v1/requests?limit={created}&status=registered")).await?;
        let live = live.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let live: Vec<Identified> = live.map(serde_json::from_slice).collect::<Result<_, _>>()?;
        let mut rest = live.iter();
        let cancel = async |_| {
            let id = &rest.next().ok_or_else(|| io::Error::other("requests are missing"))?.id;
            connection.post(&format!("/v1/requests/{id}/cancel"), Bytes::new()).await.map(drop)
        };
        self.cost_of("cancel", live.len() / self.options.rounds, service, cancel).await
    }

    /// Creates requests by one call, groups them, and cancels them.
    async fn batch(&mut self, service: &Service, count: usize) -> io::Result<()> {
        let before = self.cpu_time(service)?;
        let (_, ids) = bulk::create_in_bulk(service.address, &service.key, count).await?;
        let used = self.cpu_time(service)?.saturating_sub(before);
        self.table.note(format!("bulk create of {count}, a request"), count, used);
        self.stored += count;
        let mut connection = connect(service).await?;
        let body = Bytes::from(serde_json::json!({"requests_ids": ids}).to_string());
        let before = self.cpu_time(service)?;
        let batch: Identified = serde_json::from_slice(&connection.post("/v1/batches", body).await?)?;
        let used = self.cpu_time(service)?.saturating_sub(before);
        self.table.note(format!("batch of {count}, a request"), count, used);
        let path = format!("/v1/batches/{}", batch.id);
        let before = self.cpu_time(service)?;
        connection.post(&format!("{path}/cancel"), Bytes::new()).await?;
        loop {
            let status: Status = serde_json::from_slice(&connection.get(&format!("{path}/status")).await?)?;
            if status.status == "cancelled" {
                break;
            }
            clock::sleep_ms(POLL_MS).await;
        }
        let used = self.cpu_time(service)?.saturating_sub(before);
        self.table.note(format!("cancel of a batch of {count}, a request"), count, used);
        Ok(())
    }
}
