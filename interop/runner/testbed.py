"""One transfer over our link, as `petra-link run` makes it, and a chroot for each program."""

import json
import shutil
import subprocess
from pathlib import Path

CHROOT = Path(__file__).with_name("chroot")
CLIENT, CLIENT6 = "193.167.0.100", "fd00:cafe:cafe:0::100"
SERVER, SERVER6 = "193.167.100.100", "fd00:cafe:cafe:100::100"
ADDRESSES = {
    "client": [f"{CLIENT}/24", f"{CLIENT6}/64"],
    "server": [f"{SERVER}/24", f"{SERVER6}/64"],
}
HOSTS = f"""127.0.0.1 localhost
{SERVER} server server4 server46
{SERVER6} server6 server46
{CLIENT} client client4
{CLIENT6} client6
"""


# A failure tells nothing if the machine was late by so much: half of the link's round trip, or a
# share of the time. It is tried again, this often.
MOST_LATE_MS, MOST_LOST = 15, 0.03
ATTEMPTS = 3


class Trouble(Exception):
    """A run that is not what was asked for, with the reason."""


def output(*command, cwd=None):
    """What a command prints that has to succeed."""
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        name = Path(command[0]).name
        raise Trouble(f"{name} ended with {done.returncode}: {done.stderr.strip()[-1000:]}")
    return done.stdout


def chroot(folder, command, env):
    """A program of a transfer: `command` in a chroot of its own, with its folder."""
    (folder / "logs" / "qlog").mkdir(parents=True, exist_ok=True)
    (folder / "hosts").write_text(HOSTS)
    settings = [f"{name}={value}" for name, value in env.items()]
    words = ["unshare", "--mount", CHROOT, folder, "env", *settings, *command]
    return {"command": list(map(str, words)), "log": str(folder / "output.txt")}


def transfer(programs, folder, link, server, client, patience, beside=(), captures=False, figures=False):
    """The record of one transfer. Captures and figures are for those who ask for them."""
    if captures:
        (folder / "captures").mkdir(parents=True, exist_ok=True)
        link = ["--captures", str(folder / "captures"), *link]
    job = {"link": link, "addresses": ADDRESSES, "server": server, "client": client,
           "patience": patience, "beside": beside}
    if figures:
        job["qlogs"] = str(folder / "server/logs/qlog")
    # With it `petra-link run` makes the transfer again.
    (folder / "job.json").write_text(json.dumps(job, indent=1))
    record = output(programs / "petra-link", "run", folder / "job.json")
    (folder / "record.json").write_text(record)
    return json.loads(record)


def kept_time(folder):
    """False if the machine was late in the transfer of `folder`."""
    record = folder / "record.json"
    if not record.exists():
        return True
    lateness = json.loads(record.read_text())["lateness"]
    return lateness["worst_ms"] <= MOST_LATE_MS and lateness["lost"] <= MOST_LOST


def judged(folder, failed, run):
    """What `run` returns, and whether it counts: a failure does only if the machine kept time."""
    for _ in range(ATTEMPTS):
        if folder.exists():
            shutil.rmtree(folder)
        result = run()
        if not failed(result) or kept_time(folder):
            return result, True
    return result, False


def complete(record, patience):
    """Trouble unless the client has come to a good end."""
    if not record["listening"]:
        raise Trouble("the server does not listen")
    if record["client"] is None:
        raise Trouble(f"the client was not done after {patience:.0f} s")
    if record["client"]:
        raise Trouble(f"the client ended with {record['client']}")
