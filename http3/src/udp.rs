//! UDP for quiche: packets leave when the pacer says, in as few system calls
//! as the kernel allows (GSO), and arrive in batches (GRO, `recvmmsg`).
//!
//! quiche opens no socket and starts no timer. What a program owes it is to
//! hand over every datagram that arrives ([`Udp::receive`]), to send what it
//! produces ([`Udp::flush`]) and to come back in time ([`wait`]).

use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, IoSliceMut, Read};
use std::net::{SocketAddr, UdpSocket};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use rustix::event::{poll, PollFd, PollFlags, Timespec};

use crate::Connection;

/// The largest UDP payload, and so the largest batch of segments, in bytes.
const LARGEST: usize = 65_507;

/// Buffers read by one system call, each holding up to 64 coalesced datagrams.
const BATCH: usize = 8;

/// Times that one connection fills the outbox before the socket is read again: ACKs
/// waiting there may already allow more, or ask for less.
const TURN: usize = 4;

/// Time by which a packet may leave early. quiche allows the same, and a sleeping thread usually
/// wakes late.
const EARLY: Duration = Duration::from_micros(50);

/// Requested size of the socket's buffers in bytes. The kernel grants at most `net.core.rmem_max`
/// and `wmem_max`.
const SOCKET_BUFFER: usize = 8 << 20;

/// A UDP socket for QUIC connections.
pub struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    paced: bool,
    /// True if [`wait`] reported data that has not been read since. A further poll of the socket
    /// would cost a system call per packet.
    readable: Cell<bool>,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// The batches in the outbox.
    unsent: VecDeque<Batch>,
}

/// Packets in the outbox that leave by one system call: all of one size except for the last, as
/// GSO wants them.
struct Batch {
    at: Range<usize>,
    segment: usize,
    info: quiche::SendInfo,
}

/// Appends a packet behind those in the outbox, to the last batch if it can leave with it.
fn append(batches: &mut VecDeque<Batch>, size: usize, info: quiche::SendInfo, max_segments: usize) {
    let mut end = 0;
    if let Some(last) = batches.back_mut() {
        end = last.at.end;
        let len = last.at.len();
        if (info.from, info.to) == (last.info.from, last.info.to)
            && size <= last.segment
            && len % last.segment == 0
            && len / last.segment < max_segments
        {
            last.at.end += size;
            return;
        }
    }
    batches.push_back(Batch {
        at: end..end + size,
        segment: size,
        info,
    });
}

impl Udp {
    /// A socket at `local`, for any number of peers, or for one: then the kernel
    /// picks the local address, and reports a peer that nobody listens at. With
    /// `paced` off, packets leave as soon as the congestion window lets them.
    pub fn open(local: SocketAddr, peer: Option<SocketAddr>, paced: bool) -> io::Result<Udp> {
        let socket = UdpSocket::bind(local)?;
        if let Some(peer) = peer {
            socket.connect(peer)?;
        }
        let state = UdpSocketState::new((&socket).into())?;
        // Smaller buffers cost throughput, and nothing else.
        let _ = state.set_recv_buffer_size((&socket).into(), SOCKET_BUFFER);
        let _ = state.set_send_buffer_size((&socket).into(), SOCKET_BUFFER);
        Ok(Udp {
            local: socket.local_addr()?,
            socket,
            state,
            paced,
            readable: Cell::new(false),
            inbox: vec![0; BATCH * (LARGEST + 1)],
            outbox: vec![0; LARGEST],
            unsent: VecDeque::new(),
        })
    }

    /// The address the socket is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Reads one batch of the datagrams that [`wait`] saw and calls `each` for
    /// every one, which may answer a datagram that belongs to no connection.
    /// False when there is nothing left to read.
    pub fn receive(
        &mut self,
        mut each: impl FnMut(&mut [u8], quiche::RecvInfo) -> Option<Vec<u8>>,
    ) -> io::Result<bool> {
        if !self.readable.get() {
            return Ok(false);
        }
        let mut metas = [RecvMeta::default(); BATCH];
        let mut buffers = self.inbox.chunks_exact_mut(LARGEST + 1);
        let mut buffers: [_; BATCH] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
        let socket = (&self.socket).into();
        let count = match self.state.recv(socket, &mut buffers, &mut metas) {
            Ok(count) => count,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => 0,
            Err(e) => return Err(e),
        };
        // A batch with room left was all there was.
        self.readable.set(count == BATCH);
        for (buffer, meta) in buffers.iter_mut().zip(&metas).take(count) {
            // Behind a wildcard address, replies leave from where this arrived.
            let to = meta.dst_ip.unwrap_or(self.local.ip());
            let info = quiche::RecvInfo {
                from: meta.addr,
                to: SocketAddr::new(to, self.local.port()),
            };
            for datagram in buffer[..meta.len].chunks_mut(meta.stride.max(1)) {
                if let Some(answer) = each(datagram, info) {
                    let answer = Transmit {
                        destination: info.from,
                        ecn: None,
                        contents: &answer,
                        segment_size: None,
                        src_ip: Some(info.to.ip()),
                    };
                    // Who gets none asks again.
                    let _ = self.state.try_send((&self.socket).into(), &answer);
                }
            }
        }
        Ok(self.readable.get())
    }

    /// Sends what `conn` may send now. Returns when to call again if there may
    /// be more: the pacer's release time, or now, when it was someone else's turn.
    pub fn flush(&mut self, conn: &mut Connection) -> io::Result<Option<Instant>> {
        for _ in 0..TURN {
            let now = Instant::now();
            self.transmit()?;
            if !self.unsent.is_empty() {
                return Ok(Some(now));
            }
            if let Some(release) = self.release_time(conn, now) {
                return Ok(Some(release));
            }
            if !self.gather(conn, now) {
                self.transmit()?;
                return Ok(None);
            }
        }
        self.transmit()?;
        Ok(Some(Instant::now()))
    }

    /// Returns the release time of the next packet, or `None` for now. A packet that closes the
    /// connection does not wait for the pacer.
    fn release_time(&self, conn: &Connection, now: Instant) -> Option<Instant> {
        let paced = self.paced && conn.local_error().is_none();
        let decision = conn.get_next_release_time().filter(|_| paced)?;
        let release = decision.time(now + EARLY)?;
        Some(release - EARLY)
    }

    /// Fills the outbox with packets that may leave together. Returns false if there are no more.
    fn gather(&mut self, conn: &mut Connection, now: Instant) -> bool {
        let mut end = 0;
        let largest = conn.max_send_udp_payload_size();
        while end + largest <= self.outbox.len() && (end == 0 || self.joins_burst(conn, now)) {
            let (size, info) = match conn.send(&mut self.outbox[end..]) {
                Ok(packet) => packet,
                Err(quiche::Error::Done) => return false,
                Err(_) => {
                    conn.close(false, 0x1, b"cannot send").ok();
                    return false;
                }
            };
            append(&mut self.unsent, size, info, self.state.max_gso_segments());
            end += size;
        }
        true
    }

    fn joins_burst(&self, conn: &Connection, now: Instant) -> bool {
        let next = conn.get_next_release_time();
        next.is_some_and(|next| next.can_burst()) || self.release_time(conn, now).is_none()
    }

    /// Sends what is in the outbox, as far as the kernel has room. A batch that fails is lost.
    fn transmit(&mut self) -> io::Result<()> {
        let mut result = Ok(());
        while let Some(batch) = self.unsent.pop_front() {
            let transmit = Transmit {
                destination: batch.info.to,
                ecn: None,
                contents: &self.outbox[batch.at.clone()],
                segment_size: Some(batch.segment),
                src_ip: Some(batch.info.from.ip()),
            };
            match self.state.try_send((&self.socket).into(), &transmit) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.unsent.push_front(batch);
                    break;
                }
                Err(e) => result = Err(e),
                Ok(()) => {}
            }
        }
        result
    }
}

/// SIGINT and SIGTERM as something to wait for.
pub struct Signals {
    pipe: UnixStream,
    /// True if [`wait`] reported a signal that has not been read since.
    readable: Cell<bool>,
}

impl Signals {
    /// Catches both signals from now on.
    pub fn catch() -> io::Result<Signals> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::low_level::pipe::register(signal, writer.try_clone()?)?;
        }
        Ok(Signals {
            pipe: reader,
            readable: Cell::new(false),
        })
    }

    /// Returns true if [`wait`] reported a signal since the last call.
    pub fn arrived(&mut self) -> bool {
        self.readable.take() && matches!(self.pipe.read(&mut [0; 16]), Ok(1..))
    }
}

/// Sleeps until a datagram or a signal arrives, or until `deadline`. Unlike the
/// timers of most runtimes, `ppoll` counts in nanoseconds: at 100 Mbit/s a
/// packet is due every 0.1 ms.
pub fn wait<'a>(
    sockets: impl IntoIterator<Item = &'a Udp>,
    signals: &'a Signals,
    deadline: Option<Instant>,
) -> io::Result<()> {
    let mut timeout = deadline.map(|at| at.saturating_duration_since(Instant::now()));
    let mut fds = vec![PollFd::new(&signals.pipe, PollFlags::IN)];
    let mut readable = vec![&signals.readable];
    for udp in sockets {
        let mut events = PollFlags::IN;
        if !udp.unsent.is_empty() {
            // Nothing can leave before there is room: no timer is worth waking for.
            events |= PollFlags::OUT;
            timeout = None;
        }
        fds.push(PollFd::new(&udp.socket, events));
        readable.push(&udp.readable);
    }
    let timeout = timeout.map(|t| Timespec {
        tv_sec: t.as_secs() as i64,
        tv_nsec: i64::from(t.subsec_nanos()),
    });
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(()),
        Err(e) => return Err(e.into()),
    }
    for (fd, readable) in fds.iter().zip(readable) {
        // An error waits to be read, too.
        let idle = (fd.revents() - PollFlags::OUT).is_empty();
        readable.set(readable.get() || !idle);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes of the batches of packets with these sizes and ports of the peer.
    fn batches(packets: &[(usize, u16)]) -> Vec<(usize, usize)> {
        let mut batches = VecDeque::new();
        for (size, port) in packets {
            let info = quiche::SendInfo {
                from: ([127, 0, 0, 1], 443).into(),
                to: ([127, 0, 0, 1], *port).into(),
                at: Instant::now(),
            };
            append(&mut batches, *size, info, 3);
        }
        let starts = batches.iter().scan(0, |end, batch| {
            assert_eq!(batch.at.start, std::mem::replace(end, batch.at.end));
            Some((batch.at.len(), batch.segment))
        });
        starts.collect()
    }

    #[test]
    fn packets_of_one_size_leave_together_with_a_smaller_last_one() {
        let sizes =
            |sizes: &[usize]| batches(&sizes.iter().map(|size| (*size, 1)).collect::<Vec<_>>());
        assert_eq!(
            sizes(&[40, 1350, 1350, 7, 7]),
            [(40, 40), (2707, 1350), (7, 7)]
        );
        assert_eq!(sizes(&[9; 4]), [(27, 9), (9, 9)]);
        assert_eq!(batches(&[(9, 1), (9, 2), (8, 2)]), [(9, 9), (17, 9)]);
    }
}
