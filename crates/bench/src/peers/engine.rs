//! An engine that takes no time and remembers no request.

use std::io;

use overnight_testkit::engine::{self, Recording, SimConfig};
use tokio::net::TcpListener;

pub(super) async fn serve(listener: TcpListener) -> io::Result<()> {
    engine::serve(SimConfig { recording: Recording::Off, ..SimConfig::default() }, listener).await
}
