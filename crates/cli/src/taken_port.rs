//! A service whose port is taken: reports the holder and a free port.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use overnight_server::service::ServiceError;

use crate::errors::CliError;
use crate::neighbours::running_beside;
use crate::serve_file::reached_here;

/// Ports after the taken one that are tried.
const PORTS_TRIED: u16 = 100;

/// Explains why the service over `data_dir` could not start at `listen`.
pub(crate) fn explain(error: ServiceError, data_dir: &Path, listen: SocketAddr) -> CliError {
    let ServiceError::Listen { address, source } = &error else { return error.into() };
    if source.kind() != ErrorKind::AddrInUse {
        return error.into();
    }
    let holder =
        running_beside(data_dir).into_iter().find(|service| service.address == reached_here(*address));
    let by = holder.map_or_else(
        || "another program".to_owned(),
        |service| format!("the service of the data folder {}", service.data_dir.display()),
    );
    let hint = match *address == listen {
        true => format!(
            "`overnight serve --listen {}` chooses another port, as `listen` in the settings does",
            free(listen)
        ),
        false => "choose another `metrics_listen` in the settings".to_owned(),
    };
    CliError::unusable(format!("{address} is taken by {by}")).with_hint(hint)
}

/// An address of the same interface with a free port.
fn free(taken: SocketAddr) -> SocketAddr {
    let ports = (1..=PORTS_TRIED).filter_map(|by| taken.port().checked_add(by));
    let mut addresses = ports.map(|port| SocketAddr::new(taken.ip(), port));
    // With port 0 the system chooses.
    let any = SocketAddr::new(taken.ip(), 0);
    addresses.find(|address| TcpListener::bind(address).is_ok()).unwrap_or(any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_port_is_named_that_is_free() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let source = TcpListener::bind(address).unwrap_err();
        let error = explain(ServiceError::Listen { address, source }, Path::new("data"), address);
        assert_eq!(error.message(), format!("{address} is taken by another program"));
        let hint = error.hint().unwrap();
        assert!(hint.contains("--listen 127.0.0.1:") && !hint.contains(&address.to_string()), "{hint}");
        assert_eq!(free("127.0.0.1:65535".parse().unwrap()).port(), 0);
    }
}
