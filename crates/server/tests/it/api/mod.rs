//! The API over a real socket.

mod requests;
