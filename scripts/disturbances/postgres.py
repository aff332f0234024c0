"""A PostgreSQL server of one's own, which ends with this process, however that ends."""
import contextlib
import glob
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile
import time

# Ends the server and removes its folder at a line of input, or at the end of the input, which a kill of this process brings about.
KEEPER = """
read -r _
server=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$server"
for _ in $(seq 100); do
    [ -e "$1/data/postmaster.pid" ] || break
    sleep 0.1
done
rm -rf "$1"
"""


def binaries():
    """The folder of PostgreSQL's programs: on PATH, or the newest that Debian has installed."""
    on_path = shutil.which("initdb")
    if on_path and shutil.which("postgres"):
        return pathlib.Path(on_path).parent
    installed = glob.glob("/usr/lib/postgresql/*/bin/postgres")
    if not installed:
        raise SystemExit("PostgreSQL is not installed. `./scripts/test` installs it, and so does Debian's package `postgresql`.")
    return pathlib.Path(max(installed, key=lambda path: int(path.split("/")[4]))).parent


def account():
    """Which user runs it: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}, (os.geteuid(), os.getegid())
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}, (user.pw_uid, user.pw_gid)
    raise SystemExit("PostgreSQL does not run as root, and there is no user postgres or nobody.")


@contextlib.contextmanager
def temporary(is_durable):
    """A server with an empty database, reached over a socket in its folder; the URL of the database."""
    programs, (run_as, owner) = binaries(), account()
    folder = tempfile.mkdtemp(prefix="disturb-pg-")
    os.chown(folder, *owner)
    keeper = subprocess.Popen(["sh", "-c", KEEPER, "keeper", folder], cwd="/", stdin=subprocess.PIPE, start_new_session=True)
    try:
        data, log = f"{folder}/data", open(f"{folder}/log", "wb")
        common = {"cwd": folder, "stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, **run_as}
        init = [programs / "initdb", "-D", data, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        subprocess.run(init, check=True, **common)
        settings = ["listen_addresses=", "port=5432", "max_connections=100"]
        settings += [] if is_durable else ["fsync=off", "full_page_writes=off"]
        options = [part for setting in settings for part in ("-c", setting)]
        server = subprocess.Popen([programs / "postgres", "-D", data, "-k", folder, *options], start_new_session=True, **common)
        wait_for_start(server, pathlib.Path(data))
        yield f"postgres://postgres@localhost:5432/postgres?host={folder}"
    finally:
        # Processes that were forked meanwhile hold the input open too.
        keeper.communicate(b"\n")


def wait_for_start(server, data):
    """Waits until the server takes sessions, which the last line of its file says."""
    for _ in range(600):
        with contextlib.suppress(FileNotFoundError):
            if "ready" in (data / "postmaster.pid").read_text():
                return
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit(f"PostgreSQL did not start:\n{(data.parent / 'log').read_text()[-2000:]}")
