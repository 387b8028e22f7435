//! Peers that complete a handshake, and then write on streams what they like.

use anyhow::anyhow;
use petra_http3::{ByReference, Connection, Download, Http3, Requests, Responses};
use quiche::{BufFactory, ConnectionId, RecvInfo, Shutdown};

use super::{Actions, Setting, ACTIONS, CLIENT, SERVER, SETTING};
use crate::heap;

/// Most bytes that a peer may make both ends hold: what it was sent and does not read, mostly.
const GROWTH: isize = 500_000;

/// Streams that the peer may write on. They are those of both ends, in both directions.
const STREAMS: u64 = 64;

/// Times that packets go back and forth until both ends are silent.
const ROUNDS: usize = 1_000;

/// Lets an arbitrary client request files and bodies. When it has given up all that it began, the
/// server has nothing left to do.
pub(crate) fn requests(bytes: &[u8]) {
    SETTING.with_borrow_mut(|setting| {
        let responses = Responses::new(Some(setting.root().into()));
        let mut pair = Pair::new(setting, Http3::new(responses), Role::Server);
        pair.run(bytes);
        for stream in 0..STREAMS {
            let _ = pair.peer.stream_shutdown(stream, Shutdown::Write, 0);
            let _ = pair.peer.stream_shutdown(stream, Shutdown::Read, 0);
        }
        pair.exchange();
        pair.http3.application.leave();
        pair.exchange();
        let responses = &mut pair.http3.application;
        assert!(pair.closed || responses.is_over());
        for failure in responses.failures() {
            check(&failure.to_string());
        }
    });
}

/// Lets an arbitrary server respond to requests. Each download is complete, or says in one line
/// why it is not.
pub(crate) fn responses(bytes: &[u8]) {
    SETTING.with_borrow_mut(|setting| {
        let url = |path| format!("https://localhost/{path}").parse();
        let downloads = ["bytes/10", "file", "empty", "late"]
            .map(|path| Download::new(url(path).expect("a URL"), None));
        let requests = Requests::new(downloads.into(), 3);
        let mut pair = Pair::new(setting, Http3::new(requests), Role::Client);
        pair.run(bytes);
        let mut requests = pair.http3.application;
        let _ = requests.progress();
        requests.fail(&anyhow!("the peer leaves"));
        assert!(requests.is_over());
        assert_eq!(requests.ended().len(), 4);
        for download in requests.into_ended() {
            let report = download.report();
            assert_eq!(download.is_complete(), report.error.is_none());
            assert!(download.is_complete() || !report.verified);
            if let Some(error) = report.error {
                check(&error);
            }
        }
    });
}

/// Checks that a message is one line, which cannot control a terminal.
fn check(message: &str) {
    assert!(!message.is_empty());
    assert!(!message.contains(char::is_control), "{message:?}");
}

enum Role {
    Client,
    Server,
}

/// Our end of a connection, and a peer without HTTP/3.
struct Pair<A> {
    ours: Connection,
    http3: Http3<A>,
    peer: quiche::Connection,
    /// True once our end has closed the connection.
    closed: bool,
    /// Bytes that were allocated after the handshake.
    before: isize,
}

impl<A: petra_http3::Application> Pair<A> {
    fn new(setting: &mut Setting, http3: Http3<A>, role: Role) -> Self {
        let Setting {
            ours: config, peer, ..
        } = setting;
        let id = ConnectionId::from_ref(&[7; 16]);
        let (ours, peer) = match role {
            Role::Server => (
                quiche::accept_with_buf_factory(&id, None, SERVER, CLIENT, config),
                quiche::connect(None, &id, CLIENT, SERVER, peer),
            ),
            Role::Client => (
                quiche::connect_with_buffer_factory(None, &id, CLIENT, SERVER, config),
                quiche::accept(&id, None, SERVER, CLIENT, peer),
            ),
        };
        let mut pair = Pair {
            ours: ours.expect("a connection"),
            http3,
            peer: peer.expect("a connection"),
            closed: false,
            before: isize::MIN,
        };
        pair.exchange();
        assert!(pair.ours.is_established() && pair.peer.is_established());
        pair.before = heap::held();
        pair
    }

    /// Lets the peer do what `bytes` say.
    fn run(&mut self, bytes: &[u8]) {
        for (kind, number, data) in Actions(bytes).take(ACTIONS) {
            act(&mut self.peer, kind, number, data);
            if kind & 0x80 == 0 {
                self.exchange();
                if self.closed {
                    return;
                }
            }
        }
        self.exchange();
    }

    /// Passes packets until neither end has more to say.
    fn exchange(&mut self) {
        for _ in 0..ROUNDS {
            let mut busy = carry::<_, ByReference>(&mut self.peer, &mut self.ours);
            if self.http3.work(&mut self.ours).is_err() {
                self.ours.close(true, 0x102, b"").ok();
                self.closed = true;
            }
            busy |= carry(&mut self.ours, &mut self.peer);
            let held = heap::held().saturating_sub(self.before);
            assert!(self.before == isize::MIN || held < GROWTH, "{held} bytes");
            if !busy {
                self.closed |= self.ours.is_draining() || self.ours.is_closed();
                return;
            }
        }
        panic!("the ends are never silent");
    }
}

/// Passes what one end has to send. Returns false if it has nothing.
fn carry<A: BufFactory, B: BufFactory>(
    from: &mut quiche::Connection<A>,
    to: &mut quiche::Connection<B>,
) -> bool {
    let mut packet = [0; 1_500];
    let mut any = false;
    while let Ok((len, info)) = from.send(&mut packet) {
        let info = RecvInfo {
            from: info.from,
            to: info.to,
        };
        let _ = to.recv(&mut packet[..len], info);
        any = true;
    }
    any
}

/// Lets the peer do one thing.
fn act(peer: &mut quiche::Connection, kind: u8, number: u8, data: &[u8]) {
    let (stream, fin) = (u64::from(number >> 1) % STREAMS, number & 1 == 1);
    // What quiche refuses to send is of no interest here.
    match kind % 8 {
        0 | 1 => {
            let _ = peer.stream_send(stream, data, fin);
        }
        2..=4 => {
            // A frame whose length is right.
            if let Some((kind, payload)) = data.split_first() {
                let length = 0x8000_0000 | payload.len() as u32;
                let frame = [&[kind & 0x3f], &length.to_be_bytes()[..], payload].concat();
                let _ = peer.stream_send(stream, &frame, fin);
            }
        }
        5 => {
            let code = data.first().copied().unwrap_or_default();
            let _ = peer.stream_shutdown(stream, Shutdown::Write, code.into());
        }
        6 => {
            let code = data.first().copied().unwrap_or_default();
            let _ = peer.stream_shutdown(stream, Shutdown::Read, code.into());
        }
        _ => while peer.stream_recv(stream, &mut [0; 4096]).is_ok() {},
    }
}
