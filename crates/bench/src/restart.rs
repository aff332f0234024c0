//! A restart after a power cut: from the start of the process until it accepts work, with all requests queued.

use std::io;
use std::net::SocketAddr;

use super::Options;
use super::peers::Stage;
use super::report::{Figure, Report};
use super::service::Site;

const MEBIBYTE: f64 = 1_048_576.0;

pub(super) async fn run(options: &Options) -> io::Result<Report> {
    let engine = SocketAddr::from(([127, 0, 0, 1], 1));
    let site = Site::new(options, engine, "0s")?;
    site.fill(options.requests, Stage::Queued, None).await?;
    let disk = site.database_bytes()? as f64 / options.requests as f64;
    let (mut seconds, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        let service = site.serve().await?;
        seconds.push(service.ready_after.as_secs_f64());
        memory.push(service.process.memory()?.anonymous as f64 / MEBIBYTE);
        service.process.kill().await?;
    }
    Ok(Report {
        benchmark: format!(
            "restart: {} queued requests, killed and started {} times",
            options.requests, options.rounds
        ),
        figures: vec![
            Figure::new("from the start of the process to readiness", "s", seconds).with_goal("< 5"),
            Figure::new("memory when ready, anonymous", "MiB", memory).with_goal("<= 150"),
            Figure::new("disk of a queued request of 1 KB", "bytes", vec![disk]).with_goal("<= 1600"),
        ],
    })
}
