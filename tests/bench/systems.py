"""The file systems that are compared: how each is mounted, and where its server keeps what it shows."""
import contextlib
import getpass
import json
import os
import shutil
import socket
import urllib.request
from pathlib import Path

from edge import edge
from processes import ready_line, run, service, wait_until
from system import LANDS_WITHIN, System

# ---- Over ssh ----

SSHD_CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/client_key.pub
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
UseDNS no
PidFile none
SetEnv HOME={home}
Subsystem sftp internal-sftp
"""


def free_port():
    """One that nobody has now: sshd cannot choose and tell."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def accepts(port):
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


class OverSsh(System):
    """An sshd of our own, which lets one key in."""

    def start(self, stack):
        for key in ("host_key", "client_key"):
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.scratch / key], 20)
        port = free_port()
        config = self.scratch / "sshd_config"
        # What is stored there comes and goes with the server.
        home = self.server_disk / "home"
        home.mkdir()
        config.write_text(SSHD_CONFIG.format(port=port, folder=self.scratch, home=home))
        if os.getuid() == 0:
            # sshd's unprivileged half works there; where sshd is no service nobody else makes it.
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        sshd = shutil.which("sshd") or "/usr/sbin/sshd"
        stack.enter_context(service([sshd, "-D", "-e", "-f", config], self.scratch / "sshd.log"))
        wait_until("sshd", 20, accepts, port)
        self.port = self.through_relay(stack, port)


    def ssh_options(self):
        ssh = {
            "IdentityFile": self.scratch / "client_key",
            "IdentitiesOnly": "yes",
            "StrictHostKeyChecking": "no",
            "UserKnownHostsFile": "/dev/null",
        }
        return [f"{key}={value}" for key, value in ssh.items()]


class Sshfs(OverSsh):
    name = "sshfs"
    options = []

    def command(self):
        options = [*self.ssh_options(), f"Port={self.port}", "BatchMode=yes", *self.options]
        source = f"{getpass.getuser()}@127.0.0.1:{self.backend}"
        return ["sshfs", "-f", "-F", "/dev/null", "-o", ",".join(options), source, self.mountpoint]


class SshfsTuned(Sshfs):
    """What its users advise for a tree that nobody else changes."""

    name = "sshfs-tuned"
    options = [
        "max_conns=4", "kernel_cache", "attr_timeout=300", "entry_timeout=300", "dcache_timeout=300",
        "dcache_max_size=200000", "compression=no",
    ]  # fmt: skip


class Rclone(OverSsh):
    name = "rclone"

    def command(self):
        config = self.scratch / "rclone.conf"
        config.write_text(
            f"[server]\ntype = sftp\nhost = 127.0.0.1\nport = {self.port}\nuser = {getpass.getuser()}\n"
            f"key_file = {self.scratch}/client_key\nshell_type = none\ndisable_hashcheck = true\n"
        )
        options = ["--config", config, "--cache-dir", self.scratch / "cache", "--vfs-cache-mode", "full"]
        return ["rclone", "mount", *options, f"server:{self.backend}", self.mountpoint]

    def forget(self):
        shutil.rmtree(self.scratch / "cache", ignore_errors=True)


# ---- sandboxfs ----


class Sandboxfs(System):
    def command(self):
        return [self.setting.sandboxfs, "-f", self.source, self.mountpoint]

    def start(self, stack):
        for what in ("data", "cache", "config", "state"):
            self.env[f"XDG_{what.upper()}_HOME"] = str(self.scratch / what)

    def forget(self):
        shutil.rmtree(self.scratch / "cache", ignore_errors=True)

    def sync(self):
        run(["sh", "-c", 'echo >"$0"', self.mountpoint / ".sandbox/sync"], LANDS_WITHIN)


class Local(Sandboxfs):
    """A sandbox on this machine: no link, whatever is asked for."""

    name = "local"
    source = "local:bench"

    def start(self, stack):
        super().start(stack)
        self.backend = self.scratch / "data/sandboxfs/bench/tree/user"
        self.backend.mkdir(parents=True)


class Ssh(Sandboxfs, OverSsh):
    """The directory that sshfs shows, over the same sshd."""

    name = "ssh"

    def start(self, stack):
        Sandboxfs.start(self, stack)
        OverSsh.start(self, stack)
        self.source = f"ssh:{getpass.getuser()}@127.0.0.1:{self.port}:{self.backend}"

    def command(self):
        program, *rest = super().command()
        return [program, "-o", ",".join(self.ssh_options()), *rest]


TEST_SERVER = Path(__file__).resolve().parents[1] / "servers/e2b/main.mjs"


def ask(method, url, key="", body=None):
    """What a server on this machine answers, which is JSON."""
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=20) as answer:
        return json.load(answer)


class E2b(Sandboxfs):
    """A sandbox of the test server, whose control plane and data plane are behind a relay each."""

    name = "e2b"

    def start(self, stack):
        super().start(stack)
        root = self.server_disk / "sandboxes"
        # Root's sandbox works as root, as the others' server does, so that files have the owner that is shown here.
        self.user, self.home = ("root", "/root") if os.geteuid() == 0 else ("user", "/home/user")
        command = ["node", TEST_SERVER, "--root", root, "--user", self.user]
        server = ready_line(stack.enter_context(service(command, self.scratch / "server.log")))
        self.admin = server["admin_url"]
        wanted = {"templateID": "base", "timeout": 3600}
        self.sandbox = ask("POST", f"{server['api_url']}/v2/sandboxes", server["key"], wanted)
        self.source = f"e2b:{self.sandbox['sandboxID']}"
        self.backend = Path(f"{root}/{self.sandbox['sandboxID']}{self.home}")
        self.env |= {
            "E2B_API_KEY": server["key"],
            "E2B_API_URL": self.through_link(stack, server["api_url"]),
            "E2B_SANDBOX_URL": self.through_link(stack, server["sandbox_url"]),
        }

    def through_link(self, stack, url):
        port = int(url.rpartition(":")[2])
        if not self.link.tls:
            return f"http://127.0.0.1:{self.through_relay(stack, port)}"
        through = stack.enter_context(edge(self.scratch, port))
        self.env["SSL_CERT_FILE"] = str(through.authority)
        for other in "CURL_CA_BUNDLE", "SSL_CERT_DIR":
            self.env.pop(other, None)
        return f"https://127.0.0.1:{self.through_relay(stack, through.port)}"

    def reset_counters(self):
        super().reset_counters()
        ask("POST", f"{self.admin}/reset")

    def requests(self):
        return ask("GET", f"{self.admin}/counters")["total"]["requests"]


# ---- None ----


class Disk(System):
    """A directory of this machine: what the programs themselves need."""

    name = "disk"

    def start(self, stack):
        self.backend = self.mountpoint

    def mount(self):
        pass

    def sync(self):
        """The server is here."""


ALL = {system.name: system for system in (E2b, Local, Ssh, Sshfs, SshfsTuned, Rclone, Disk)}
# Without a choice.
COMPARED = ["e2b", "ssh", "floor", "sshfs", "rclone", "disk"]
