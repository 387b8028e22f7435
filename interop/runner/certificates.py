"""Certificates of the servers: an authority and a leaf."""

from pathlib import Path

from testbed import SERVER, SERVER6, output

NAMES = ["server", "server4", "server6", "server46", "localhost"]


def make(folder, big=False):
    """Leaves ca.pem, cert.pem (leaf, then authority) and priv.key in `folder`. With
    `big` the leaf has names enough for several datagrams."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "cert.pem").exists():
        return folder
    openssl = lambda *words: output("openssl", *words, cwd=folder)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-days", "10", "-subj", "/CN=interop authority",
            "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", *key, "-subj", "/CN=server", "-keyout", "priv.key", "-out", "leaf.csr")
    names = NAMES + [f"a-name-that-takes-up-room-{n}.example" for n in range(200 if big else 0)]
    alternatives = [f"DNS:{name}" for name in names] + [f"IP:{a}" for a in (SERVER, SERVER6, "127.0.0.1")]
    (folder / "leaf.txt").write_text(
        "basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n"
        f"subjectAltName={','.join(alternatives)}\n"
    )
    leaf = openssl("x509", "-req", "-in", "leaf.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                   "-CAcreateserial", "-days", "10", "-extfile", "leaf.txt")
    (folder / "cert.pem").write_text(leaf + (folder / "ca.pem").read_text())
    return folder


def fingerprint(folder):
    """The hash of the leaf's public key, in base64, as Chromium wants it."""
    command = ("openssl x509 -in cert.pem -pubkey -noout | openssl pkey -pubin -outform der"
               " | openssl dgst -sha256 -binary | openssl base64")
    return output("sh", "-c", command, cwd=folder).strip()
