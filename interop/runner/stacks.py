"""Controllers of ours and of the stack's own in quinn, noq, s2n-quic and quiche, each stack with a
client of its own: the share of the link, the queue and the losses of one download."""

import json
import shutil
import statistics
from itertools import product

import certificates
from peers import ENVIRONMENT
from testbed import SERVER, Trouble, chroot, complete, transfer

# Name: the link's options.
LINKS = {
    "10-lossy": ["--rate", "10mbit", "--delay", "45ms", "--queue", "1bdp", "--loss", "0.5%"],
    "50": ["--rate", "50mbit", "--delay", "20ms", "--queue", "1bdp", "--loss", "0%"],
}
# Name: the controllers, ours first.
STACKS = {
    "quiche": ["petra", "westwood", "cubic", "bbr2"],
    "quinn": ["petra", "westwood", "cubic", "bbr"],
    "noq": ["petra", "westwood", "cubic", "bbr3"],
    "s2n-quic": ["petra", "westwood", "cubic", "bbr"],
}
# The longest time, 99th percentile, by which packets may leave the link late. If the machine was too
# busy for it on the way to the client, the download is made again, up to ATTEMPTS times in all.
MAX_LATE_MS = 2
ATTEMPTS = 4
# Student's t, two-sided, 95 %, by degrees of freedom.
QUANTILES = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
COLUMNS = ("share", "queue_ms", "queue_ms_p95", "losses", "tail_drops", "late_ms_p99", "server_seconds")


def commands(peers, stack, cc, seconds):
    """Server and client."""
    listen, ours = f"{SERVER}:443", peers.stacks
    if stack == "quiche":
        serve = [peers.examples / "http3-server", "--listen", listen, "--cert", "/certs/cert.pem",
                 "--key", "/certs/priv.key", "--cc", cc]
        # More than any of the links carries in this time.
        url = f"https://{listen}/bytes/{int(seconds * 1e8)}"
        return serve, [peers.examples / "http3-client", "--ca", "/certs/ca.pem", "--json",
                       "--time-limit", f"{seconds:.0f}s", url]
    return ([ours, stack, "server", cc, listen, "/certs/cert.pem", "/certs/priv.key"],
            [ours, stack, "client", listen, "/certs/ca.pem", seconds])


def run(folder, *about):
    """The figures of one download in time; Trouble when there was none."""
    for attempt in range(1, ATTEMPTS + 1):
        figures = download(folder.with_name(f"{folder.name}-{attempt}"), *about)
        if figures["late_ms_p99"] <= MAX_LATE_MS:
            return {**figures, "attempts": attempt}
    raise Trouble(f"link: late (got {figures['late_ms_p99']:.1f} ms); expected at most {MAX_LATE_MS} ms: "
                  "the machine was busy")


def download(folder, peers, stack, cc, link, seed, seconds, keep):
    """The figures of one download; Trouble when it failed."""
    for end in ("client", "server"):
        shutil.copytree(folder.parent / "certs", folder / end / "certs")
    serve, fetch = commands(peers, stack, cc, seconds)
    patience = 30 + 2 * seconds
    record = transfer(peers.programs, folder, [*LINKS[link], "--seed", str(seed)],
                      chroot(folder / "server", serve, ENVIRONMENT),
                      chroot(folder / "client", fetch, ENVIRONMENT), patience)
    complete(record, patience)
    summary = json.loads((folder / "client/output.txt").read_text().splitlines()[-1])
    down = record["link"]["down"]
    if not keep:
        shutil.rmtree(folder)
    return {
        **{name: down[name] for name in ("queue_ms", "queue_ms_p95", "late_ms_p99")},
        "goodput_mbps": summary["goodput_bps"] / 1e6,
        "share": summary["goodput_bps"] / record["link"]["limit"]["goodput_bps"],
        "losses": down["lost"] / down["packets"],
        "tail_drops": down["tail_drops"] / down["packets"],
        "server_seconds": record["server_seconds"] or 0,
    }


def stacks(options, peers, out):
    """All runs that are asked for: whether none failed, and the table."""
    certificates.make(out / "certs")
    runs, good = [], True
    # Every pair once, then every pair again: what else the machine does hits all of them.
    turns = range(1, options.seeds + 1)
    chosen = [(stack, cc) for stack in options.stack or STACKS for cc in options.cc or STACKS[stack]]
    for seed, link, (stack, cc) in product(turns, options.link or LINKS, chosen):
        folder = out / f"{link}-{stack}-{cc.replace(':', '-')}-{seed}"
        try:
            figures = run(folder, peers, stack, cc, link, seed, options.seconds, options.keep)
        except Trouble as trouble:
            good = False
            print(f"{folder.name}: FAILED: {trouble}", flush=True)
            continue
        runs.append({"link": link, "stack": stack, "cc": cc, "seed": seed, **figures})
        (out / "stacks.json").write_text(json.dumps(runs, indent=1))
        print(f"{folder.name}: {figures['share']:.3f} of the limit, queue {figures['queue_ms']:.1f} ms, "
              f"late by {figures['late_ms_p99']:.2f} ms (p99)", flush=True)
    return good, table(runs)


def interval(values):
    """The half-width of the 95 % interval of the mean, of three values or more."""
    if len(values) < 3:
        return None
    half = QUANTILES.get(len(values) - 1, 1.96)
    return half * statistics.stdev(values) / len(values) ** 0.5


def table(runs):
    """Means with intervals, in Markdown."""
    columns = ("link", "stack", "controller", "of the limit", "to quiche's", "queue ms", "p95 ms", "lost %",
               "tail drops %", "late p99 ms", "server's CPU s")
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    keys = list(dict.fromkeys((r["link"], r["stack"], r["cc"]) for r in runs))
    values = lambda key, name: [r[name] for r in runs if (r["link"], r["stack"], r["cc"]) == key]
    for key in sorted(keys, key=lambda key: list(LINKS).index(key[0])):
        mean = {name: statistics.mean(values(key, name)) for name in COLUMNS}

        def cell(name, digits):
            half = interval(values(key, name))
            return f"{mean[name]:.{digits}f}" + (f" ± {half:.{digits}f}" if half is not None else "")

        same = values((key[0], "quiche", key[2]), "share")
        cells = [*key, cell("share", 3), f"{mean['share'] / statistics.mean(same):.1%}" if same else "",
                 cell("queue_ms", 1), f"{mean['queue_ms_p95']:.1f}", f"{mean['losses']:.2%}",
                 f"{mean['tail_drops']:.2%}", f"{max(values(key, 'late_ms_p99')):.2f}",
                 f"{mean['server_seconds']:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines
