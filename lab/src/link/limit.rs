//! The most that a link can carry of a body.

use super::Direction;

/// Bytes of the IPv4 and UDP headers of a datagram.
pub const IP_AND_UDP_HEADERS: usize = 20 + 8;

/// QUIC's own bytes in a full-sized packet that carries one STREAM frame.
const QUIC_OVERHEAD: usize = 1 + 20 + 2 // short header (RFC 9000 17.3.1): flags, a 20-byte connection ID, packet number
    + 16 // AEAD tag (RFC 9001 5.3)
    + 1 + 1 + 4 + 2; // STREAM frame (RFC 9000 19.8): type, stream ID, offset from 16 kB on, length

/// The most HTTP/3 body bits per second that a link can carry: what is left of
/// its rate after losses and after the headers of full-sized packets.
///
/// `rate` is in bits of IP packets per second, `loss` a probability,
/// `max_datagram_size` the UDP payload in bytes. HTTP/3's DATA frame headers,
/// a few bytes for each body, are left out.
pub fn goodput_limit(rate: u64, loss: f64, max_datagram_size: usize) -> f64 {
    let body = max_datagram_size.saturating_sub(QUIC_OVERHEAD);
    let packet = max_datagram_size + IP_AND_UDP_HEADERS;
    rate as f64 * (1.0 - loss) * body as f64 / packet as f64
}

impl Direction {
    /// The [`goodput_limit`] at the fixed rate of this direction, if it has one.
    pub fn goodput_limit(&self, max_datagram_size: usize) -> Option<f64> {
        let limit = |rate| goodput_limit(rate, self.mean_loss(), max_datagram_size);
        self.rate.map(limit)
    }

    /// The most bits of UDP payload per second at this rate, losses aside.
    pub fn payload_limit(&self, max_datagram_size: usize) -> Option<f64> {
        let packet = max_datagram_size + IP_AND_UDP_HEADERS;
        let limit = |rate| rate as f64 * max_datagram_size as f64 / packet as f64;
        self.rate.map(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_limit_is_rate_less_losses_less_headers() {
        // 1350 bytes of UDP payload carry 1303 of body in 1378 of IP.
        let lossless = goodput_limit(13_780_000, 0.0, 1350);
        assert!((lossless - 13_030_000.0).abs() < 1e-3, "{lossless}");
        let halved = goodput_limit(13_780_000, 0.5, 1350);
        assert!((halved - 6_515_000.0).abs() < 1e-3, "{halved}");
        assert_eq!(goodput_limit(10_000_000, 0.0, 20), 0.0);
    }

    #[test]
    fn the_limits_of_a_direction_are_those_of_its_rate() {
        let direction = Direction {
            rate: Some(13_780_000),
            loss: 0.5,
            ..Direction::default()
        };
        assert_eq!(direction.payload_limit(1350), Some(13_500_000.0));
        assert_eq!(
            direction.goodput_limit(1350),
            Some(goodput_limit(13_780_000, 0.5, 1350))
        );
        assert_eq!(Direction::default().goodput_limit(1350), None);
    }
}
