"""envoy_client.py ENVOY URL FILE: a download through Envoy, which asks upstream over
HTTP/3 what it is asked over HTTP/1."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit

LOCAL = 8000
envoy, url, path = sys.argv[1:]
server = urlsplit(url)
HTTP = "type.googleapis.com/envoy.extensions"


def address(host, port):
    return {"socket_address": {"address": host, "port_value": port}}


config = {
    "static_resources": {
        "listeners": [{
            "address": address("127.0.0.1", LOCAL),
            "filter_chains": [{"filters": [{
                "name": "envoy.filters.network.http_connection_manager",
                "typed_config": {
                    "@type": f"{HTTP}.filters.network.http_connection_manager.v3.HttpConnectionManager",
                    "stat_prefix": "local",
                    "route_config": {"virtual_hosts": [{
                        "name": "all", "domains": ["*"],
                        "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "peer", "timeout": "0s"}}],
                    }]},
                    "http_filters": [{
                        "name": "envoy.filters.http.router",
                        "typed_config": {"@type": f"{HTTP}.filters.http.router.v3.Router"},
                    }],
                },
            }]}],
        }],
        "clusters": [{
            "name": "peer",
            "type": "STATIC",
            "load_assignment": {"cluster_name": "peer", "endpoints": [{"lb_endpoints": [
                {"endpoint": {"address": address(server.hostname, server.port)}}]}]},
            "typed_extension_protocol_options": {
                "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                    "@type": f"{HTTP}.upstreams.http.v3.HttpProtocolOptions",
                    "explicit_http_config": {"http3_protocol_options": {}},
                },
            },
            "transport_socket": {
                "name": "envoy.transport_sockets.quic",
                "typed_config": {
                    "@type": f"{HTTP}.transport_sockets.quic.v3.QuicUpstreamTransport",
                    "upstream_tls_context": {
                        "sni": "server4",
                        "common_tls_context": {"validation_context": {
                            "trusted_ca": {"filename": "/certs/ca.pem"}}},
                    },
                },
            },
        }],
    },
}
with subprocess.Popen([envoy, "--config-yaml", json.dumps(config), "--concurrency", "1",
                       "--base-id-path", "/logs/base-id", "--use-dynamic-base-id",
                       "--log-level", "warning"]) as running:
    try:
        for _ in range(200):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{LOCAL}{server.path}") as response:
                    body = response.read()
                break
            except urllib.error.HTTPError:
                raise
            # It does not listen yet.
            except urllib.error.URLError:
                time.sleep(0.1)
        else:
            sys.exit("Envoy does not listen")
        with open(path, "wb") as file:
            file.write(body)
    finally:
        running.terminate()
