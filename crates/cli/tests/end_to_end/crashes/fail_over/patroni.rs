//! PostgreSQL under Patroni with etcd on each machine, synchronous replication, and HAProxy in front.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::machines::Machines;
use crate::crashes::process::{get, pause};

pub(super) struct Patroni {
    machines: Machines,
    folder: TempDir,
    proxy: Child,
    port: u16,
}

impl Patroni {
    /// Boots all machines, and HAProxy on this one.
    pub(super) fn start(machines: Machines) -> Self {
        let folder = tempfile::Builder::new().prefix("fail-over-").tempdir_in(memory()).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = folder.path().join("haproxy.cfg");
        fs::write(&settings, proxy_settings(&machines, port)).unwrap();
        let mut proxy = Command::new("haproxy");
        proxy.arg("-db").arg("-f").arg(settings).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Self { machines, folder, proxy: proxy.spawn().unwrap(), port };
        for machine in 0..started.machines.count() {
            started.prepare(machine);
            started.boot(machine);
        }
        started
    }

    pub(super) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    fn folder_of(&self, machine: usize) -> PathBuf {
        self.folder.path().join(machine.to_string())
    }

    fn prepare(&self, machine: usize) {
        let folder = self.folder_of(machine);
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(folder.join("patroni.yml"), patroni_settings(&self.machines, machine, &folder)).unwrap();
        let owner = Command::new("id").args(["-u", "postgres"]).output().unwrap().stdout;
        let owner = String::from_utf8(owner).unwrap().trim().parse().unwrap();
        chown(folder.join("patroni.yml"), Some(owner), None).unwrap();
        chown(folder, Some(owner), None).unwrap();
    }

    /// Starts etcd and Patroni on a machine; Patroni starts PostgreSQL.
    fn boot(&self, machine: usize) {
        let (folder, address) = (self.folder_of(machine), self.machines.address(machine));
        let url = |port: u16| format!("http://{address}:{port}");
        let members: Vec<_> = (0..self.machines.count())
            .map(|it| format!("n{it}=http://{}:2380", self.machines.address(it)))
            .collect();
        let mut etcd = self.machines.command(machine, "etcd");
        etcd.args(["--name", &format!("n{machine}"), "--initial-cluster", &members.join(",")])
            .arg("--data-dir")
            .arg(folder.join("etcd"));
        etcd.args(["--listen-peer-urls", &url(2380), "--initial-advertise-peer-urls", &url(2380)]);
        etcd.args(["--listen-client-urls", &url(2379), "--advertise-client-urls", &url(2379)]);
        let mut patroni = self.machines.command(machine, "patroni");
        patroni.arg(folder.join("patroni.yml"));
        for command in [&mut etcd, &mut patroni] {
            let mut child =
                command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            // It ends with its machine.
            std::thread::spawn(move || child.wait());
        }
    }

    pub(super) fn fail(&self, machine: usize, is_cut: bool) {
        if is_cut {
            self.machines.connect(machine, false);
        } else {
            self.machines.kill(machine);
        }
    }

    pub(super) fn mend(&self, machine: usize, is_cut: bool) {
        if is_cut {
            self.machines.connect(machine, true);
        } else {
            self.boot(machine);
        }
    }

    async fn says(&self, machine: usize, path: &str) -> String {
        let address = format!("{}:8008", self.machines.address(machine));
        let asked = tokio::time::timeout(Duration::from_secs(1), get(&address, path)).await;
        asked.ok().and_then(Result::ok).unwrap_or_default()
    }

    pub(super) async fn leader(&self) -> Option<usize> {
        for machine in 0..self.machines.count() {
            if self.says(machine, "/primary").await.contains(" 200 ") {
                return Some(machine);
            }
        }
        None
    }

    pub(super) async fn another_leads(&self, machine: usize, patience: Duration) {
        let leads = async {
            while self.leader().await.is_none_or(|leader| leader == machine) {
                pause(100).await;
            }
        };
        tokio::time::timeout(patience, leads).await.expect("another leader");
    }

    /// Waits until one machine leads and all others follow it, one of them synchronously.
    pub(super) async fn settled(&self, patience: Duration) {
        let settled = async {
            while !self.is_settled().await {
                pause(200).await;
            }
        };
        tokio::time::timeout(patience, settled).await.expect("a leader with standbys");
    }

    async fn is_settled(&self) -> bool {
        let Some(leader) = self.leader().await else { return false };
        let cluster = self.says(leader, "/cluster").await;
        let running = cluster.matches(r#""state": "running""#).count()
            + cluster.matches(r#""state": "streaming""#).count();
        cluster.contains("sync_standby") && running == self.machines.count()
    }
}

impl Drop for Patroni {
    fn drop(&mut self) {
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

/// A folder in memory if the system has one.
fn memory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

fn programs_of_postgresql() -> String {
    let found =
        Command::new("sh").args(["-c", "ls -d /usr/lib/postgresql/*/bin | tail -n 1"]).output().unwrap();
    String::from_utf8(found.stdout).unwrap().trim().to_owned()
}

fn patroni_settings(machines: &Machines, machine: usize, folder: &Path) -> String {
    let (address, programs, folder) = (machines.address(machine), programs_of_postgresql(), folder.display());
    let hosts: Vec<_> =
        (0..machines.count()).map(|it| format!("\"{}:2379\"", machines.address(it))).collect();
    format!(
        r#"scope: overnight
name: n{machine}
restapi: {{listen: "0.0.0.0:8008", connect_address: "{address}:8008"}}
etcd3: {{hosts: [{}]}}
bootstrap:
  dcs:
    ttl: 6
    loop_wait: 1
    retry_timeout: 2
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters: {{max_connections: 200, wal_log_hints: "on", wal_keep_size: 1GB}}
  initdb: [{{encoding: UTF8}}]
  pg_hba: ["local all all trust", "host all all 0.0.0.0/0 trust", "host replication all 0.0.0.0/0 trust"]
postgresql:
  listen: "0.0.0.0:5432"
  connect_address: "{address}:5432"
  data_dir: {folder}/data
  bin_dir: {programs}
  pgpass: {folder}/pgpass
  authentication: {{superuser: {{username: postgres}}, replication: {{username: replicator}}}}
  parameters: {{unix_socket_directories: {folder}, dynamic_shared_memory_type: mmap}}
"#,
        hosts.join(", ")
    )
}

fn proxy_settings(machines: &Machines, port: u16) -> String {
    let mut settings = format!(
        "defaults\n    mode tcp\n    timeout connect 2s\n    timeout client 1h\n    timeout server 1h\n\
         listen leader\n    bind 127.0.0.1:{port}\n    option httpchk GET /primary\n    \
         default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions\n"
    );
    for machine in 0..machines.count() {
        settings += &format!("    server n{machine} {}:5432 check port 8008\n", machines.address(machine));
    }
    settings
}
