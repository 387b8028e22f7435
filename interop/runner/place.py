"""Where the runs happen: two network namespaces, our link, two endpoints."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

ROOM = Path(__file__).with_name("room")
CLIENT, CLIENT6 = "193.167.0.100", "fd00:cafe:cafe:0::100"
SERVER, SERVER6 = "193.167.100.100", "fd00:cafe:cafe:100::100"
HOSTS = f"""127.0.0.1 localhost
{SERVER} server server4 server46
{SERVER6} server6 server46
{CLIENT} client client4
{CLIENT6} client6
"""
# Who runs first when there is more to do than processors: the link, the server, the
# client. Otherwise what else the machine does adds to the round trips, and a
# controller that looks at them takes it for a queue.
PRIORITY = {"link": "3", "server": "2", "client": "1"}
# What a process has to end after it was asked to, in seconds.
FAREWELL = 5


class Trouble(Exception):
    """A run that is not what was asked for, with the reason."""


def call(command):
    """Runs a short command that has to succeed."""
    done = subprocess.run(command.split(), capture_output=True, text=True)
    if done.returncode:
        raise Trouble(f"`{command}` failed: {done.stderr.strip()}")


def first(who):
    """What a command of `who` has in front of it; nothing where that is not allowed."""
    prefix = ["chrt", "--rr", PRIORITY[who]]
    allowed = subprocess.run([*prefix, "true"], capture_output=True).returncode == 0
    return prefix if allowed else []


def build():
    """Makes the namespaces, in the sandbox that `interop/run` has made."""
    for end in ("client", "server"):
        call(f"ip netns add {end}")
        call(f"ip -n {end} link set lo up")


class Process:
    """A program in a namespace, with its folder."""

    def __init__(self, end, folder, command, env=None):
        self.folder = Path(folder)
        (self.folder / "logs" / "qlog").mkdir(parents=True, exist_ok=True)
        (self.folder / "hosts").write_text(HOSTS)
        self.output = open(self.folder / "output.txt", "w")
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [*first(end), "ip", "netns", "exec", end, ROOM, self.folder, *map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )

    def wait(self, seconds):
        """Its exit code; None when it takes longer."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def listens(self, port=443, seconds=20):
        """Waits until UDP `port` is open, at which time it can be talked to."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.process.poll() is not None:
                return False
            for table in ("udp", "udp6"):
                sockets = Path(f"/proc/{self.process.pid}/net/{table}")
                if f":{port:04X} " in sockets.read_text():
                    return True
            time.sleep(0.05)
        return False

    def seconds(self):
        """The processor time that it has taken so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """Ends it and all that it has started, kindly first."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, sign)
            except ProcessLookupError:
                pass
            if self.wait(FAREWELL) is not None and sign == signal.SIGTERM:
                continue
        self.output.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Link:
    """The link between the namespaces, for one run. `report` has what it carried. Captures
    are for those who name a folder."""

    def __init__(self, program, options, captures=None):
        if captures:
            captures.mkdir(parents=True, exist_ok=True)
            options = ["--captures", captures, *options]
        self.report = None
        self.process = subprocess.Popen(
            [*first("link"), program, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if self.process.stdout.readline().strip() != "ready":
            raise Trouble(f"the link: {self.process.communicate()[1].strip()}")
        ends = (("client", CLIENT, CLIENT6), ("server", SERVER, SERVER6))
        for end, address, address6 in ends:
            call(f"ip link set {end} netns {end}")
            call(f"ip -n {end} addr add {address}/24 dev {end}")
            call(f"ip -n {end} addr add {address6}/64 dev {end} nodad")
            call(f"ip -n {end} link set {end} up")
            call(f"ip -n {end} route add default dev {end}")
            call(f"ip -n {end} -6 route add default dev {end}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=FAREWELL)
        if self.process.returncode:
            raise Trouble(f"the link failed: {err.strip()}")
        self.report = json.loads(out)
