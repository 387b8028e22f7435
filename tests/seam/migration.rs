//! A client that moves to another address in the middle of a transfer.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::pair::{config, tls, Pair};
use quiche::ConnectionId;

const BYTES: usize = 500_000;

/// After this a transfer hangs.
const MAX_WAIT: Duration = Duration::from_secs(60);

#[test]
fn a_transfer_survives_migrations() {
    petra::register();
    let of_quiche = ["reno", "cubic", "bbr2"].into_iter();
    for name in of_quiche.chain(petra::registry::names()) {
        let mut config = config(tls());
        config.set_cc_algorithm_name(name).unwrap();
        let mut pair = Pair::new(config);
        pair.ask();
        // Each path has IDs of its own.
        for number in 1..4 {
            for (end, first) in [(&mut pair.client, 10), (&mut pair.server, 20)] {
                let id = [first + number; 16];
                let id = ConnectionId::from_ref(&id);
                end.new_scid(&id, number.into(), false).unwrap();
            }
        }
        // Another port, and another address.
        let mut moves = ["127.0.0.1:3", "127.0.0.2:3"].into_iter();
        let mut at: SocketAddr = "127.0.0.1:1".parse().unwrap();
        let body = vec![1; BYTES];
        let mut buffer = [0; 65_536];
        let (mut written, mut read, begun) = (0, 0, Instant::now());
        while read < BYTES {
            assert!(begun.elapsed() < MAX_WAIT, "{name}: {read} bytes at {at}");
            let rest = &body[written..];
            written += pair.server.stream_send(0, rest, true).unwrap_or(0);
            pair.exchange();
            while let Ok((bytes, _)) = pair.client.stream_recv(0, &mut buffer) {
                read += bytes;
            }
            let step = BYTES / 3 * (3 - moves.len());
            if read > step && moves.len() > 0 {
                at = moves.next().unwrap().parse().unwrap();
                pair.client.migrate_source(at).expect(name);
            }
        }
        assert_eq!(moves.len(), 0, "{name}");
        let active = pair.server.path_stats().find(|path| path.active).unwrap();
        assert_eq!(active.peer_addr, at, "{name}");
    }
}
