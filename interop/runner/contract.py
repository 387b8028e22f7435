"""One test case of the interop runner, between two endpoints that keep its contract."""

import filecmp
import os
import secrets
import string
import sys
from pathlib import Path

import certificates
import trace
from cases import LINK, Seen
from testbed import SERVER, Trouble, chroot, complete, judged, transfer

UNSUPPORTED = 127
OK, FAILED, NOT_SUPPORTED, LATE = "ok", "FAILED", "unsupported", "late"
# A TCP flow beside the transfer.
TCP = Path(__file__).with_name("tcp.py")


class Result:
    """How a run ended, why, and what it measured."""

    def __init__(self, outcome, reason="", kbps=None):
        self.outcome, self.reason, self.kbps = outcome, reason, kbps


def files(folder, case):
    """Random files, and their names."""
    folder.mkdir(parents=True)
    names = []
    for number, size in enumerate(case.files):
        name = f"file-{number}"
        if case.name_length:
            letters = (secrets.choice(string.ascii_lowercase) for _ in range(case.name_length))
            name = "".join(letters)
        (folder / name).write_bytes(os.urandom(size))
        names.append(name)
    return names


def run(case, client, server, folder, programs, cc):
    """Runs `case` with two commands, and judges it if the machine kept time."""
    attempt = lambda: once(case, client, server, folder, programs, cc)
    result, counts = judged(folder, lambda result: result.outcome == FAILED, attempt)
    return result if counts else Result(LATE, result.reason)


def once(case, client, server, folder, programs, cc):
    """Runs `case`, and judges it. All that it makes is in `folder`."""
    (folder / "server").mkdir(parents=True)
    names = files(folder / "server" / "www", case)
    certs = certificates.make(folder / "server" / "certs", case.big_certificate)
    (folder / "client" / "certs").mkdir(parents=True)
    for name in ("ca.pem", "cert.pem"):
        (folder / "client" / "certs" / name).write_bytes((certs / name).read_bytes())

    def environment(role):
        return {
            "ROLE": role,
            "TESTCASE": getattr(case, role),
            "REQUESTS": " ".join(f"https://{case.host}:443/{name}" for name in names),
            "SSLKEYLOGFILE": "/logs/keys.log",
            "QLOGDIR": "/logs/qlog/",
            "CLIENT_PARAMS": "",
            "SERVER_PARAMS": "",
            "CC": cc,
        }

    def end(role, command):
        return chroot(folder / role, command(environment(role)), environment(role))

    try:
        record = transfer(programs, folder, link_of(case), end("server", server), end("client", client),
                          case.timeout, beside=crossing(case, folder), captures=True)
        if not record["listening"] and record["server"] == UNSUPPORTED:
            return Result(NOT_SUPPORTED, "by the server")
        if record["client"] == UNSUPPORTED:
            return Result(NOT_SUPPORTED, "by the client")
        complete(record, case.timeout)
        return judge(case, folder, names)
    except Trouble as trouble:
        return Result(FAILED, str(trouble))


def link_of(case):
    """The runner's link, with what the case changes."""
    options = dict(zip(LINK[::2], LINK[1::2]))
    rest = list(case.link)
    if rest[:1] == ["--delay"]:
        options["--delay"] = rest[1]
        rest = rest[2:]
    return [word for pair in options.items() for word in pair] + rest


def crossing(case, folder):
    """A TCP flow of CUBIC's from server to client, where the case has one."""
    if not case.cross_traffic:
        return []
    flow = lambda end: chroot(folder / f"tcp-{end}", [sys.executable, TCP, end, SERVER], {})
    return [(end, flow(end)) for end in ("server", "client")]


def judge(case, folder, names):
    """The runner's criteria."""
    for name in names:
        got, sent = folder / "client/downloads" / name, folder / "server/www" / name
        if not got.exists():
            raise Trouble(f"{name} was not downloaded")
        if not filecmp.cmp(got, sent, shallow=False):
            raise Trouble(f"{name} is not what the server has")
    keys = [folder / end / "logs/keys.log" for end in ("client", "server")]
    keys = [path for path in keys if path.exists() and path.stat().st_size][:1]
    seen = Seen(*(trace.read(folder / "captures" / f"{end}.pcap", keys) for end in ("client", "server")))
    versions = {v for d in seen.at_client for v in d.version if int(v, 0)}
    # A corrupted version is nobody's.
    if "corruption" not in case.name and {int(v, 0) for v in versions} != {1}:
        raise Trouble(f"versions {sorted(versions)}, expected 1 alone")
    if case.name == "handshake" and any(trace.RETRY in d.types for d in seen.at_client):
        raise Trouble("a Retry packet, which nobody asked for")
    count = trace.handshakes(seen.at_server)
    if count != case.handshakes:
        raise Trouble(f"{count} handshakes, expected {case.handshakes}")
    reason = case.check(seen)
    if reason:
        raise Trouble(reason)
    kbps = None
    if case.measured:
        times = [trace.when(d) for d in seen.at_client if trace.from_server(d) and trace.is_one_rtt(d)]
        kbps = 8 * sum(case.files) / (max(times) - min(times)) / 1000
    return Result(OK, kbps=kbps)
