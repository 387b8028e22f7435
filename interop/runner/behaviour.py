"""What our sender did, by its qlog and by what the link saw: not only that bytes arrived."""

import json
import subprocess
from pathlib import Path

from place import Trouble

# A payload of 1350 bytes, of which this many are the body, in an IP packet of 1378.
PAYLOAD, PACKET, HEADERS = 1350, 1378, 30


def trace(folder):
    """The one qlog with data of a run: reconnections leave more, with none."""
    logs = [p for p in Path(folder).glob("*.sqlog") if not p.name.endswith(".qvis.sqlog")]
    if not logs:
        raise Trouble("our end left no qlog")
    return max(logs, key=lambda path: path.stat().st_size)


def estimate(path):
    """The median of PETRA's estimate over the second half of the transfer, by time, in
    bits per second; None for a controller that has none."""
    points = []
    for line in open(path, encoding="utf-8", errors="replace"):
        if "petra_bandwidth_estimate" in line:
            event = json.loads(line.lstrip("\x1e"))
            points.append((event["time"], event["data"]["petra_bandwidth_estimate"] * 8))
    if not points:
        return None
    half = (points[0][0] + points[-1][0]) / 2
    late = [(t, v) for t, v in points if t >= half]
    spans = sorted((v, after[0] - t) for (t, v), after in zip(late, late[1:] + late[-1:]))
    whole, below = sum(span for _, span in spans), 0
    for value, span in spans:
        below += span
        if below >= whole / 2:
            return value


def goodput(path):
    """Bits per second of the largest stream, which is the body, from its first packet
    to its last: what was sent before, or asked for late, is no matter of the sender's."""
    first, last, end = {}, {}, {}
    for line in open(path, encoding="utf-8", errors="replace"):
        if ":packet_sent" in line and '"stream_id"' in line:
            event = json.loads(line.lstrip("\x1e"))
            for frame in event["data"]["frames"]:
                if frame["frame_type"] == "stream":
                    stream = frame["stream_id"]
                    first.setdefault(stream, event["time"])
                    last[stream] = event["time"]
                    reach = frame["offset"] + frame["raw"]["payload_length"]
                    end[stream] = max(end.get(stream, 0), reach)
    if not end:
        raise Trouble("our qlog has no stream data")
    body = max(end, key=end.get)
    return 8000 * end[body] / (last[body] - first[body])


def of(server, link, lab, rate, loss):
    """Figures of a run: `server` is our server's folder, `link` the link's report."""
    path = trace(server / "logs/qlog")
    done = subprocess.run([lab, "qlog", "stats", "--json", path], capture_output=True, text=True)
    if done.returncode:
        raise Trouble(f"our qlog is not right: {done.stderr.strip()}")
    stats = json.loads(done.stdout.splitlines()[0])
    down, rate_of_body = link["down"], goodput(path)
    limit = rate * (1 - loss) * (PAYLOAD - HEADERS) / PACKET
    guessed = estimate(path)
    lost = down["lost"] + down["overflowed"]
    return {
        "share": rate_of_body / limit,
        "goodput_bps": rate_of_body,
        "estimate": guessed and guessed / (rate * PAYLOAD / PACKET),
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
