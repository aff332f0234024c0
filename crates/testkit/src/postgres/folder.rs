//! The folder of a cluster, and the keeper that removes it if this process cannot.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::account::Account;

/// A part of the socket's name, even if the server listens on no network.
pub(super) const PORT: u16 = 5432;
/// Linux's limit for the path of a socket.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Waits for the end of its input, which follows when we close it or are killed. Then it shuts the server down, waits until it has ended
/// (five seconds at most), and removes the folder.
const KEEPER: &str = r#"
read -r _
server=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$server"
for _ in $(seq 100); do
    [ -e "$1/data/postmaster.pid" ] || break
    sleep 0.1
done
rm -rf "$1"
"#;

/// A folder that is removed when this is dropped or our process ends in any way. A server that still runs in it is stopped first.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    port: u16,
    keeper: Child,
}

impl Folder {
    /// Creates a folder in `parent` that belongs to the account, if there is one, for a server with this port.
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
            // Ctrl-C, and a kill of the test's whole process group, must not reach it.
            .process_group(0)
            .spawn()?;
        Ok(Self { path: folder.keep(), port, keeper })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

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
