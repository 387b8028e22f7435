"""chromium_client.py CHROMIUM FINGERPRINT URL FILE: a download in a page of the same
server, which says what it was fetched over."""

import base64
import re
import subprocess
import sys
from urllib.parse import urljoin, urlsplit

chromium, fingerprint, url, path = sys.argv[1:]
flags = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    f"--origin-to-force-quic-on={urlsplit(url).netloc}",
    f"--ignore-certificate-errors-spki-list={fingerprint}",
    f"--user-data-dir={path}.profile",
    # What it would call out for.
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--no-first-run", "--no-default-browser-check",
    "--disable-features=OptimizationHints,MediaRouter,Translate",
    # Until the download has ended: with a clock of its own, which waits for it.
    "--virtual-time-budget=100000",
    "--dump-dom",
]
done = subprocess.run([chromium, *flags, urljoin(url, "/page.html")], capture_output=True,
                      text=True, timeout=150)
protocol = re.search(r"<p>(.*?)</p>", done.stdout)
body = re.search(r"<pre>(.*?)</pre>", done.stdout)
if not protocol or not body:
    sys.exit(f"the page has nothing to show: {done.stdout[:300]} {done.stderr[-1000:]}")
if protocol[1] != "h3":
    sys.exit(f"it was not HTTP/3 but {protocol[1]}")
with open(path, "wb") as file:
    file.write(base64.b64decode(body[1]))
