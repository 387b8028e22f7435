//! Events' names in qlog 0.3.

/// Prefix of an event's name, and the prefix for qvis.
pub(super) struct Name {
    pub(super) length: usize,
    pub(super) instead: &'static str,
}

impl Name {
    /// qlog 0.3 has more categories than 0.4.
    pub(super) fn of(name: &str) -> Self {
        let (length, instead) = match name.split_once(':') {
            Some(("http3", _)) => (5, "http"),
            Some(("quic", event)) => match event {
                "recovery_metrics_updated" => (name.len(), "recovery:metrics_updated"),
                "recovery_parameters_set" => (name.len(), "recovery:parameters_set"),
                "packet_lost"
                | "congestion_state_updated"
                | "timer_updated"
                | "marked_for_retransmit" => (4, "recovery"),
                "server_listening"
                | "connection_started"
                | "connection_closed"
                | "connection_id_updated"
                | "connection_state_updated"
                | "spin_bit_updated"
                | "mtu_updated"
                | "path_assigned" => (4, "connectivity"),
                "key_updated" | "key_discarded" => (4, "security"),
                _ => (4, "transport"),
            },
            _ => (0, ""),
        };
        Name { length, instead }
    }
}
