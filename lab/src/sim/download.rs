//! The client's side of a flow: what it asks for, when, and what came of it.

use std::time::{Duration, Instant};

use petra_http3::{get, Connection};
use quiche::h3::{self, WireErrorCode};
use rand_pcg::Pcg64;

use super::body::Drain;
use super::channel::uniform;
use super::media::Player;
use crate::scenario::{Traffic, Web};

/// Shape of the sizes of web objects, and the largest over the least.
const SHAPE: f64 = 1.2;
const SPREAD: f64 = 1000.0;

/// Downloads after a pattern, and the bodies counted.
pub(super) struct Download {
    traffic: Traffic,
    random: Pcg64,
    stage: Stage,
    /// Bytes of bodies that have arrived in order.
    pub(super) received: u64,
    /// Arrival time of the last byte of the only body.
    pub(super) finished: Option<Instant>,
    /// Duration of each complete object, from its request.
    pub(super) objects: Vec<Duration>,
    /// Player of video frames.
    pub(super) player: Option<Player>,
    scratch: Box<[u8]>,
}

enum Stage {
    /// The connection is not there yet.
    Fresh,
    /// Bodies of one size are coming.
    Bodies {
        /// Their streams, and when they were asked for.
        open: Vec<(u64, Instant)>,
        /// Number of requests still to be made.
        left: u32,
    },
    /// A body is coming.
    Body {
        stream: u64,
        asked: Instant,
        /// Time at which the client leaves.
        enough: Option<Instant>,
    },
    /// The next request comes at this time.
    Pause(Instant),
    Done,
}

impl Download {
    pub(super) fn new(traffic: Traffic, random: Pcg64) -> Self {
        Download {
            traffic,
            random,
            stage: Stage::Fresh,
            received: 0,
            finished: None,
            objects: Vec::new(),
            player: match traffic {
                Traffic::Media(media) => Some(Player::new(media, Instant::now())),
                _ => None,
            },
            scratch: vec![0; 1 << 16].into_boxed_slice(),
        }
    }

    /// The time of the next action, even if nothing arrives.
    pub(super) fn timer(&self) -> Option<Instant> {
        match self.stage {
            Stage::Body { enough, .. } => enough,
            Stage::Pause(until) => Some(until),
            Stage::Fresh | Stage::Bodies { .. } | Stage::Done => None,
        }
    }

    /// Returns true if the download is complete.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done)
    }

    pub(super) fn work(
        &mut self,
        conn: &mut Connection,
        http: &mut h3::Connection,
    ) -> h3::Result<()> {
        self.begin_or_end(conn, http)?;
        // Where nothing is readable and no body has just ended, HTTP/3 has
        // nothing to tell. Asking it is dearer than finding that out.
        let mut ended = false;
        while ended || conn.is_readable() {
            match http.poll(conn) {
                Ok((stream, h3::Event::Data)) => {
                    self.read(conn, http, stream);
                    ended = conn.stream_finished(stream);
                }
                Ok((stream, h3::Event::Finished)) => {
                    self.whole(stream);
                    self.ask_for_more(conn, http)?;
                }
                Ok(_) => (),
                Err(h3::Error::Done) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads the available part of a body.
    fn read(&mut self, conn: &mut Connection, http: &mut h3::Connection, stream: u64) {
        loop {
            let room = &mut *self.scratch;
            let read = match self.player {
                Some(_) => http.recv_body(conn, stream, room),
                None => http.recv_body_buf(conn, stream, Drain(room)),
            };
            let Ok(read) = read else { return };
            self.received += read as u64;
            if let Some(player) = &mut self.player {
                player.take(&self.scratch[..read]);
            }
            if read < self.scratch.len() {
                return;
            }
        }
    }

    /// Does what it is time for.
    fn begin_or_end(&mut self, conn: &mut Connection, http: &mut h3::Connection) -> h3::Result<()> {
        match self.stage {
            Stage::Fresh => match self.traffic {
                Traffic::Bodies { count, .. } => {
                    let (open, left) = (Vec::new(), count);
                    self.stage = Stage::Bodies { open, left };
                    self.ask_for_more(conn, http)
                }
                _ => self.request(conn, http),
            },
            Stage::Pause(until) if until <= Instant::now() => self.request(conn, http),
            Stage::Body {
                stream,
                enough: Some(enough),
                ..
            } if enough <= Instant::now() => {
                // A stream that has ended in the meantime needs no end.
                let code = WireErrorCode::RequestCancelled as u64;
                let _ = conn.stream_shutdown(stream, quiche::Shutdown::Read, code);
                self.stage = match self.traffic {
                    Traffic::OnOff { off, .. } => Stage::Pause(Instant::now() + off),
                    _ => Stage::Done,
                };
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn request(&mut self, conn: &mut Connection, http: &mut h3::Connection) -> h3::Result<()> {
        let size = match self.traffic {
            Traffic::Bulk | Traffic::OnOff { .. } | Traffic::Media(_) => None,
            Traffic::Size(size) | Traffic::Bodies { size, .. } => Some(size),
            Traffic::Web(web) => Some(object_size(&web, uniform(&mut self.random))),
        };
        let asked = Instant::now();
        self.stage = Stage::Body {
            stream: ask(conn, http, size)?,
            asked,
            enough: match self.traffic {
                Traffic::OnOff { on, .. } => Some(asked + on),
                _ => None,
            },
        };
        Ok(())
    }

    /// Asks for as many of several bodies as may come at once.
    fn ask_for_more(&mut self, conn: &mut Connection, http: &mut h3::Connection) -> h3::Result<()> {
        let (Stage::Bodies { open, left }, Traffic::Bodies { size, at_once, .. }) =
            (&mut self.stage, self.traffic)
        else {
            return Ok(());
        };
        while *left > 0 && open.len() < at_once as usize {
            open.push((ask(conn, http, Some(size))?, Instant::now()));
            *left -= 1;
        }
        Ok(())
    }

    /// A body has come to its end.
    fn whole(&mut self, ended: u64) {
        if let Stage::Bodies { open, left } = &mut self.stage {
            let now = Instant::now();
            if let Some(place) = open.iter().position(|(stream, _)| *stream == ended) {
                let (_, asked) = open.swap_remove(place);
                self.objects.push(now - asked);
            }
            if open.is_empty() && *left == 0 {
                self.finished = Some(now);
                self.stage = Stage::Done;
            }
            return;
        }
        let Stage::Body { stream, asked, .. } = self.stage else {
            return;
        };
        if stream != ended {
            return;
        }
        let now = Instant::now();
        self.stage = match self.traffic {
            Traffic::Web(web) => {
                self.objects.push(now - asked);
                Stage::Pause(now + think_time(&web, uniform(&mut self.random)))
            }
            _ => {
                self.finished = Some(now);
                Stage::Done
            }
        };
    }
}

/// Requests a body of this many bytes, or an endless one; returns its stream.
fn ask(conn: &mut Connection, http: &mut h3::Connection, size: Option<u64>) -> h3::Result<u64> {
    let path = match size {
        Some(size) => format!("/bytes/{size}"),
        None => "/bytes".to_owned(),
    };
    http.send_request(conn, &get(super::tls::SERVER_NAME, &path, &[]), true)
}

/// The size in bytes that a share `uniform` of all objects is smaller than:
/// Pareto's distribution cut off above.
fn object_size(web: &Web, uniform: f64) -> u64 {
    // libm's functions have the same digits on every machine.
    let tail = libm::pow(SPREAD, -SHAPE);
    let mean = SHAPE / (SHAPE - 1.0) * (1.0 - libm::pow(SPREAD, 1.0 - SHAPE)) / (1.0 - tail);
    let least = web.size as f64 / mean;
    let size = least * libm::pow(1.0 - uniform * (1.0 - tail), -1.0 / SHAPE);
    (size.round() as u64).max(1)
}

/// The time that a share `uniform` of all pauses is shorter than.
fn think_time(web: &Web, uniform: f64) -> Duration {
    web.think.mul_f64(-libm::log(1.0 - uniform))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::generator;

    #[test]
    fn web_objects_have_their_mean_size_and_a_heavy_tail() {
        let web = Web {
            size: 50_000,
            think: Duration::from_secs(2),
        };
        let mut random = generator(1, 1);
        const OBJECTS: usize = 400_000;
        let mut draw = || uniform(&mut random);
        let mut sizes: Vec<u64> = (0..OBJECTS).map(|_| object_size(&web, draw())).collect();
        let pauses = (0..OBJECTS).map(|_| think_time(&web, draw()).as_secs_f64());
        let pause = pauses.sum::<f64>() / OBJECTS as f64;
        assert!((pause / 2.0 - 1.0).abs() < 0.01, "{pause}");
        let mean = sizes.iter().sum::<u64>() as f64 / OBJECTS as f64;
        assert!((mean / 50_000.0 - 1.0).abs() < 0.05, "{mean}");
        sizes.sort_unstable();
        // Half are smaller than 2^(1 / 1.2) times the least.
        let (least, median) = (sizes[0] as f64, sizes[OBJECTS / 2] as f64);
        assert!(
            (median / least / 1.7818 - 1.0).abs() < 0.01,
            "{least} {median}"
        );
        assert!(sizes[OBJECTS - 1] as f64 <= least * 1000.1);
        assert!(sizes[OBJECTS - 1] as f64 > least * 500.0);
    }
}
