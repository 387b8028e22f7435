//! Datagrams of strangers, to a server that accepts connections as the example does.

use std::collections::HashMap;

use boring::hash::hmac_sha256;
use petra_http3::accept::{Acceptor, ID_LEN};
use petra_http3::Connection;
use quiche::{Config, ConnectionId, Header, RecvInfo, MIN_CLIENT_INITIAL_LEN};

use super::{Actions, ACTIONS, CLIENT, SERVER, SETTING};
use crate::heap;
use crate::keys::{expand, Keys, NUMBER, TAG};

/// Most bytes that a connection without a handshake may hold.
const PER_CONNECTION: usize = 200_000;

/// RFC 9001, Section 5.2.
const INITIAL_SALT: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad,
    0xcc, 0xbb, 0x7f, 0x0a,
];

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
            let mut packet = Initial {
                version: quiche::PROTOCOL_VERSION,
                dcid: own.clone(),
                token: vec![],
                number: count as u32,
            };
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

/// A client's first packet.
struct Initial {
    version: u32,
    dcid: Vec<u8>,
    token: Vec<u8>,
    number: u32,
}

impl Initial {
    /// A datagram with these frames, whose protection is right.
    fn seal(&self, frames: &[u8]) -> Vec<u8> {
        let frames = padded(frames);
        let id = |id: &[u8]| [&[id.len() as u8], id].concat();
        let length = (NUMBER + frames.len() + TAG) as u32;
        let token_len = 0x4000 | (self.token.len() as u16).min(0x3fff);
        let header = [
            &[0xc0 | (NUMBER as u8 - 1)],
            &self.version.to_be_bytes()[..],
            &id(&self.dcid),
            &id(b"stranger"),
            &token_len.to_be_bytes(),
            &self.token,
            &(0x8000_0000 | length).to_be_bytes(),
        ];
        let secret = hmac_sha256(&INITIAL_SALT, &self.dcid).expect("HMAC");
        let keys = Keys::of_secret(&expand(&secret, "client in", 32));
        keys.seal(&header.concat(), self.number, &frames)
    }
}

/// The frames, or the datagram, of the least size that a server answers.
fn padded(data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    data.resize(data.len().max(MIN_CLIENT_INITIAL_LEN), 0);
    data
}
