//! The pair of programs between which the transfer is.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{ensure, Context, Result};
use serde_json::Value;

use super::network::SERVER;
use super::Job;
use crate::testbed::{Priority, Process, Program, Role, Testbed};

/// Folder of the server's generated certificate, inside of the sandbox: it disappears with the
/// network.
const CERTIFICATES: &str = "/run/certs";

/// The UDP port of the server.
const PORT: u16 = 4433;

/// The pair of a run, which keeps its logs in the run's folder.
pub(super) struct Pair<'a> {
    pub(super) job: &'a Job,
    pub(super) folder: &'a Path,
    pub(super) testbed: Testbed,
}

impl Pair<'_> {
    /// Starts the server and waits until it listens.
    pub(super) fn serve(&mut self) -> Result<Process> {
        let listen = format!("{SERVER}:{PORT}");
        let mut arguments = vec!["--listen", &listen, "--qlog", "server"];
        arguments.extend(["--cc", &self.job.congestion_control]);
        arguments.extend(["--cert-dir", CERTIFICATES]);
        let mut server = self.start("server", Role::Server, &self.job.server, &arguments)?;
        ensure!(
            server.listens(PORT)?,
            "the server did not start: {}",
            server.tail()
        );
        Ok(server)
    }

    /// Runs the client to its end and returns what it prints.
    pub(super) fn download(&mut self) -> Result<Value> {
        let url = format!("https://{SERVER}:{PORT}/bytes/{}", self.job.bytes);
        let limit = format!("{}ms", self.job.time_limit.as_millis());
        let mut arguments = vec![url.as_str(), "--insecure", "--json"];
        arguments.extend(["--time-limit", &limit, "--qlog", "client"]);
        let mut client = self.start("client", Role::Client, &self.job.client, &arguments)?;
        // The sandbox has its time; the client knows its own.
        let status = client.wait(Duration::MAX)?.context("the client's end")?;
        ensure!(
            status.success(),
            "the client ended with {status}: {}",
            client.tail()
        );
        // The log has errors, too.
        let said = client.output();
        let summary = said.lines().rfind(|line| line.starts_with('{'));
        serde_json::from_str(summary.unwrap_or_default()).context("the client did not print JSON")
    }

    /// Starts a program in its namespace and in the run's folder.
    fn start(
        &mut self,
        namespace: &str,
        role: Role,
        program: &Path,
        arguments: &[&str],
    ) -> Result<Process> {
        fs::create_dir_all(self.folder.join(namespace))?;
        let mut command = Vec::new();
        let mut priority = Priority::Ordinary;
        if let Some(clock) = &self.job.uml_clock {
            // On the one processor that there is, a program may have to wait
            // for another until the next tick, 10 ms. The server's is the
            // timing that counts; the threads that write qlogs come last.
            priority = Priority::MainThread(role);
            command.extend(["env".to_owned(), format!("LD_PRELOAD={}", clock.display())]);
        }
        command.push(program.display().to_string());
        command.extend(arguments.iter().map(|word| word.to_string()));
        self.testbed.start(Program {
            namespace,
            priority,
            command: &command,
            folder: self.folder,
            log: &self.folder.join(format!("{namespace}.log")),
        })
    }
}
