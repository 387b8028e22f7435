//! Buffers of datagrams, used again and again.

use super::channel::Nanos;

/// The name of a buffer that is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet(u32);

/// A growing number of buffers of one size.
pub(super) struct Pool {
    size: usize,
    buffers: Vec<Buffer>,
    free: Vec<Packet>,
}

struct Buffer {
    bytes: Box<[u8]>,
    /// Length of the datagram in bytes.
    len: usize,
    journey: Journey,
}

/// History of a datagram.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Journey {
    /// Time at which the datagram entered the path.
    pub(super) sent: Nanos,
    /// Time in queues so far.
    pub(super) queued: Nanos,
}

impl Pool {
    /// Buffers for datagrams of at most `size` bytes.
    pub(super) fn new(size: usize) -> Self {
        Pool {
            size,
            buffers: Vec::new(),
            free: Vec::new(),
        }
    }

    /// A buffer that nobody uses, with room for the largest datagram.
    pub(super) fn take(&mut self) -> Packet {
        let packet = self.free.pop().unwrap_or_else(|| {
            self.buffers.push(Buffer {
                bytes: vec![0; self.size].into_boxed_slice(),
                len: 0,
                journey: Journey::default(),
            });
            Packet(self.buffers.len() as u32 - 1)
        });
        self.truncate(packet, self.size);
        packet
    }

    /// Says how long the datagram in the buffer is.
    pub(super) fn truncate(&mut self, packet: Packet, len: usize) {
        self.buffers[packet.0 as usize].len = len;
    }

    pub(super) fn get(&mut self, packet: Packet) -> &mut [u8] {
        let buffer = &mut self.buffers[packet.0 as usize];
        &mut buffer.bytes[..buffer.len]
    }

    pub(super) fn journey(&mut self, packet: Packet) -> &mut Journey {
        &mut self.buffers[packet.0 as usize].journey
    }

    /// Gives the buffer back; `packet` names it no longer.
    pub(super) fn release(&mut self, packet: Packet) {
        self.free.push(packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_buffer_is_taken_again_at_full_size() {
        let mut pool = Pool::new(100);
        let (one, two) = (pool.take(), pool.take());
        assert_ne!(one, two);
        pool.truncate(one, 40);
        assert_eq!(pool.get(one).len(), 40);
        pool.release(one);
        assert_eq!(pool.take(), one);
        assert_eq!(pool.get(one).len(), 100);
    }
}
