//! The cost of calls as the store grows: the CPU of the service and of its database, at several sizes of one store.
//!
//! The store has one account, whose requests are completed. A call may cost at most 1.5 times as much as at the smallest size,
//! unless it reads every request.

mod browser;
mod calls;
mod table;
mod work;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use overnight_testkit::postgres::{Cluster, ClusterOptions, Durability};

use self::table::Table;
pub use self::table::{GrowthReport, Row};
use super::child::Process;
use super::create::{AGGREGATION_PERIOD, NO_ENGINE};
use super::download::Connection;
use super::peers::Peer;
use super::service::{Service, Site};
use super::workload::MODEL;
use super::{Options, postgres};

/// Large batches are measured if the largest store has so many requests.
const LARGE_FROM: usize = 1_000_000;

const SMALLEST: usize = 10_000;
const STEP: usize = 10;

/// Of the largest store: there are two sizes to compare.
pub const GROWTH_REQUESTS_MIN: usize = SMALLEST * STEP;

/// The age of the requests that fill the store: more than `retention` may be.
const AGE_MS: i64 = 3 * 86_400_000;

const DATABASE: &str = "growth";

/// Measures with 10,000 requests, ten times as many, and so on, with at most `options.requests`, on SQLite or on a new PostgreSQL. Fails if
/// a child process does not start or ends early, or if the measurement of a size creates more than the next size.
pub fn run(options: &Options, is_on_postgres: bool) -> LocalBoxFuture<'_, io::Result<GrowthReport>> {
    // Boxed, so that it is compiled here and not as a part of the program.
    Box::pin(measure(options, is_on_postgres))
}

async fn measure(options: &Options, is_on_postgres: bool) -> io::Result<GrowthReport> {
    let on_disk = ClusterOptions {
        durability: Durability::Disk,
        folder: options.folder.clone(),
        ..ClusterOptions::default()
    };
    let cluster = if is_on_postgres { Some(Cluster::start(&on_disk)?) } else { None };
    let database_url =
        cluster.as_ref().map_or(Ok("sqlite".to_owned()), |cluster| cluster.database(DATABASE))?;
    let (_engine, engine) = Process::start_server(&Peer::Engine).await?;
    let site = Site::configured(&options.folder, "")?;
    let (table, sample) = (Table::default(), Vec::new());
    let mut growth = Growth { options, cluster, database_url, engine, site, table, stored: 0, sample };
    for size in sizes(options.requests) {
        growth.fill(size).await?;
        growth.calls().await?;
        growth.dispatch().await?;
        growth.audit().await?;
        growth.retention().await?;
    }
    let database = if is_on_postgres { "PostgreSQL" } else { "SQLite" };
    Ok(growth.table.report(format!("growth: calls on {database}, CPU of the service and of the database")))
}

/// Without the second one if large batches are measured, which fill more than that.
fn sizes(largest: usize) -> impl Iterator<Item = usize> {
    let growing = std::iter::successors(Some(SMALLEST), |size| size.checked_mul(STEP));
    let sizes = growing.take_while(move |size| *size <= largest);
    sizes.filter(move |size| largest < LARGE_FROM || *size != GROWTH_REQUESTS_MIN)
}

struct Growth<'a> {
    options: &'a Options,
    /// PostgreSQL's server, if it is measured.
    cluster: Option<Cluster>,
    database_url: String,
    /// An engine that takes no time.
    engine: SocketAddr,
    site: Site,
    table: Table,
    /// Requests in the store.
    stored: usize,
    /// Identifiers of some completed requests.
    sample: Vec<String>,
}

impl Growth<'_> {
    /// Fills the store up to `size` completed requests.
    async fn fill(&mut self, size: usize) -> io::Result<()> {
        self.configure(NO_ENGINE, AGGREGATION_PERIOD, "")?;
        let missing = size.checked_sub(self.stored).filter(|missing| *missing > 0);
        let missing =
            missing.ok_or_else(|| io::Error::other("so many rounds create more than the next size"))?;
        self.sample = self.site.fill_old(missing, AGE_MS).await?;
        self.stored += missing;
        self.table.begin(size);
        if let Some(cluster) = &self.cluster {
            // As autovacuum would, at some time during the measurement.
            cluster.execute(DATABASE, "VACUUM ANALYZE")?;
            cluster.execute(DATABASE, "CHECKPOINT")?;
        }
        Ok(())
    }

    fn configure(&self, engine: SocketAddr, aggregation_period: &str, more: &str) -> io::Result<()> {
        self.site.configure(&format!(
            "aggregation_period = \"{aggregation_period}\"\ndatabase_url = {:?}\n{more}\
             models = [{{ name = \"{MODEL}\" }}, {{ name = \"other-model\" }}]\n\
             [[engines]]\nname = \"bench\"\nkind = \"openai\"\nbase_url = \"http://{engine}/v1\"\nmax_concurrency = 256\n\
             [quotas]\nlive_requests = {}\nstored_bytes = \"1024 GiB\"\n",
            self.database_url,
            u32::MAX
        ))
    }

    /// The CPU time of the service and of the database's server.
    fn cpu_time(&self, service: &Service) -> io::Result<Duration> {
        Ok(service.process.cpu_time()? + self.database_time()?)
    }

    /// The CPU time of the database's server; 0 on SQLite.
    fn database_time(&self) -> io::Result<Duration> {
        self.cluster.as_ref().map_or(Ok(Duration::ZERO), postgres::cpu_time)
    }

    /// Notes what each of `calls` calls costs: the median of the rounds.
    async fn cost_of(
        &mut self,
        name: impl Into<String>,
        calls: usize,
        service: &Service,
        mut call: impl AsyncFnMut(usize) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut rounds = Vec::with_capacity(self.options.rounds);
        for _ in 0..self.options.rounds {
            let before = self.cpu_time(service)?;
            for number in 0..calls {
                call(number).await?;
            }
            rounds.push(self.cpu_time(service)?.saturating_sub(before));
        }
        rounds.sort();
        let median = rounds.get(rounds.len() / 2).copied().unwrap_or_default();
        self.table.note(name, calls, median);
        Ok(())
    }
}

/// A connection to the service with the key of its account.
async fn connect(service: &Service) -> io::Result<Connection> {
    Connection::open(service.address, &service.key).await
}
