//! The reference of creates: axum reads the body and answers.

use std::io;

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use tokio::net::TcpListener;

pub(super) async fn serve(listener: TcpListener) -> io::Result<()> {
    let router = Router::new().route("/v1/requests", post(create));
    super::serve(listener, router).await
}

async fn create(_body: Bytes) -> StatusCode {
    StatusCode::CREATED
}
