"""Bursts, delay and losses that one download makes at a bottleneck, from our server and from
tokio-quiche, with pacing and without."""

import json
import shutil
import statistics
from itertools import product
from pathlib import Path

import certificates
from peers import ENVIRONMENT, HERE
from testbed import SERVER, Trouble, chroot, complete, output, transfer

# Name: rate in bits per second, and the link's options.
LINKS = {
    "20-1bdp": (20_000_000, ["--delay", "20ms", "--queue", "1bdp"]),
    "20-0.25bdp": (20_000_000, ["--delay", "20ms", "--queue", "0.25bdp"]),
    "100-1bdp": (100_000_000, ["--delay", "10ms", "--queue", "1bdp"]),
    "100-0.25bdp": (100_000_000, ["--delay", "10ms", "--queue", "0.25bdp"]),
    # ACKs arrive every 10 ms, all together, as behind a radio that has a schedule.
    "20-ack-grid": (20_000_000, ["--delay", "20ms", "--queue", "1bdp", "--up", "slot=10ms"]),
    # For 3 s nothing passes.
    "20-blackhole": (20_000_000, ["--delay", "20ms", "--queue", "1bdp", "--blackhole", "1s+3s"]),
}
# Name: the program, whether quiche is asked to pace, and whether send times are kept.
SERVERS = {
    "tokio-quiche": ("tokio-quiche", True, False),
    "tokio-quiche-fq": ("tokio-quiche", True, True),
    "tokio-quiche-unpaced": ("tokio-quiche", False, False),
    "http3-server": ("http3-server", True, False),
    "http3-server-unpaced": ("http3-server", False, False),
}
COLUMNS = ("goodput_mbps", "share", "queue_ms", "queue_ms_p95", "burst_100us", "burst_100us_p95",
           "burst_1ms", "burst_1ms_p95", "tail_drops", "sent_per_byte", "server_seconds")


def keeper(peers):
    """The library that keeps send times as the queueing discipline fq does; makes it."""
    library = peers.installed / "fq.so"
    source = HERE.parent / "tokio-quiche/fq.c"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        library.parent.mkdir(parents=True, exist_ok=True)
        output("cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-lpthread", "-ldl")
    return library


def command(peers, server, cc):
    """The server's command."""
    program, paced, _ = SERVERS[server]
    ours = {"tokio-quiche": peers.tokio_quiche, "http3-server": peers.examples / "http3-server"}
    program = ours.get(program, program)
    return [program, "--listen", f"{SERVER}:443", "--cert", "/certs/cert.pem",
            "--key", "/certs/priv.key", "--cc", cc, *([] if paced else ["--no-pacing"])]


def run(folder, peers, server, cc, link, seed, seconds):
    """One download. Its figures; Trouble when it failed."""
    rate, options = LINKS[link]
    size = int(rate / 8 * seconds)
    for end in ("client", "server"):
        shutil.copytree(folder.parent / "certs", folder / end / "certs")
    options = [*options, "--rate", f"{rate}bit", "--loss", "0%", "--seed", str(seed)]
    url = f"https://{SERVER}:443/bytes/{size}"
    fetch = [peers.examples / "http3-client", "--insecure", "--json", url]
    serve, environment = command(peers, server, cc), dict(ENVIRONMENT)
    if SERVERS[server][2]:
        environment["LD_PRELOAD"] = str(keeper(peers))
    patience = 30 + 10 * seconds
    record = transfer(peers.programs, folder, options, chroot(folder / "server", serve, environment),
                      chroot(folder / "client", fetch, ENVIRONMENT), patience)
    complete(record, patience)
    if record["server_seconds"] is None:
        raise Trouble("the server's processor time is unknown")
    summary = json.loads((folder / "client/output.txt").read_text().splitlines()[-1])
    down = record["link"]["down"]
    return {
        **{name: value for name, value in down.items() if name in COLUMNS},
        "goodput_mbps": summary["goodput_bps"] / 1e6,
        "share": summary["goodput_bps"] / record["link"]["limit"]["goodput_bps"],
        # Of IP packets, for each byte of the body: what is sent twice shows here.
        "sent_per_byte": down["bytes"] / size,
        "server_seconds": record["server_seconds"],
    }


def pacing(options, peers, out):
    """All runs that are asked for: whether none failed, and the table."""
    certificates.make(out / "certs")
    runs, good = [], True
    servers = list(options.server or SERVERS)
    for build in options.build:
        name, _, path = build.partition("=")
        SERVERS[name] = (Path(path).resolve(), True, False)
        servers.append(name)
    # Every server once, then every server again: what else the machine does hits all of them.
    turns = range(1, options.seeds + 1)
    for seed, link, server, cc in product(turns, options.link or LINKS, servers, options.cc):
        folder = out / f"{link}-{server}-{cc.replace(':', '-')}-{seed}"
        try:
            figures = run(folder, peers, server, cc, link, seed, options.seconds)
        except Trouble as trouble:
            good = False
            print(f"{folder.name}: FAILED: {trouble}", flush=True)
            continue
        if not options.keep:
            shutil.rmtree(folder)
        runs.append({"link": link, "server": server, "cc": cc, "seed": seed, **figures})
        (out / "pacing.json").write_text(json.dumps(runs, indent=1))
        print(line(runs[-1]), flush=True)
    return good, table(runs)


def line(run):
    """A run as it is printed when it is there."""
    return (f"{run['link']}, {run['server']}, {run['cc']}, seed {run['seed']}: "
            f"{run['goodput_mbps']:.1f} Mbit/s, queue {run['queue_ms']:.1f} ms, "
            f"bursts of {run['burst_1ms_p95']} in 1 ms, {run['tail_drops']} dropped")


def table(runs):
    """Medians, in Markdown."""
    columns = ("link", "server", "controller", "goodput Mbit/s", "of the limit", "queue ms (p95)",
               "in 100 us: p95 (most)", "in 1 ms: p95 (most)", "dropped", "sent per byte",
               "server's CPU s")
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for key in dict.fromkeys((r["link"], r["server"], r["cc"]) for r in runs):
        these = [r for r in runs if (r["link"], r["server"], r["cc"]) == key]
        m = {name: statistics.median(r[name] for r in these) for name in COLUMNS}
        cells = [*key, f"{m['goodput_mbps']:.1f}", f"{m['share']:.1%}",
                 f"{m['queue_ms']:.1f} ({m['queue_ms_p95']:.1f})",
                 f"{m['burst_100us_p95']:.0f} ({m['burst_100us']:.0f})",
                 f"{m['burst_1ms_p95']:.0f} ({m['burst_1ms']:.0f})",
                 f"{m['tail_drops']:.0f}", f"{m['sent_per_byte']:.3f}",
                 f"{m['server_seconds']:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines
