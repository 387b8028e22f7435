//! An HTTP/3 client on quiche: downloads URLs, verifies the bodies and measures the time.
//!
//! One thread does the work, and one writes qlogs. Each server has a socket and a connection of
//! its own. Its downloads run one after the other, or several at a time. Congestion control is
//! the sender's, so `--cc` matters little here: a client sends only requests and ACKs. It is
//! selected in two lines: `petra::register()` in `main`, and the controller's name in the
//! configuration.

use std::collections::{HashSet, VecDeque};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use boring::ssl::{SslContextBuilder, SslMethod};
use clap::{CommandFactory, Parser};
use indicatif::{ProgressBar, ProgressStyle};
use petra_http3::{
    parse_time, udp, warn, Connector, Controller, Download, Report, Session, Transport,
};
use serde::Serialize;
use url::Url;

/// Time within which a server must stop a transfer after a request to stop.
const FAREWELL: Duration = Duration::from_secs(1);

/// Downloads URLs over HTTP/3 and verifies the bodies.
///
/// Exit codes: 0 if all downloads are complete, or the time limit ended them; 1 if a download
/// failed; 2 if the command line is invalid.
#[derive(Parser)]
#[command(name = "http3-client", version, allow_negative_numbers = true,
          after_long_help = petra::registry::describe())]
struct Args {
    /// URLs to download: https://HOST[:PORT]/PATH
    #[arg(required = true, value_parser = parse_url)]
    urls: Vec<Url>,

    /// Downloads at a time from each server
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..))]
    parallel: u16,

    /// Download every URL this many times; at most 1000000
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    repeat: u32,

    /// Stop this long after the first request, and keep the bytes so far
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    time_limit: Option<Duration>,

    /// Keep the downloads in this folder, under the last part of their paths
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Print the summary as JSON
    #[arg(long)]
    json: bool,

    /// Certificates of the authorities to trust, in PEM, besides the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Accept any certificate
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,

    /// Time within which a server must respond
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    connect_timeout: Duration,

    #[command(flatten)]
    controller: Controller,

    #[command(flatten)]
    transport: Transport,
}

fn parse_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|e| e.to_string())?;
    match (url.scheme(), url.host()) {
        ("https", Some(_)) => Ok(url),
        _ => Err("expected https://HOST[:PORT]/PATH".into()),
    }
}

/// Summary that is printed at the end.
#[derive(Serialize)]
struct Summary {
    urls: Vec<String>,
    /// Bytes of bodies.
    bytes: u64,
    /// From the first request to the last byte, or to when it was stopped.
    seconds: f64,
    /// Bits of bodies per second.
    goodput_bps: f64,
    /// True if every body arrived and passed its verification.
    complete: bool,
    /// From the first packet of a connection to the end of its handshake: the
    /// longest of all connections.
    handshake_seconds: Option<f64>,
    downloads: Vec<Report>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let usage = |message: String| -> ! {
        let kind = clap::error::ErrorKind::InvalidValue;
        Args::command().error(kind, message).exit()
    };
    // From here on, quiche knows PETRA's controllers by name.
    petra::register();
    let cc = args.controller.name();
    let cc = cc.unwrap_or_else(|message| usage(message));
    let downloads = downloads(&args).unwrap_or_else(|message| usage(message));
    match run(&args, &cc, downloads).and_then(|(summary, ok)| {
        print(&summary, args.json)?;
        Ok(ok)
    }) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            warn(format_args!("http3-client: {e:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Returns the downloads. Two downloads into one file are an error.
fn downloads(args: &Args) -> Result<Vec<Download>, String> {
    let mut paths = HashSet::new();
    let urls = (0..args.repeat).flat_map(|_| &args.urls);
    urls.map(|url| {
        let path = args.output.as_deref().map(|folder| path_in(folder, url));
        match path {
            Some(path) if !paths.insert(path.clone()) => Err(format!(
                "{}: duplicate file; expected one URL per file name",
                path.display()
            )),
            path => Ok(Download::new(url.clone(), path)),
        }
    })
    .collect()
}

fn path_in(folder: &Path, url: &Url) -> PathBuf {
    let name = url
        .path()
        .rsplit('/')
        .next()
        .filter(|name| !name.is_empty());
    folder.join(name.unwrap_or("index"))
}

/// Runs the downloads. Returns false if one failed, or if a signal ended them.
fn run(args: &Args, cc: &str, downloads: Vec<Download>) -> Result<(Summary, bool)> {
    let mut tls = SslContextBuilder::new(SslMethod::tls())?;
    tls.set_default_verify_paths()?;
    if let Some(ca) = &args.ca {
        tls.set_ca_file(ca)
            .with_context(|| format!("cannot load certificates from {}", ca.display()))?;
    }
    let mut config = args.transport.config(tls)?;
    config.set_cc_algorithm_name(cc)?;
    config.verify_peer(!args.insecure);
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot write into {}", folder.display()))?;
    }
    let mut connector = Connector {
        config,
        logs: args.transport.logs(cc)?,
        paced: args.transport.paced(),
        verify: !args.insecure,
        timeout: args.connect_timeout,
    };
    let mut sessions = vec![];
    let mut results = vec![];
    for (url, mut downloads) in by_server(downloads) {
        match Session::open(&mut connector, &url, &mut downloads, args.parallel.into()) {
            Ok(session) => sessions.push(session),
            // The downloads from other servers go on.
            Err(e) => {
                downloads
                    .iter_mut()
                    .for_each(|it| it.fail(format!("{e:#}")));
                results.push((downloads.into(), None));
            }
        }
    }
    let mut signals = udp::Signals::catch()?;
    let bar = progress_bar();
    let mut first_request = None;
    // When it was ended early, and whether a signal did.
    let mut stopped = None;
    let mut interrupted = false;
    while !sessions.is_empty() {
        let end = match (stopped, first_request, args.time_limit) {
            (Some(stopped), ..) => Some(stopped + FAREWELL),
            (None, Some(first), Some(limit)) => Some(first + limit),
            _ => None,
        };
        let due = sessions.iter().filter_map(Session::due);
        udp::wait(
            sessions.iter().map(Session::udp),
            &signals,
            due.chain(end).min(),
        )?;
        let now = Instant::now();
        let signalled = signals.arrived();
        interrupted |= signalled;
        if signalled || end.is_some_and(|end| end <= now) {
            if stopped.is_some() {
                break;
            }
            stopped = Some(now);
            sessions.iter_mut().for_each(Session::cancel);
        }
        for session in &mut sessions {
            session.advance(&mut connector);
            let progress = session.progress();
            bar.inc_length(progress.announced);
            bar.inc(progress.received);
        }
        let begun = sessions.iter().filter_map(Session::first_request);
        first_request = first_request.or(begun.min());
        results.extend(
            sessions
                .extract_if(.., |session| session.is_over())
                .map(Session::close),
        );
    }
    results.extend(sessions.into_iter().map(Session::close));
    bar.finish_and_clear();
    let summary = summarize(&results, stopped);
    let ok = !interrupted && summary.downloads.iter().all(|d| d.error.is_none());
    Ok((summary, ok))
}

/// Groups the downloads by server, each group with a URL of the server.
fn by_server(downloads: Vec<Download>) -> Vec<(Url, VecDeque<Download>)> {
    let mut servers: Vec<(Url, VecDeque<Download>)> = vec![];
    for download in downloads {
        match servers
            .iter_mut()
            .find(|(url, _)| url.origin() == download.url.origin())
        {
            Some((_, downloads)) => downloads.push_back(download),
            None => servers.push((download.url.clone(), [download].into())),
        }
    }
    servers
}

/// On standard error, and only on a terminal.
fn progress_bar() -> ProgressBar {
    let template = "{bytes} of {total_bytes} {wide_bar} {binary_bytes_per_sec} {eta}";
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(0).with_style(style.unwrap_or(ProgressStyle::default_bar()))
}

fn summarize(results: &[(Vec<Download>, Option<Duration>)], stopped: Option<Instant>) -> Summary {
    let downloads = || results.iter().flat_map(|(downloads, _)| downloads);
    let first = downloads().filter_map(Download::begun).min();
    let last = stopped.or(downloads().filter_map(Download::last).max());
    let time = first
        .zip(last)
        .map(|(first, last)| last.duration_since(first));
    let seconds = time.unwrap_or_default().as_secs_f64();
    let reports: Vec<Report> = downloads().map(Download::report).collect();
    let bytes = reports.iter().map(|d| d.bytes).sum();
    let handshake = results.iter().filter_map(|(_, handshake)| *handshake).max();
    Summary {
        urls: reports.iter().map(|d| d.url.clone()).collect(),
        bytes,
        seconds,
        goodput_bps: if seconds > 0.0 {
            bytes as f64 * 8.0 / seconds
        } else {
            0.0
        },
        complete: downloads().all(Download::is_complete),
        handshake_seconds: handshake.map(|handshake| handshake.as_secs_f64()),
        downloads: reports,
    }
}

fn print(summary: &Summary, json: bool) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer(&mut out, summary)?;
        writeln!(out)?;
        return Ok(());
    }
    for download in &summary.downloads {
        if let Some(error) = &download.error {
            warn(format_args!("{}: {error}", download.url));
        }
    }
    let verified = summary.downloads.iter().filter(|d| d.verified).count();
    writeln!(
        out,
        "{}: {} of {} downloads verified, {} bytes in {:.3} s, {:.3} Mbit/s",
        if summary.complete {
            "complete"
        } else {
            "incomplete"
        },
        verified,
        summary.downloads.len(),
        summary.bytes,
        summary.seconds,
        summary.goodput_bps / 1e6,
    )?;
    Ok(())
}
