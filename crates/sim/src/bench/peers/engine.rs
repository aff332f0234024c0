//! An engine that takes no time and remembers nothing.

use std::io;

use tokio::net::TcpListener;

use crate::engine::{self, Recording, SimConfig};

pub(super) async fn serve(listener: TcpListener) -> io::Result<()> {
    engine::serve(SimConfig { recording: Recording::Off, ..SimConfig::default() }, listener).await
}
