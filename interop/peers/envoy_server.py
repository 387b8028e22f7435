"""envoy_server.py ENVOY FILE: Envoy answers every request over HTTP/3 with a file."""

import json
import os
import sys

envoy, path = sys.argv[1:]
HTTP = "type.googleapis.com/envoy.extensions"
config = {
    "static_resources": {
        "listeners": [{
            "address": {"socket_address": {"protocol": "UDP", "address": "0.0.0.0", "port_value": 443}},
            "udp_listener_config": {"quic_options": {}},
            "filter_chains": [{
                "transport_socket": {
                    "name": "envoy.transport_sockets.quic",
                    "typed_config": {
                        "@type": f"{HTTP}.transport_sockets.quic.v3.QuicDownstreamTransport",
                        "downstream_tls_context": {"common_tls_context": {"tls_certificates": [{
                            "certificate_chain": {"filename": "/certs/cert.pem"},
                            "private_key": {"filename": "/certs/priv.key"},
                        }]}},
                    },
                },
                "filters": [{
                    "name": "envoy.filters.network.http_connection_manager",
                    "typed_config": {
                        "@type": f"{HTTP}.filters.network.http_connection_manager.v3.HttpConnectionManager",
                        "codec_type": "HTTP3",
                        "stat_prefix": "quic",
                        "http3_protocol_options": {},
                        "route_config": {
                            "max_direct_response_body_size_bytes": 1 << 30,
                            "virtual_hosts": [{
                                "name": "all", "domains": ["*"],
                                "routes": [{"match": {"prefix": "/"}, "direct_response": {
                                    "status": 200, "body": {"filename": path}}}],
                            }],
                        },
                        "http_filters": [{
                            "name": "envoy.filters.http.router",
                            "typed_config": {"@type": f"{HTTP}.filters.http.router.v3.Router"},
                        }],
                    },
                }],
            }],
        }],
    },
}
os.execv(envoy, [envoy, "--config-yaml", json.dumps(config), "--concurrency", "1",
                 "--use-dynamic-base-id", "--log-level", "warning"])
