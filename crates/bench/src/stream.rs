//! All requests with their results as JSON Lines, read as fast as one client can, compared with a file of the same bytes.

use std::io;
use std::path::PathBuf;

use bytes::Bytes;
use serde::Deserialize;

use super::child::Process;
use super::download::Connection;
use super::peers::{Peer, Stage};
use super::report::{Figure, Report};
use super::service::Site;
use super::{Options, clock};

const MEBIBYTE: f64 = 1_048_576.0;
const LIST: &str = "/v1/requests?full=true";
const STATUSES: &str = "/v1/requests";

/// The default maximum of requests in one batch.
const BATCH_MAX: usize = 100_000;

#[derive(Default)]
struct Side {
    megabytes_per_second: Vec<f64>,
    cpu_ms_per_megabyte: Vec<f64>,
    peak_mib: Vec<f64>,
}

pub(super) async fn run(options: &Options) -> io::Result<Report> {
    let engine = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
    let site = Site::new(options, engine, "0s")?;
    site.fill(options.requests, Stage::Completed, None).await?;
    let service = site.serve().await?;
    let mut ours = Connection::open(service.address, &service.key).await?;
    let file_path = site.path("stream");
    let bytes = save(&mut ours, &file_path).await?;
    let (file, file_address) = Process::start_server(&Peer::File { path: file_path }).await?;
    let mut theirs = Connection::open(file_address, "").await?;
    let batch = group(&mut ours, options.requests.min(BATCH_MAX)).await?;
    let results = format!("/v1/batches/{batch}/results");
    let mut sides: [Side; 4] = Default::default();
    let start = service.process.memory()?;
    for _ in 0..options.rounds {
        sides[0].round(&file, &mut theirs, "/file").await?;
        sides[1].round(&service.process, &mut ours, LIST).await?;
        sides[2].round(&service.process, &mut ours, &results).await?;
        sides[3].round(&service.process, &mut ours, STATUSES).await?;
    }
    let end = service.process.memory()?;
    Ok(Report {
        benchmark: format!(
            "stream: {} completed requests ({:.0} MB) in each of {} rounds",
            options.requests,
            bytes as f64 / 1e6,
            options.rounds
        ),
        figures: [
            figures(&sides),
            vec![
                Figure::new("memory at the start, anonymous", "MiB", vec![start.anonymous as f64 / MEBIBYTE]),
                Figure::new("memory at the end, anonymous", "MiB", vec![end.anonymous as f64 / MEBIBYTE]),
            ],
        ]
        .concat(),
    })
}

fn figures(sides: &[Side; 4]) -> Vec<Figure> {
    let [file, list, results, statuses] = sides;
    let rate = |side: &Side, who: &str| Figure::new(who, "MB/s", side.megabytes_per_second.clone());
    let cpu = |side: &Side, who: &str| {
        Figure::new(format!("{who}: CPU of the server"), "ms/MB", side.cpu_ms_per_megabyte.clone())
    };
    let peak = |side: &Side, who: &str| {
        let name = format!("{who}: most memory above the round's start");
        Figure::new(name, "MiB", side.peak_mib.clone()).with_goal("< 64")
    };
    let (file_rate, list_rate, results_rate) =
        (rate(file, "file"), rate(list, "list of requests, full"), rate(results, "results of a batch"));
    let list_ratio = list_rate.ratio(&file_rate, "list / file").with_goal(">= 0.45");
    let results_ratio = results_rate.ratio(&file_rate, "results of a batch / file").with_goal(">= 0.45");
    let (file_cpu, list_cpu) = (cpu(file, "file"), cpu(list, "list of requests, full"));
    let cpu_ratio = list_cpu.ratio(&file_cpu, "CPU of the server, list / file");
    vec![
        file_rate,
        list_rate,
        list_ratio,
        results_rate,
        results_ratio,
        file_cpu,
        list_cpu,
        cpu_ratio,
        rate(statuses, "list of requests, statuses only"),
        peak(list, "list of requests, full"),
        peak(results, "results of a batch"),
    ]
}

impl Side {
    async fn round(&mut self, process: &Process, connection: &mut Connection, path: &str) -> io::Result<()> {
        process.forget_peak()?;
        let (resident, cpu) = (process.memory()?.resident, process.cpu_time()?);
        let began_at = clock::now();
        let megabytes = connection.drain(path).await? as f64 / 1e6;
        self.megabytes_per_second.push(megabytes / began_at.elapsed().as_secs_f64());
        let cpu_time = process.cpu_time()?.saturating_sub(cpu);
        self.cpu_ms_per_megabyte.push(cpu_time.as_secs_f64() * 1e3 / megabytes);
        self.peak_mib.push(process.memory()?.peak.saturating_sub(resident) as f64 / MEBIBYTE);
        Ok(())
    }
}

async fn save(connection: &mut Connection, path: &PathBuf) -> io::Result<u64> {
    let mut file = tokio::fs::File::create(path).await?;
    let bytes = connection.copy(LIST, &mut file).await?;
    file.sync_all().await?;
    Ok(bytes)
}

#[derive(Deserialize)]
struct Identified {
    id: String,
}

/// Groups the first `count` requests; returns the batch's identifier.
async fn group(connection: &mut Connection, count: usize) -> io::Result<String> {
    let lines = connection.get(&format!("{STATUSES}?limit={count}")).await?;
    let mut ids = Vec::with_capacity(count);
    for line in serde_json::Deserializer::from_slice(&lines).into_iter::<Identified>() {
        ids.push(line?.id);
    }
    let body = serde_json::to_vec(&serde_json::json!({ "requests_ids": ids }))?;
    let answer = connection.post("/v1/batches", Bytes::from(body)).await?;
    Ok(serde_json::from_slice::<Identified>(&answer)?.id)
}
