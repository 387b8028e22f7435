"""One server and its clients on the loopback device, in a network namespace of their own: elapsed
time, CPU time, memory, and the bytes that the device carried, as JSON. It runs in the chroot of
interop/runner/chroot, where /logs/job.json is the job:

    {"server": COMMAND, "clients": [COMMAND, ...], "patience": SECONDS}
"""

import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

LOGS = Path("/logs")
START_SECONDS = 10


class Failure(Exception):
    """The reason for which a job has no figures."""


def start(name, command):
    """A process of its own, whose output goes to /logs."""
    with (LOGS / f"{name}.txt").open("w") as output:
        redirect = [(os.POSIX_SPAWN_DUP2, output.fileno(), stream) for stream in (1, 2)]
        return os.posix_spawnp(command[0], command, os.environ, file_actions=redirect)


def listen():
    """Waits until a process of this namespace is bound to UDP port 443."""
    while not any(":01BB " in Path(f"/proc/net/{table}").read_text() for table in ("udp", "udp6")):
        time.sleep(0.005)


def memory(pid, name):
    """Bytes of a line of /proc/PID/status."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def cpu(pid):
    """CPU seconds so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def carried():
    """Bytes that the loopback device has carried."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.strip().startswith("lo:"))


def give_up(*_):
    raise Failure("the time was over")


def measure(server, job):
    """The figures of a job. Whatever fails, and the end of the server, is a Failure."""
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(START_SECONDS)
    listen()
    signal.alarm(job["patience"])
    # Servers that read files at their start have done so.
    idle, spent, client_cpu = memory(server, "VmRSS"), cpu(server), 0
    started = time.monotonic()
    clients = {start(f"client-{number}", command) for number, command in enumerate(job["clients"])}
    while clients:
        pid, status, usage = os.wait4(-1, 0)
        if pid not in clients or status:
            name = "a client" if pid in clients else "the server"
            raise Failure(f"{name} ended with {os.waitstatus_to_exitcode(status)}")
        clients.remove(pid)
        client_cpu += usage.ru_utime + usage.ru_stime
    seconds, peak = time.monotonic() - started, memory(server, "VmHWM")
    os.kill(server, signal.SIGKILL)
    _, _, usage = os.wait4(server, 0)
    return {"seconds": seconds, "client_cpu": client_cpu,
            "server_cpu": usage.ru_utime + usage.ru_stime - spent,
            "server_memory": peak - idle, "carried": carried()}


def main():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    # A client of 1000 connections has as many sockets.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    job = json.loads((LOGS / "job.json").read_text())
    try:
        print(json.dumps(measure(start("server", job["server"]), job)))
    except Failure as failure:
        print(json.dumps({"failure": str(failure)}))


main()
