//! Datagrams of strangers, to a server that accepts connections as the example does.

use std::collections::HashMap;

use petra_http3::accept::{Acceptor, ID_LEN};
use petra_http3::Connection;
use quiche::{Config, ConnectionId, Header, RecvInfo};

use super::{Actions, ACTIONS, CLIENT, SERVER, SETTING};
use crate::heap;
use crate::initial::{padded, Initial};

/// Most bytes that a connection without a handshake may hold.
const PER_CONNECTION: usize = 200_000;

/// Sends a server the datagrams that `bytes` are. No answer is larger than its datagram, no
/// address gets more than three times what it sent without having shown that it is its own, and
/// each connection begins with a packet that decrypts.
pub(crate) fn first_packets(bytes: &[u8]) {
    SETTING.with_borrow_mut(|setting| {
        let mut server = Server {
            acceptor: Acceptor::new().expect("random keys"),
            all: HashMap::new(),
        };
        let mut retry = None;
        let before = heap::held();
        for (count, (kind, number, data)) in Actions(bytes).take(ACTIONS).enumerate() {
            let own = vec![number; usize::from(number) % 21];
            let mut packet = Initial::to(own.clone());
            packet.number = count as u32;
            let datagram = match kind % 8 {
                0 => data.to_vec(),
                1 => padded(data),
                2 => packet.seal(data),
                3 => {
                    if let Some((id, token)) = &retry {
                        (packet.dcid, packet.token) = (Vec::clone(id), Vec::clone(token));
                    }
                    packet.seal(data)
                }
                4 => {
                    packet.token = data.to_vec();
                    packet.seal(&[])
                }
                5 => {
                    packet.version = data.first_chunk().map_or(0, |it| u32::from_be_bytes(*it));
                    packet.seal(data)
                }
                6 => [&[0x40], &server.acceptor.id(&own)[..], data].concat(),
                _ => [&[0xc0 | kind >> 4, 0, 0, 0, 1], data].concat(),
            };
            let validate = kind & 0x40 != 0;
            let answer = server.receive(datagram, validate, &mut setting.ours);
            if let Some(mut answer) = answer {
                let header = Header::from_slice(&mut answer, ID_LEN).expect("the answer is good");
                let token = header.token.as_ref();
                retry = token.map(|token| (header.scid.to_vec(), token.clone()));
            }
            let held = heap::held() - before;
            let most = PER_CONNECTION * (1 + server.all.len());
            assert!(held < most as isize, "{held} bytes, {}", server.all.len());
        }
    });
}

struct Server {
    acceptor: Acceptor,
    all: HashMap<ConnectionId<'static>, Accepted>,
}

struct Accepted {
    quic: Connection,
    validated: bool,
    received: usize,
    sent: usize,
}

impl Server {
    fn receive(
        &mut self,
        mut datagram: Vec<u8>,
        validate: bool,
        config: &mut Config,
    ) -> Option<Vec<u8>> {
        let (len, info) = (
            datagram.len(),
            RecvInfo {
                from: CLIENT,
                to: SERVER,
            },
        );
        let header = Header::from_slice(&mut datagram, ID_LEN).ok()?;
        let id = match self.all.contains_key(&header.dcid) {
            true => header.dcid.clone(),
            false => self.acceptor.id(&header.dcid),
        };
        if !self.all.contains_key(&id) {
            let accepted = self.acceptor.accept(&header, len, info, validate, config);
            let quic = match accepted {
                Ok(quic) => quic,
                Err(answer) => {
                    assert!(answer.as_ref().is_none_or(|answer| answer.len() <= len));
                    return answer;
                }
            };
            let accepted = Accepted {
                quic,
                validated: validate,
                received: 0,
                sent: 0,
            };
            self.all.insert(id.clone(), accepted);
        }
        let accepted = self.all.get_mut(&id)?;
        accepted.receive(&mut datagram, info);
        if accepted.quic.stats().recv == 0 || accepted.quic.is_closed() {
            self.all.remove(&id);
        }
        None
    }
}

impl Accepted {
    fn receive(&mut self, datagram: &mut [u8], info: RecvInfo) {
        self.received += datagram.len();
        let _ = self.quic.recv(datagram, info);
        assert!(!self.quic.is_established());
        let mut packet = [0; 1_500];
        while let Ok((len, _)) = self.quic.send(&mut packet) {
            self.sent += len;
        }
        let most = 3 * self.received;
        assert!(self.validated || self.sent <= most, "{}", self.sent);
    }
}
