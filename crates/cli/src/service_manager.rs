//! Notifies the service manager that started the service: `Type=notify` of systemd, by the protocol of `sd_notify(3)`.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixDatagram;

/// Names the manager's socket; in the abstract namespace of Linux if it begins with `@`.
const SOCKET: &str = "NOTIFY_SOCKET";

pub(crate) fn ready() {
    tell("READY=1\nSTATUS=serving");
}

/// The service reloads its settings; [`ready`] ends this state.
pub(crate) fn reloading() {
    tell("RELOADING=1\nSTATUS=loading the settings again");
}

/// The service finishes current work.
pub(crate) fn stopping() {
    tell("STOPPING=1\nSTATUS=ending what is under way");
}

/// Has no effect without a manager.
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
