"""niquests_client.py URL FILE: a download with qh3 under niquests."""

import sys
from urllib.parse import urlsplit

import niquests

url, path = sys.argv[1:]
parts = urlsplit(url)
# Told that the server has HTTP/3, it does not ask over TCP first.
with niquests.Session(quic_cache_layer={(parts.hostname, parts.port): ("", parts.port)}) as session:
    response = session.get(url, verify=False, timeout=120)
    response.raise_for_status()
    if response.http_version != 30:
        sys.exit(f"it was not HTTP/3 but version {response.http_version}")
    with open(path, "wb") as file:
        file.write(response.content)
