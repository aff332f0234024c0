//! Bulk create over one connection, compared with single creates over many.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::create::{AGGREGATION_PERIOD, NO_ENGINE, WARM_UP};
use super::report::{Figure, Report};
use super::service::Site;
use super::workload::CreateBody;
use super::{Options, clock, load};

const LINES_PER_CHUNK: usize = 32;

/// The answer to a line that made a request.
#[derive(Deserialize)]
struct Created {
    id: String,
}

/// The end of a chunked answer.
const END: &[u8] = b"\r\n0\r\n\r\n";

#[derive(Default)]
struct Side {
    cpu_us: Vec<f64>,
    per_second: Vec<f64>,
}

pub(super) async fn run(options: &Options) -> io::Result<Report> {
    let site = Site::new(options, NO_ENGINE, AGGREGATION_PERIOD)?;
    let service = site.serve().await?;
    let (mut bulk, mut single) = (Side::default(), Side::default());
    load::create(service.address, &service.key, options.connections, WARM_UP).await?;
    create_in_bulk(service.address, &service.key, WARM_UP).await?;
    for _ in 0..options.rounds {
        let before = service.process.cpu_time()?;
        let took = load::create(service.address, &service.key, options.connections, options.requests).await?;
        single.note(options, took, service.process.cpu_time()?.saturating_sub(before));
        let before = service.process.cpu_time()?;
        let (took, _) = create_in_bulk(service.address, &service.key, options.requests).await?;
        bulk.note(options, took, service.process.cpu_time()?.saturating_sub(before));
    }
    let connections = options.connections;
    let single_names = format!("single creates, {connections} connections");
    let (single_cpu, single_rate) = single.figures(&single_names);
    let (bulk_cpu, bulk_rate) = bulk.figures("bulk create, 1 connection");
    let cpu = bulk_cpu.ratio(&single_cpu, "server CPU, bulk / single");
    let rate = bulk_rate.ratio(&single_rate, "requests a second, bulk / single").with_goal(">= 4");
    Ok(Report {
        benchmark: format!(
            "bulk: {} durable creates of 1,024 bytes in each of {} rounds",
            options.requests, options.rounds
        ),
        figures: vec![single_cpu, bulk_cpu, cpu, single_rate, bulk_rate, rate],
    })
}

impl Side {
    fn note(&mut self, options: &Options, took: Duration, cpu_time: Duration) {
        let requests = options.requests as f64;
        self.cpu_us.push(cpu_time.as_secs_f64() * 1e6 / requests);
        self.per_second.push(requests / took.as_secs_f64());
    }

    fn figures(self, name: &str) -> (Figure, Figure) {
        let cpu = Figure::new(format!("{name}: server CPU a request"), "us", self.cpu_us);
        (cpu, Figure::new(format!("{name}: requests a second"), "/s", self.per_second))
    }
}

/// Sends `count` creates as the lines of one call; returns the duration, and the identifiers of the requests.
pub(super) async fn create_in_bulk(
    address: SocketAddr,
    key: &str,
    count: usize,
) -> io::Result<(Duration, Vec<String>)> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    // Kept open to the end: a server takes a half-closed connection for a client that has left.
    let (answer, mut call) = stream.into_split();
    let began_at = clock::now();
    let (sent, created) = tokio::join!(send(&mut call, key, count), read(answer));
    sent?;
    let created = created?;
    let took = began_at.elapsed();
    let lines = created.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    let created: Vec<String> = lines.map(|Created { id }| id).collect();
    if created.len() != count {
        return Err(io::Error::other(format!("of {count} lines {} made a request", created.len())));
    }
    Ok((took, created))
}

async fn send(call: &mut (impl AsyncWrite + Unpin), key: &str, count: usize) -> io::Result<()> {
    let head = format!(
        "POST /v1/requests HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n\
         Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    call.write_all(head.as_bytes()).await?;
    let mut body = CreateBody::new();
    for first in (0..count).step_by(LINES_PER_CHUNK) {
        let mut lines = Vec::new();
        for number in first..count.min(first + LINES_PER_CHUNK) {
            lines.extend_from_slice(body.numbered(number));
            lines.push(b'\n');
        }
        let chunk = [format!("{:x}\r\n", lines.len()).as_bytes(), &lines, b"\r\n"].concat();
        call.write_all(&chunk).await?;
    }
    call.write_all(b"0\r\n\r\n").await
}

/// Reads the answer to its end; returns its lines.
async fn read(mut answer: impl AsyncRead + Unpin) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    while !text.ends_with(END) {
        if answer.read_buf(&mut text).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    // A line of the answer may be split between two chunks, with a chunk header in between.
    let mut lines = Vec::with_capacity(text.len());
    let body = text.windows(4).position(|window| window == b"\r\n\r\n").map_or(0, |head| head + 4);
    let mut rest = text.get(body..).unwrap_or_default();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let size =
            std::str::from_utf8(&rest[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.ok_or_else(|| io::Error::other("a chunk without a size"))?;
        lines.extend_from_slice(rest.get(end + 2..end + 2 + size).unwrap_or_default());
        rest = rest.get(end + 4 + size..).unwrap_or_default();
    }
    Ok(lines)
}
