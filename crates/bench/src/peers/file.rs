//! The reference of streams: axum sends a file, 64 KiB at a time, as file servers do.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use futures_util::stream;
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

const PIECE_BYTES: usize = 64 << 10;

pub(super) async fn serve(listener: TcpListener, path: PathBuf) -> io::Result<()> {
    let router = Router::new().route("/file", get(send)).with_state(Arc::new(path));
    super::serve(listener, router).await
}

async fn send(State(path): State<Arc<PathBuf>>) -> Result<Body, StatusCode> {
    let file = File::open(path.as_path()).await.map_err(|_| StatusCode::NOT_FOUND)?;
    Ok(Body::from_stream(stream::try_unfold(file, next_piece)))
}

async fn next_piece(mut file: File) -> io::Result<Option<(Bytes, File)>> {
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    let read = file.read_buf(&mut piece).await?;
    Ok((read > 0).then(|| (piece.into(), file)))
}
