//! Initial packets of a client.

use boring::hash::hmac_sha256;
use quiche::MIN_CLIENT_INITIAL_LEN;

use crate::keys::{expand, Keys, NUMBER, TAG};

/// RFC 9001, Section 5.2.
const INITIAL_SALT: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad,
    0xcc, 0xbb, 0x7f, 0x0a,
];

/// A client's first packet.
pub(crate) struct Initial {
    pub(crate) version: u32,
    pub(crate) dcid: Vec<u8>,
    pub(crate) token: Vec<u8>,
    pub(crate) number: u32,
}

impl Initial {
    /// One to this connection ID, without a token.
    pub(crate) fn to(dcid: Vec<u8>) -> Initial {
        Initial {
            version: quiche::PROTOCOL_VERSION,
            dcid,
            token: vec![],
            number: 0,
        }
    }

    /// A datagram with these frames, whose protection is right.
    pub(crate) fn seal(&self, frames: &[u8]) -> Vec<u8> {
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
pub(crate) fn padded(data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    data.resize(data.len().max(MIN_CLIENT_INITIAL_LEN), 0);
    data
}
