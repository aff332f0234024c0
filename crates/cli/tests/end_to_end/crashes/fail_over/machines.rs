//! Machines with their own network: network namespaces on a bridge.

use std::io::Write;
use std::process::{Child, Command, Stdio};

/// Waits for the end of its input, which comes when the test closes it or is killed. Then it kills everything on the machines and removes
/// them.
const KEEPER: &str = r#"
read -r _
for machine in $1; do
    ip netns pids "$machine" | xargs -r kill -9
    ip netns del "$machine"
done
ip link del "$2"
"#;

/// The user of PostgreSQL's package; everything on a machine runs as this user.
const USER: &str = "postgres";

/// Machines that are removed when dropped.
pub(super) struct Machines {
    names: Vec<String>,
    subnet: String,
    keeper: Child,
}

fn ip(line: &str) -> Result<(), String> {
    let ran = Command::new("ip").args(line.split(' ')).output().map_err(|error| format!("ip: {error}"))?;
    let said = String::from_utf8_lossy(&ran.stderr);
    ran.status.success().then_some(()).ok_or_else(|| format!("ip {line}: {}", said.trim()))
}

impl Machines {
    /// Creates idle machines. Fails with the reason if it cannot: it needs root, `ip`, network namespaces, and a user `postgres`.
    pub(super) fn start(count: usize) -> Result<Self, String> {
        for program in ["ip", "setpriv", "etcd", "patroni", "haproxy"] {
            let found = Command::new("which").arg(program).output().is_ok_and(|found| found.status.success());
            found.then_some(()).ok_or_else(|| format!("{program} is not installed"))?;
        }
        let process = std::process::id();
        let (bridge, subnet) = (format!("on{process}"), format!("10.213.{}", process % 250));
        let names: Vec<String> = (1..=count).map(|number| format!("{bridge}-{number}")).collect();
        ip(&format!("link add {bridge} type bridge"))?;
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper", &names.join(" "), &bridge])
            .stdin(Stdio::piped())
            .spawn();
        let machines = Self { names, subnet, keeper: keeper.map_err(|error| error.to_string())? };
        ip(&format!("addr add {}.1/24 dev {bridge}", machines.subnet))?;
        ip(&format!("link set {bridge} up"))?;
        for (number, name) in machines.names.iter().enumerate() {
            let (cable, address) = (machines.cable(number), machines.address(number));
            ip(&format!("netns add {name}"))?;
            ip(&format!("link add {cable} type veth peer name eth0 netns {name}"))?;
            ip(&format!("link set {cable} master {bridge} up"))?;
            ip(&format!("-n {name} addr add {address}/24 dev eth0"))?;
            ip(&format!("-n {name} link set eth0 up"))?;
            ip(&format!("-n {name} link set lo up"))?;
        }
        Ok(machines)
    }

    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    pub(super) fn address(&self, machine: usize) -> String {
        format!("{}.{}", self.subnet, 11 + machine)
    }

    fn cable(&self, machine: usize) -> String {
        // Names of links have at most 15 characters.
        format!("v{}", self.names[machine])
    }

    /// A command that runs on a machine as the user of PostgreSQL.
    pub(super) fn command(&self, machine: usize, program: &str) -> Command {
        let mut command = Command::new("ip");
        let user = [format!("--reuid={USER}"), format!("--regid={USER}")];
        command
            .args(["netns", "exec", &self.names[machine], "setpriv"])
            .args(user)
            .args(["--clear-groups", program]);
        command
    }

    pub(super) fn kill(&self, machine: usize) {
        let line = format!("ip netns pids {} | xargs -r kill -9", self.names[machine]);
        assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
    }

    pub(super) fn connect(&self, machine: usize, is_connected: bool) {
        let state = if is_connected { "up" } else { "down" };
        ip(&format!("link set {} {state}", self.cable(machine))).unwrap();
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        let input = self.keeper.stdin.take();
        let _ = input.map(|mut input| input.write_all(b"\n"));
        let _ = self.keeper.wait();
    }
}
