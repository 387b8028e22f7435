"""Throughput, CPU time and memory of servers on this machine, each with the client of its own stack
if there is one. Every figure is the best of several runs in turns."""

import json
import sys
from itertools import product
from os import geteuid
from pathlib import Path

import certificates
from testbed import SERVER, Trouble, chroot, complete, output, transfer

LOOPBACK = Path(__file__).with_name("loopback.py")
PATIENCE_SECONDS = 120
# Title: client processes, each with one connection; downloads over each; and bytes of a download.
WORK = {
    "One connection": (1, 1, 1_000_000_000),
    "100 connections": (100, 1, 5_000_000),
    "Requests": (4, 25_000, 1_000),
}
# Connections that one client has at the same time, and for how long.
CONNECTIONS, SENDING = (100, 1000), "12s"
# Share of them that has to send for a figure of one.
LEAST_BEGUN = 0.9
# Bytes of a download that the time ends.
LARGE = 1_000_000_000
LINK = ["--rate", "1gbit", "--delay", "45ms", "--queue", "1bdp"]
LOSSES = ("0.1%", "0.5%")
LINK_SECONDS = 10
# Figures of which more is better; of the others less is. Lateness is the link's own.
MORE = ("Mbit/s", "requests/s")
LATENESS = "late ms (p99)"
BEHIND = " 🔴"


def prepare(folder):
    """The folder of both ends: files of zeros for servers that do not generate bodies, and /dev/null
    for clients that insist on a file."""
    certificates.make(folder / "certs")
    for name in ("logs", "www/bytes", "downloads/bytes"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for size in (size for _, _, size in WORK.values()):
        with (folder / f"www/bytes/{size}").open("wb") as body:
            body.truncate(size)
        (folder / f"downloads/bytes/{size}").symlink_to("/dev/null")
    return folder


def loopback(folder, server, clients):
    """The record of one server and its clients; Trouble when it failed."""
    words = lambda command: list(map(str, command))
    job = {"server": words(server), "clients": list(map(words, clients)), "patience": PATIENCE_SECONDS}
    (folder / "logs/job.json").write_text(json.dumps(job))
    # No qlogs and no keys, and one authority in place of the system's hundred.
    env = {"TESTCASE": "http3", "SSL_CERT_FILE": "/certs/ca.pem"}
    inside = chroot(folder, ["python3", LOOPBACK], env)["command"]
    user = [] if geteuid() == 0 else ["--user", "--map-root-user"]
    alone = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    record = json.loads(output("unshare", *user, *alone, *inside))
    if "failure" in record:
        raise Trouble(record["failure"])
    return record


def work(folder, pair, title):
    """The figures of one piece of WORK."""
    processes, count, size = WORK[title]
    server, client = pair
    command = client(f"https://127.0.0.1:443/bytes/{size}", count)
    record = loopback(folder, server, [command] * processes)
    downloads = processes * count
    if record["carried"] < downloads * size:
        raise Trouble(f"carried {record['carried']} bytes; expected more than {downloads * size}")
    if count > 1:
        unit, scale, speed = "us/request", 1e6 / downloads, ("requests/s", downloads)
    else:
        unit, scale, speed = "s/GB", 1e9 / (downloads * size), ("Mbit/s", downloads * size * 8e-6)
    return {speed[0]: speed[1] / record["seconds"], f"server's CPU {unit}": record["server_cpu"] * scale,
            f"client's CPU {unit}": record["client_cpu"] * scale}


def summary(path):
    """The summary that our client has printed."""
    return json.loads(path.read_text().splitlines()[-1])


def memory(folder, pair, peers, count):
    """The figures of connections that send at the same time to one client of ours."""
    # An address a connection.
    hosts = [f"127.0.{number // 250}.{1 + number % 250}" for number in range(count)]
    urls = [f"https://{host}:443/bytes/{LARGE}" for host in hosts]
    fetch = [*peers.measuring_client(), "--json", "--time-limit", SENDING, *urls]
    # Servers refuse some connections when they have many.
    record = loopback(folder, pair[0], [["sh", "-c", '"$@" || true', "sh", *fetch]])
    downloads = summary(folder / "logs/client-0.txt")["downloads"]
    begun = sum(download["bytes"] > 0 for download in downloads)
    if begun < LEAST_BEGUN * count:
        raise Trouble(f"{begun} connections; expected {count}")
    return {f"kB each of {count}": record["server_memory"] / begun / 1e3}


def link(folder, pair, peers, loss, seed):
    """The figures of one download by our client over the link."""
    url = f"https://{SERVER}:443/bytes/{LARGE}"
    fetch = [*peers.measuring_client(), "--json", "--time-limit", f"{LINK_SECONDS}s", url]
    ends = [{**chroot(folder, command, {"TESTCASE": "http3"}), "log": str(folder / f"{name}.txt")}
            for name, command in (("server", pair[0]), ("client", fetch))]
    record = transfer(peers.programs, folder, [*LINK, "--loss", loss, "--seed", str(seed)], *ends,
                      PATIENCE_SECONDS)
    complete(record, PATIENCE_SECONDS)
    return {"Mbit/s": summary(folder / "client.txt")["goodput_bps"] / 1e6,
            LATENESS: record["link"]["down"]["late_ms_p99"]}


def bench(options, peers, out):
    """All measurements: whether none failed, and the tables."""
    pairs = peers.measured()
    for name in options.server or ():
        if name not in pairs:
            sys.exit(f"interop: error: --server: not installed (got {name}); expected {' or '.join(pairs)}")
    pairs = {name: pair for name, pair in pairs.items() if name in (options.server or pairs)}
    folder = prepare(out / "both")
    tables = {title: lambda pair, _, title=title: work(folder, pair, title) for title in WORK}
    tables |= {f"Memory of {count} connections": lambda pair, _, count=count: memory(folder, pair, peers, count)
               for count in CONNECTIONS}
    tables |= {f"1 Gbit/s with {loss} loss": lambda pair, seed, loss=loss: link(folder, pair, peers, loss, seed)
               for loss in LOSSES}
    best, good = {}, True
    for turn, title, name in product(range(1, options.turns + 1), tables, pairs):
        try:
            figures = tables[title](pairs[name], turn)
        except Trouble as trouble:
            # A peer's row is then missing.
            good &= not ours(name)
            print(f"{title}, {name}: FAILED: {trouble}", flush=True)
            continue
        seen = best.setdefault(title, {}).setdefault(name, figures)
        best[title][name] = {key: better(key)(value, seen[key]) for key, value in figures.items()}
        print(f"{title}, {name}: " + ", ".join(f"{value:.4g} {key}" for key, value in figures.items()), flush=True)
        (out / "bench.json").write_text(json.dumps(best, indent=1))
    return good, [line for title, rows in best.items() for line in table(title, rows)]


def ours(name):
    """True for a row of our server."""
    return name.startswith("quiche")


def better(figure):
    """The function that picks the better of two values."""
    return max if figure in MORE else min


def table(title, rows):
    """Figures in Markdown. Those of ours that are behind the best peer's are marked."""
    columns = list(next(iter(rows.values())))
    lines = ["", f"### {title}", "", "| server | " + " | ".join(columns) + " |", "|---|" + "--:|" * len(columns)]
    for name, figures in rows.items():
        cells = []
        for key, value in figures.items():
            peers = [row[key] for other, row in rows.items() if not ours(other)]
            behind = key != LATENESS and ours(name) and peers and better(key)(value, *peers) != value
            cells.append(f"{value:.{0 if value >= 100 else 2}f}" + (BEHIND if behind else ""))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines
