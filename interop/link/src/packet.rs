//! UDP datagrams in IP packets: where they are, and their checksums.

use std::net::Ipv4Addr;

/// UDP's number among the protocols of IP.
const UDP: u8 = 17;
/// The length of UDP's header in bytes.
pub(crate) const UDP_HEADER: usize = 8;

/// Returns the offset of the UDP header; `None` for a packet without one, or a fragment.
pub(crate) fn udp(packet: &[u8]) -> Option<usize> {
    let (protocol, at) = match packet.first()? >> 4 {
        4 if packet.get(6)? & 0x3f == 0 && *packet.get(7)? == 0 => {
            (*packet.get(9)?, usize::from(packet[0] & 15) * 4)
        }
        6 => (*packet.get(6)?, 40),
        _ => return None,
    };
    (protocol == UDP && packet.len() >= at + UDP_HEADER).then_some(at)
}

/// The port at `offset` in the header that begins at `udp`.
pub(crate) fn port(packet: &[u8], offset: usize) -> u16 {
    u16::from_be_bytes([packet[offset], packet[offset + 1]])
}

/// Overwrites a number of two bytes.
pub(crate) fn put(packet: &mut [u8], offset: usize, number: u16) {
    packet[offset..offset + 2].copy_from_slice(&number.to_be_bytes());
}

/// The IPv4 address at `offset`.
pub(crate) fn address(packet: &[u8], offset: usize) -> Ipv4Addr {
    let bytes = &packet[offset..offset + 4];
    Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3])
}

/// Makes the checksums right again, IPv4's and UDP's (RFC 791, RFC 768).
pub(crate) fn seal(packet: &mut [u8], udp: usize) {
    let addresses = match packet[0] >> 4 {
        4 => {
            put(packet, 10, 0);
            let sum = !folded(sum(&packet[..udp]));
            put(packet, 10, sum);
            12..20
        }
        _ => 8..40,
    };
    put(packet, udp + 6, 0);
    let length = (packet.len() - udp) as u32;
    let pseudo = sum(&packet[addresses]) + length + u32::from(UDP);
    let checksum = !folded(pseudo + sum(&packet[udp..]));
    // Zero would say that there is none.
    put(
        packet,
        udp + 6,
        if checksum == 0 { u16::MAX } else { checksum },
    );
}

/// The sum of 16-bit words.
fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks(2);
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    words.map(word).sum()
}

fn folded(mut sum: u32) -> u16 {
    while sum > u32::from(u16::MAX) {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 packet with a datagram of four bytes, and its checksums.
    const PACKET: [u8; 32] = [
        0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0xae, 0xcb, 10, 0, 0, 1, 192, 0, 2, 1, 0, 53, 0, 54, 0,
        12, 0xf8, 0x7c, b'a', b'b', b'c', b'd',
    ];

    #[test]
    fn a_sealed_packet_sums_to_all_ones() {
        let mut packet = PACKET;
        seal(&mut packet, 20);
        assert_eq!(folded(sum(&packet[..20])), u16::MAX);
        let pseudo = sum(&packet[12..20]) + 12 + u32::from(UDP);
        assert_eq!(folded(pseudo + sum(&packet[20..])), u16::MAX);
    }

    #[test]
    fn only_whole_udp_datagrams_are_found() {
        assert_eq!(udp(&PACKET), Some(20));
        let mut fragment = PACKET;
        fragment[7] = 1;
        assert_eq!(udp(&fragment), None);
        let mut tcp = PACKET;
        tcp[9] = 6;
        assert_eq!(udp(&tcp), None);
        assert_eq!(udp(&PACKET[..24]), None);
        assert_eq!(udp(&[]), None);
    }
}
