//! What the service manager that started the service is told: `Type=notify` of systemd, by the protocol of `sd_notify(3)`.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixDatagram;

/// Names the socket at which the manager listens; in the abstract namespace of Linux where it begins with `@`.
const SOCKET: &str = "NOTIFY_SOCKET";

/// The service answers calls.
pub(crate) fn ready() {
    tell("READY=1\nSTATUS=serving");
}

/// The service loads its settings again; [`ready`] says that it has.
pub(crate) fn reloading() {
    tell("RELOADING=1\nSTATUS=loading the settings again");
}

/// The service ends what is under way.
pub(crate) fn stopping() {
    tell("STOPPING=1\nSTATUS=ending what is under way");
}

/// Does nothing where no manager listens.
fn tell(state: &str) {
    let Some(socket) = env::var_os(SOCKET).filter(|socket| !socket.is_empty()) else { return };
    if let Err(error) = send(&socket, state.as_bytes()) {
        tracing::warn!(%error, "telling the service manager failed");
    }
}

fn send(socket: &OsStr, state: &[u8]) -> io::Result<()> {
    let sender = UnixDatagram::unbound()?;
    #[cfg(target_os = "linux")]
    if let Some(name) = socket.as_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt;
        let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        return sender.send_to_addr(state, &address).map(drop);
    }
    sender.send_to(state, socket).map(drop)
}
