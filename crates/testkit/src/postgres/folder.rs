//! The folder of a cluster, and who clears it away when nobody else can.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::account::Account;

/// The port is a part of the name of the socket; where the server listens on no network it is nothing else.
pub(super) const PORT: u16 = 5432;
/// The longest path of a socket that Linux takes.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Waits for the end of its input, which comes when we close it and also when we are killed. Then it shuts the server
/// down, waits until it is gone (the server takes five seconds at most), and removes the folder.
const KEEPER: &str = r#"
read -r _
server=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$server"
for _ in $(seq 100); do
    [ -e "$1/data/postmaster.pid" ] || break
    sleep 0.1
done
rm -rf "$1"
"#;

/// A folder that goes when this is dropped, and when our process ends in whatever way; a server that still runs in it
/// goes first.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    port: u16,
    keeper: Child,
}

impl Folder {
    /// Makes a folder in `parent` that belongs to the account, if there is one, for a server of this port.
    pub(super) fn create(parent: &Path, account: Option<Account>, port: u16) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("overnight-pg-").tempdir_in(parent.canonicalize()?)?;
        if socket_in(folder.path(), port).as_os_str().len() > SOCKET_PATH_BYTES_MAX {
            let message =
                format!("{} is too long a path for a socket; choose a shorter one.", parent.display());
            return Err(io::Error::other(message));
        }
        if let Some(account) = account {
            account.take_over(folder.path())?;
        }
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(folder.path())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C, and a kill of the whole group of a test, must not reach it.
            .process_group(0)
            .spawn()?;
        Ok(Self { path: folder.keep(), port, keeper })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// Where the server listens.
    pub(super) fn socket(&self) -> PathBuf {
        socket_in(&self.path, self.port)
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

fn socket_in(folder: &Path, port: u16) -> PathBuf {
    folder.join(format!(".s.PGSQL.{port}"))
}
