//! The runner's test cases: what they ask of an endpoint.

use std::fmt;

/// The role of this endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Client => "client",
            Role::Server => "server",
        })
    }
}

/// Requirements of a test case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) http: Http,
    /// The server validates addresses by Retry packets.
    pub(crate) retry: bool,
    pub(crate) connections: Connections,
    /// The client offers ChaCha20-Poly1305 only.
    pub(crate) only_chacha20: bool,
}

/// The application protocol over QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Http {
    /// HTTP/0.9, ALPN `hq-interop`.
    Hq,
    /// HTTP/3.
    Three,
}

/// Distribution of a client's requests over connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connections {
    /// All over one.
    One,
    /// Each has its own, one after the other.
    Each,
    /// The first has one, and the others share one that resumes it; `early`:
    /// which sends them as early data.
    Resumed { early: bool },
}

impl Case {
    /// The test case of this name. `None` when it is unknown, or is what quiche
    /// 0.30.0 cannot do: as client, it has no way to begin a key update; as either
    /// end, no ECN, version 2 or preferred address.
    pub(crate) fn named(name: &str, role: Role) -> Option<Case> {
        let plain = Case {
            http: Http::Hq,
            retry: false,
            connections: Connections::One,
            only_chacha20: false,
        };
        let case = match name {
            // These differ by the network, or by what is requested.
            "handshake" | "longrtt" | "transfer" | "multiplexing" | "blackhole"
            | "amplificationlimit" | "transferloss" | "transfercorruption" | "ipv6"
            | "rebind-port" | "rebind-addr" | "goodput" | "crosstraffic" => plain,
            // The peer's part: a server answers.
            "keyupdate" if role == Role::Server => plain,
            // The client's part: a server takes what it is offered.
            "chacha20" => Case {
                only_chacha20: role == Role::Client,
                ..plain
            },
            "http3" => Case {
                http: Http::Three,
                ..plain
            },
            "retry" => Case {
                retry: true,
                ..plain
            },
            "multiconnect" | "handshakeloss" | "handshakecorruption" => Case {
                connections: Connections::Each,
                ..plain
            },
            "resumption" | "zerortt" => Case {
                connections: Connections::Resumed {
                    early: name == "zerortt",
                },
                ..plain
            },
            _ => return None,
        };
        Some(case)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_is_not_supported() {
        for role in [Role::Client, Role::Server] {
            for name in ["", "nonesuch", "ecn", "v2", "connectionmigration"] {
                assert_eq!(Case::named(name, role), None);
            }
        }
    }

    #[test]
    fn a_key_update_is_supported_as_server() {
        assert_eq!(Case::named("keyupdate", Role::Client), None);
        assert!(Case::named("keyupdate", Role::Server).is_some());
    }

    #[test]
    fn only_the_client_of_chacha20_offers_nothing_else() {
        let only = |name, role| Case::named(name, role).unwrap().only_chacha20;
        assert!(only("chacha20", Role::Client));
        assert!(!only("chacha20", Role::Server) && !only("handshake", Role::Client));
    }

    #[test]
    fn only_http3_is_not_spoken_over_hq() {
        for name in ["handshake", "goodput", "zerortt", "retry", "multiconnect"] {
            assert_eq!(Case::named(name, Role::Client).unwrap().http, Http::Hq);
        }
        let http3 = Case::named("http3", Role::Server).unwrap();
        assert_eq!(http3.http, Http::Three);
    }
}
