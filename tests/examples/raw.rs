//! A request as no well-behaved client would make it.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use quiche::h3::{self, Header, NameValue};

/// Response of a server.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(n, _)| n == name);
        field.map(|(_, value)| &value[..])
    }

    pub(crate) fn status(&self) -> &str {
        self.field(":status").expect("an answer has a status")
    }
}

/// Asks a server with this method for this path, unchanged, on a connection of
/// its own; `body` follows the request.
pub(crate) fn request(server: SocketAddr, method: &str, path: &str, body: &[u8]) -> Answer {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    let local = socket.local_addr().unwrap();
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION).unwrap();
    config
        .set_application_protos(h3::APPLICATION_PROTOCOL)
        .unwrap();
    config.verify_peer(false);
    config.set_initial_max_data(1 << 20);
    config.set_initial_max_stream_data_bidi_local(1 << 20);
    config.set_initial_max_stream_data_uni(1 << 20);
    config.set_initial_max_streams_uni(10);
    let id = quiche::ConnectionId::from_ref(&[7; 16]);
    let mut quic = quiche::connect(None, &id, local, server, &mut config).unwrap();
    let mut h3 = None;
    let mut answer = Answer::default();
    let mut packet = [0; 65_536];
    for _ in 0..500 {
        while let Ok((len, _)) = quic.send(&mut packet) {
            socket.send(&packet[..len]).unwrap();
        }
        match socket.recv(&mut packet) {
            Ok(len) => {
                let info = quiche::RecvInfo {
                    from: server,
                    to: local,
                };
                quic.recv(&mut packet[..len], info).unwrap();
            }
            Err(_) => quic.on_timeout(),
        }
        if h3.is_none() && quic.is_established() {
            let settings = h3::Config::new().unwrap();
            let mut new = h3::Connection::with_transport(&mut quic, &settings).unwrap();
            let fields = [
                Header::new(b":method", method.as_bytes()),
                Header::new(b":scheme", b"https"),
                Header::new(b":authority", b"localhost"),
                Header::new(b":path", path.as_bytes()),
                Header::new(b"te", b"trailers"),
            ];
            let stream = new
                .send_request(&mut quic, &fields, body.is_empty())
                .unwrap();
            if !body.is_empty() {
                new.send_body(&mut quic, stream, body, true).unwrap();
            }
            h3 = Some(new);
        }
        while let Some(Ok((stream, event))) = h3.as_mut().map(|h3| h3.poll(&mut quic)) {
            match event {
                h3::Event::Headers { list, .. } => {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    let fields = list.iter().map(|h| (text(h.name()), text(h.value())));
                    answer.fields.extend(fields);
                }
                h3::Event::Data => {
                    let h3 = h3.as_mut().unwrap();
                    while let Ok(len) = h3.recv_body(&mut quic, stream, &mut packet) {
                        answer.body.extend(&packet[..len]);
                    }
                }
                h3::Event::Finished => return answer,
                _ => {}
            }
        }
    }
    panic!("no answer to {method} {path}: {answer:?}");
}
