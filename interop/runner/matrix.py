"""HTTP/3: every peer as client to our server and as server to our client, over a lossy
link, bodies compared by hash, and our sender's behaviour looked at."""

import hashlib
import json
import os
import shutil
import statistics
from pathlib import Path

import certificates
from peers import ENVIRONMENT, HERE
from testbed import Trouble, chroot, complete, judged, transfer

RATE = 10_000_000
LINK = ["--rate", "10mbit", "--delay", "20ms", "--queue", "1bdp", "--loss", "0.5%"]
# Loading an interpreter, a browser; and the transfer itself at a tenth of the rate.
PATIENCE = 60
OURS = "quiche"
# Of the utilisation that it has with its own stack as peer, a controller keeps this
# share with any other.
KEEPS = 0.97


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def prepare(folder, size):
    """Both ends' folders; the body's hash."""
    www = folder / "server/www"
    www.mkdir(parents=True)
    (www / "body").write_bytes(os.urandom(size))
    shutil.copy(HERE / "page.html", www)
    certs = certificates.make(folder.parent / "certs")
    for end in ("client", "server"):
        shutil.copytree(certs, folder / end / "certs")
        (folder / end / "downloads").mkdir(parents=True, exist_ok=True)
    return digest(www / "body")


def run(folder, client, server, options, programs, seed, figures):
    """The record of one download; Trouble when it failed."""
    wanted = prepare(folder, options.size)
    patience = PATIENCE + 10 * 8 * options.size / RATE
    record = transfer(programs, folder, [*LINK, "--seed", str(seed)],
                      chroot(folder / "server", server, ENVIRONMENT),
                      chroot(folder / "client", client, ENVIRONMENT), patience, captures=True, figures=figures)
    complete(record, patience)
    body = folder / "client/downloads/body"
    if not body.exists() or digest(body) != wanted:
        raise Trouble("the body is not what the server has")
    return record


def cell(folder, client, server, options, peers, cc=None, seed=1):
    """Outcome, reason, and with `cc` (we send) our sender's figures."""
    if client is None or server is None:
        return {"outcome": "missing", "reason": "not installed"}
    attempt = lambda: once(folder, client, server, options, peers, cc, seed)
    result, counts = judged(folder, lambda result: result["outcome"] == "FAILED", attempt)
    return result if counts else {**result, "outcome": "late"}


def once(folder, client, server, options, peers, cc, seed):
    try:
        figures = run(folder, client, server, options, peers.programs, seed, bool(cc))["figures"] or {}
        if cc and cc.startswith("petra") and figures["estimate"] is None:
            raise Trouble("petra has estimated no bandwidth")
        result = {"outcome": "ok", **figures}
        if not options.keep:
            shutil.rmtree(folder)
        return result
    except Trouble as trouble:
        return {"outcome": "FAILED", "reason": str(trouble), "folder": str(folder)}


def matrix(options, peers, out):
    """All cells that are asked for, as a list of objects."""
    certs = certificates.make(out / "certs")
    clients, servers = peers.clients(certs), peers.servers()
    chosen = options.peer or list(clients)
    unknown = set(chosen) - set(clients)
    if unknown:
        raise SystemExit(f"peer: unknown (got {', '.join(unknown)}); expected {', '.join(clients)}")
    cells = []

    def add(cell, **about):
        cells.append({**about, **cell})
        (out / "matrix.json").write_text(json.dumps(cells, indent=1))
        print(line(cells[-1]), flush=True)

    for name in chosen:
        for cc in options.cc:
            for seed in range(1, options.seeds + 1):
                folder = out / f"client-{name}-{cc.replace(':', '-')}-{seed}"
                add(cell(folder, clients[name], peers.our_server(cc), options, peers, cc, seed),
                    peer=name, role="client", cc=cc, seed=seed)
        if name in servers:
            folder = out / f"server-{name}"
            add(cell(folder, peers.our_client(options.cc[0]), servers[name], options, peers),
                peer=name, role="server")
    return cells


def line(cell):
    """A cell as it is printed when it is there."""
    who = f"{cell['peer']} as {cell['role']}"
    if "cc" in cell:
        who += f", {cell['cc']}, seed {cell['seed']}"
    if cell["outcome"] != "ok":
        return f"{who}: {cell['outcome']}: {cell['reason']}"
    return f"{who}: ok" + (f", {cell['share']:.1%} of the limit" if "share" in cell else "")


def table(cells):
    """The matrix and the behaviour, in Markdown; and whether petra keeps what it has."""
    lines = ["| peer | client to us | our client to it |", "|---|---|---|"]
    names = list(dict.fromkeys(c["peer"] for c in cells))
    for name in names:
        outcome = lambda role: worst([c["outcome"] for c in cells if c["peer"] == name and c["role"] == role])
        lines.append(f"| {name} | {outcome('client')} | {outcome('server')} |")
    lines += ["", "| peer | controller | of the limit | to quiche's | estimate / true rate | queue ms (p95) "
              "| packets per ACK | lost | spurious |", "|---|---|---|---|---|---|---|---|---|"]
    short, base = [], {}
    for name in sorted(names, key=lambda name: name != OURS):
        for cc in dict.fromkeys(c["cc"] for c in cells if "cc" in c):
            runs = [c for c in cells if c["peer"] == name and c.get("cc") == cc and c["outcome"] == "ok"]
            if not runs:
                continue
            median = lambda key: statistics.median(r[key] for r in runs)
            share = median("share")
            base.setdefault(cc, share) if name == OURS else None
            kept = share / base[cc] if cc in base else None
            if cc == "petra" and kept is not None and kept < KEEPS:
                short.append(f"petra has {kept:.1%} of its utilisation with {name}, less than {KEEPS:.0%}")
            guess = f"{median('estimate'):.2f}" if runs[0]["estimate"] else ""
            per_ack = median("packets") / max(1, median("acks"))
            lines.append(
                f"| {name} | {cc} | {share:.1%} | {f'{kept:.1%}' if kept else ''} | {guess} "
                f"| {median('queue_ms'):.1f} ({median('queue_ms_p95'):.1f}) | {per_ack:.1f} "
                f"| {median('lost'):.0f} | {median('spurious'):.0f} |")
    return lines, short


def worst(outcomes):
    for outcome in ("FAILED", "missing", "late", "ok"):
        if outcome in outcomes:
            return outcome
    return "-"
