//! Tokens of Retry packets, by which a client shows that it receives at its address.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use boring::error::ErrorStack;
use boring::hash::hmac_sha256;
use boring::memcmp;
use boring::rand::rand_bytes;

/// Time for which a token is valid. A client repeats it with its first packets, after pauses that
/// double, until one of them is answered. It takes no second token.
const LIFETIME: Duration = Duration::from_secs(60);

/// Bytes of the time in a token.
const TIME: usize = size_of::<u64>();

/// Bytes of the authentication code in a token.
const CODE: usize = 32;

/// The issuer of tokens, with a key of its own. A token is the time in ms since the issuer began,
/// an authentication code, and the connection ID that the client chose at first.
pub(crate) struct Tokens {
    key: [u8; 32],
    begun: Instant,
}

/// The exchange that a token belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Exchange<'a> {
    /// Address of the client.
    pub(crate) client: SocketAddr,
    /// Connection ID in the Retry packet, which the client uses after it.
    pub(crate) retry_id: &'a [u8],
}

impl Tokens {
    pub(crate) fn new() -> Result<Tokens, ErrorStack> {
        let mut key = [0; 32];
        rand_bytes(&mut key)?;
        Ok(Tokens {
            key,
            begun: Instant::now(),
        })
    }

    /// A token for a client that chose the connection ID `original` at first.
    pub(crate) fn issue(
        &self,
        exchange: Exchange,
        original: &[u8],
        now: Instant,
    ) -> Result<Vec<u8>, ErrorStack> {
        let time = self.time(now);
        let code = self.code(exchange, original, time)?;
        Ok([&time.to_be_bytes()[..], &code, original].concat())
    }

    /// Returns the client's first choice of a connection ID, if the token is valid.
    pub(crate) fn original<'a>(
        &self,
        exchange: Exchange,
        token: &'a [u8],
        now: Instant,
    ) -> Option<&'a [u8]> {
        let (time, rest) = token.split_at_checked(TIME)?;
        let (code, original) = rest.split_at_checked(CODE)?;
        let time = u64::from_be_bytes(time.try_into().ok()?);
        let expected = self.code(exchange, original, time).ok()?;
        // In constant time: whoever forges a code must not learn how much of it is right.
        if !memcmp::eq(code, &expected) {
            return None;
        }
        let age = Duration::from_millis(self.time(now).saturating_sub(time));
        (age <= LIFETIME).then_some(original)
    }

    fn time(&self, now: Instant) -> u64 {
        (now - self.begun).as_millis() as u64
    }

    fn code(
        &self,
        exchange: Exchange,
        original: &[u8],
        time: u64,
    ) -> Result<[u8; CODE], ErrorStack> {
        let address = match exchange.client.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let text = [
            &time.to_be_bytes()[..],
            &address.octets(),
            &exchange.client.port().to_be_bytes(),
            // With its length, so that no other pair of IDs has the same text.
            &[exchange.retry_id.len() as u8],
            exchange.retry_id,
            original,
        ];
        hmac_sha256(&self.key, &text.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGINAL: &[u8] = b"original";

    fn exchange() -> Exchange<'static> {
        Exchange {
            client: "192.0.2.1:50000".parse().unwrap(),
            retry_id: b"retry id",
        }
    }

    #[test]
    fn a_token_has_the_original_id_until_it_expires() {
        let (tokens, now) = (Tokens::new().unwrap(), Instant::now());
        let token = tokens.issue(exchange(), ORIGINAL, now).unwrap();
        let original = |after| tokens.original(exchange(), &token, now + after);
        assert_eq!(original(Duration::ZERO), Some(ORIGINAL));
        assert_eq!(original(LIFETIME), Some(ORIGINAL));
        assert_eq!(original(LIFETIME + Duration::from_millis(1)), None);
    }

    #[test]
    fn a_token_is_for_one_exchange_with_one_server() {
        let (tokens, now) = (Tokens::new().unwrap(), Instant::now());
        let token = tokens.issue(exchange(), ORIGINAL, now).unwrap();
        for client in ["192.0.2.2:50000", "192.0.2.1:50001", "[2001:db8::1]:50000"] {
            let client = client.parse().unwrap();
            let other = Exchange {
                client,
                ..exchange()
            };
            assert_eq!(tokens.original(other, &token, now), None, "{client}");
        }
        let other = Exchange {
            retry_id: b"retry i",
            ..exchange()
        };
        assert_eq!(tokens.original(other, &token, now), None);
        let other = Tokens::new().unwrap();
        assert_eq!(other.original(exchange(), &token, now), None);
    }

    #[test]
    fn a_changed_or_cut_token_is_invalid() {
        let (tokens, now) = (Tokens::new().unwrap(), Instant::now());
        let token = tokens.issue(exchange(), ORIGINAL, now).unwrap();
        for byte in 0..token.len() {
            let mut changed = token.clone();
            changed[byte] ^= 1;
            assert_eq!(tokens.original(exchange(), &changed, now), None, "{byte}");
            let cut = &token[..byte];
            assert_eq!(tokens.original(exchange(), cut, now), None, "{byte}");
        }
    }
}
