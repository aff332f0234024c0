//! PgBouncer in front of a cluster, in transaction mode: a client has a server connection for one transaction at a time.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::USER;
use super::account::Account;
use super::cluster::Cluster;

/// Debian's path, then `PATH`.
const PROGRAMS: [&str; 2] = ["/usr/sbin/pgbouncer", "pgbouncer"];
const POLLS_MAX: u32 = 500;
const POLL: Duration = Duration::from_millis(10);

/// Dropping it stops the pooler.
#[derive(Debug)]
pub struct Pooler {
    process: Child,
    port: u16,
    _folder: TempDir,
}

impl Pooler {
    /// Starts PgBouncer with this number of server connections; `None` if it is not installed. If it does not start, the message contains
    /// its output.
    pub fn start(cluster: &Cluster, servers: u32) -> io::Result<Option<Self>> {
        let folder = tempfile::tempdir()?;
        let account = Account::instead_of_root()?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let [settings, users, log] = ["pgbouncer.ini", "users", "log"].map(|name| folder.path().join(name));
        let servers_at = cluster.socket();
        let servers_at = servers_at.parent().unwrap_or(&servers_at).display();
        let text = format!(
            "[databases]\n* = host={servers_at}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = trust\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = {servers}\nmax_client_conn = 200\n",
            users.display()
        );
        fs::write(&settings, text)?;
        fs::write(&users, format!("\"{USER}\" \"\"\n"))?;
        fs::File::create(&log)?;
        if let Some(account) = account {
            for path in [folder.path(), &settings, &users, &log] {
                account.take_over(path)?;
            }
        }
        let spawn = |program: &&str| {
            let mut command = Command::new(program);
            let said = fs::File::options().append(true).open(&log)?;
            command.arg(&settings).stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
            command.process_group(0);
            if let Some(account) = account {
                account.run(&mut command);
            }
            command.spawn()
        };
        let mut process = match PROGRAMS.iter().map(spawn).find(|outcome| !is_missing(outcome)) {
            Some(outcome) => outcome?,
            None => return Ok(None),
        };
        for _ in 0..POLLS_MAX {
            if process.try_wait()?.is_some() {
                break;
            }
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Ok(Some(Self { process, port, _folder: folder }));
            }
            thread::sleep(POLL);
        }
        let _ = process.kill();
        Err(io::Error::other(format!("PgBouncer does not start:\n{}", fs::read_to_string(&log)?)))
    }

    /// The URL of a database through the pooler, which includes the pooler's mode.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}?statement-cache-capacity=0", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn is_missing(outcome: &io::Result<Child>) -> bool {
    outcome.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}
