"""The peers: how each is called, as client and as server, in a chroot of its own."""

import shutil
from pathlib import Path

import certificates
from testbed import SERVER

HERE = Path(__file__).resolve().parent.parent / "peers"
URL = f"https://{SERVER}:443/body"
OUT = "/downloads/body"
# Stacks of the programs in interop/peers/h3.
ON_H3 = ("quinn", "s2n-quic", "msquic")


class Peers:
    """What `interop/peers/install` has left in `target`, and our own pair."""

    def __init__(self, target, profile="debug"):
        self.programs = Path(target) / profile
        self.examples = self.programs / "examples"
        self.installed = Path(target) / "interop"
        self.python = self.installed / "python/bin/python"
        self.envoy = self.installed / "python/bin/envoy"
        self.aioquic = self.installed / "aioquic/examples"
        self.quic_go = self.installed / "quic-go"
        self.tokio_quiche = Path(target) / "tokio-quiche" / profile / "petra-on-tokio-quiche"
        self.stacks = Path(target) / "stacks" / profile / "stacks-endpoint"

    def on_h3(self, stack, *words):
        """The command of a program of interop/peers/h3."""
        return [self.installed / f"h3/release/{stack}-peer", *words]

    # The interop runner's contract: commands by the environment they run in.

    def contract(self):
        """Endpoints of the contract: name, client, server."""
        ours = lambda env: [self.programs / "petra-endpoint"]
        pairs = {"petra": (ours, ours)}
        if (self.quic_go / "client").exists():
            pairs["quic-go"] = (
                lambda env: [self.quic_go / "client", *env["REQUESTS"].split()],
                lambda env: [self.quic_go / "server"],
            )
        return pairs

    # HTTP/3.

    def our_server(self, cc):
        return [self.examples / "http3-server", "--listen", "0.0.0.0:443", "--root", "/www",
                "--cert", "/certs/cert.pem", "--key", "/certs/priv.key", "--cc", cc,
                "--qlog", "/logs/qlog", "--keylog", "/logs/keys.log"]

    def our_client(self, cc):
        return [self.examples / "http3-client", "--insecure", "--json", "--cc", cc,
                "-o", "/downloads", "--qlog", "/logs/qlog", "--keylog", "/logs/keys.log", URL]

    def clients(self, certs):
        """Commands of all peers that are clients; None for one that is missing."""
        script = lambda name, *rest: [self.python, HERE / name, *rest]
        chromium = shutil.which("chromium")
        commands = {
            "quiche": self.our_client("cubic"),
            "ngtcp2": ["gtlsclient", "--quiet", "--exit-on-all-streams-close", "--timeout=30s",
                       "--download=/downloads", "--qlog-dir=/logs/qlog", SERVER, "443", URL],
            "quic-go": [self.quic_go / "client", URL],
            "aioquic": [self.python, self.aioquic / "http3_client.py", "--insecure",
                        "--output-dir", "/downloads", URL],
            "curl_cffi": script("curl_cffi_client.py", URL, OUT),
            "niquests": script("niquests_client.py", URL, OUT),
            "envoy": script("envoy_client.py", self.envoy, URL, OUT),
            **{stack: self.on_h3(stack, "client", URL, "/certs/ca.pem", OUT) for stack in ON_H3},
            "chromium": script("chromium_client.py", chromium, certificates.fingerprint(certs), URL, OUT),
        }
        needs = {"envoy": self.envoy, "chromium": chromium}
        return {
            name: command if shutil.which(command[0]) and needs.get(name, "sh") and
            shutil.which(needs.get(name, "sh")) else None
            for name, command in commands.items()
        }

    def servers(self):
        """Commands of all peers that serve /www; None for one that is missing."""
        cert, key = "/certs/cert.pem", "/certs/priv.key"
        commands = {
            "quiche": self.our_server("cubic"),
            "ngtcp2": ["gtlsserver", "--quiet", "-d", "/www", "*", "443", key, cert],
            "quic-go": [self.quic_go / "server"],
            "aioquic": [self.python, self.aioquic / "http3_server.py", "--host", "0.0.0.0",
                        "--port", "443", "-c", cert, "-k", key],
            "envoy": [self.python, HERE / "envoy_server.py", self.envoy, "/www/body"],
            **{stack: self.on_h3(stack, "server", "/www", cert, key) for stack in ON_H3},
        }
        missing = lambda name, command: (
            not shutil.which(command[0]) or name == "envoy" and not shutil.which(self.envoy))
        return {n: None if missing(n, c) else c for n, c in commands.items()}

    def measuring_client(self):
        """Our client that keeps no bodies."""
        return [self.examples / "http3-client", "--insecure"]

    def measured(self):
        """Pairs whose speed is compared: server, and client of a URL by a number of downloads. They
        serve /bytes/<n>, and write neither bodies nor logs."""
        cert, key = "/certs/cert.pem", "/certs/priv.key"
        listen = ["--listen", "0.0.0.0:443", "--cert", cert, "--key", key]
        client = lambda url, count: [*self.measuring_client(), "--parallel", 100, "--repeat", count, url]
        pairs = {f"quiche, `{cc}`": ([self.examples / "http3-server", *listen, "--cc", cc], client)
                 for cc in ("petra", "cubic")}
        pairs["tokio-quiche"] = ([self.tokio_quiche, *listen, "--cc", "cubic"], client)
        pairs |= {stack: (
            self.on_h3(stack, "server", "/www/bytes", cert, key),
            lambda url, count, stack=stack: self.on_h3(stack, "client", url, "/certs/ca.pem", "/dev/null", count))
            for stack in ON_H3}
        pairs["ngtcp2"] = (
            ["gtlsserver", "--quiet", "-d", "/www", "*", "443", key, cert],
            lambda url, count: ["gtlsclient", "--quiet", "--exit-on-all-streams-close",
                                "-n", count, "127.0.0.1", "443", url])
        pairs["quic-go"] = ([self.quic_go / "server"],
                            lambda url, count: [self.quic_go / "client", *[url] * count])
        return {name: pair for name, pair in pairs.items() if shutil.which(pair[0][0])}


# What the peers take from the environment.
ENVIRONMENT = {
    "TESTCASE": "http3",
    "REQUESTS": URL,
    "SSLKEYLOGFILE": "/logs/keys.log",
    "QLOGDIR": "/logs/qlog/",
    "STATIC_ROOT": "/www",
}
