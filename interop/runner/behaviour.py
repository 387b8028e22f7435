"""What our sender did, by its qlog and by what the link saw: not only that bytes arrived."""

import json
import subprocess
from pathlib import Path

from place import Trouble


def trace(folder):
    """The one qlog with data of a run: reconnections leave more, with none."""
    logs = [p for p in Path(folder).glob("*.sqlog") if not p.name.endswith(".qvis.sqlog")]
    if not logs:
        raise Trouble("our end left no qlog")
    return max(logs, key=lambda path: path.stat().st_size)


def of(server, link, lab):
    """Figures of a run: `server` is our server's folder, `link` the link's report."""
    path = trace(server / "logs/qlog")
    done = subprocess.run([lab, "qlog", "stats", "--json", path], capture_output=True, text=True)
    if done.returncode:
        raise Trouble(f"our qlog is not right: {done.stderr.strip()}")
    stats = json.loads(done.stdout.splitlines()[0])
    if stats["body_bps"] is None:
        raise Trouble("our qlog has no stream data")
    down, limit, guessed = link["down"], link["limit"], stats["estimate_bps"]
    lost = down["lost"] + down["overflowed"]
    return {
        "share": stats["body_bps"] / limit["goodput_bps"],
        "goodput_bps": stats["body_bps"],
        "estimate": guessed and guessed / limit["payload_bps"],
        "queue_ms": down["queue_ms"],
        "queue_ms_p95": down["queue_ms_p95"],
        "packets": down["packets"],
        "lost": lost,
        "declared_lost": stats["packets_lost"],
        # More than the link has lost can only be what arrived after all. A lost
        # packet may also be one that asks for no acknowledgment.
        "spurious": max(0, stats["packets_lost"] - lost),
        "acks": link["up"]["packets"],
        "reductions": stats["reductions"],
        "seconds": stats["seconds"],
    }
