"""curl_cffi_client.py URL FILE: a download with libcurl's HTTP/3."""

import sys

from curl_cffi import CurlHttpVersion, requests

url, path = sys.argv[1:]
response = requests.get(url, http_version=CurlHttpVersion.V3ONLY, verify=False, timeout=120)
response.raise_for_status()
if response.http_version != CurlHttpVersion.V3:
    sys.exit(f"it was not HTTP/3 but {response.http_version}")
with open(path, "wb") as file:
    file.write(response.content)
