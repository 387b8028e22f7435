//! Network namespaces that exist for one run.
//!
//! Nothing is removed here. The namespaces belong to a sandbox, and go with it.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use anyhow::{bail, ensure, Context, Result};
use nix::mount::{mount, MsFlags};
use nix::sched::{setns, CloneFlags};
use nix::unistd::geteuid;

use super::{Priority, Process};

/// Search path for programs within a sandbox. The path of a user often lacks the sbin folders.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Returns the beginning of a command that runs in namespaces of its own, with root's rights there.
/// All processes in them end when the command ends, and when this process does.
pub fn sandbox() -> Command {
    let mut command = Command::new("setpriv");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:{PATH}"));
    command.args(["--pdeathsig", "KILL", "unshare"]);
    if !geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args([
        "--net",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]);
    command
}

/// The network namespaces of a run, in the sandbox that this process is in.
#[derive(Debug)]
pub struct Testbed {
    /// Every command of the run, to be repeated by hand.
    pub commands: Vec<String>,
}

/// A program of a run.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Its network namespace.
    pub namespace: &'a str,
    /// Its scheduling.
    pub priority: Priority,
    /// The program and its arguments.
    pub command: &'a [String],
    /// Its working folder.
    pub folder: &'a Path,
    /// File for its output and its errors.
    pub log: &'a Path,
}

impl Testbed {
    /// Makes namespaces with these names.
    ///
    /// # Errors
    ///
    /// The command that failed; outside of a sandbox, that it is none.
    pub fn new(namespaces: &[&str]) -> Result<Self> {
        let mut testbed = Testbed {
            commands: Vec::new(),
        };
        // Elsewhere the /run of the machine would disappear. User-mode Linux has this process as
        // init, too.
        let id = std::process::id();
        ensure!(
            id == 1,
            "testbed: not in a sandbox (got process {id}); expected process 1"
        );
        // `ip netns` keeps names in /run/netns; here they are nobody else's.
        mount(
            Some("tmpfs"),
            "/run",
            Some("tmpfs"),
            MsFlags::empty(),
            None::<&str>,
        )
        .context("cannot mount a file system on /run")?;
        for namespace in namespaces {
            testbed.run(&format!("ip netns add {namespace}"))?;
        }
        Ok(testbed)
    }

    /// Runs a command to its end. Its words have no spaces.
    ///
    /// # Errors
    ///
    /// The command, with what it says of its failure.
    pub fn run(&mut self, command: &str) -> Result<()> {
        self.commands.push(command.to_owned());
        output(command).map(drop)
    }

    /// Runs a command in a namespace, likewise.
    ///
    /// # Errors
    ///
    /// The command, with what it says of its failure.
    pub fn run_in(&mut self, namespace: &str, command: &str) -> Result<()> {
        self.run(&in_namespace(namespace, command))
    }

    /// Starts a program.
    ///
    /// # Errors
    ///
    /// A log that cannot be written, or a missing nsenter(1).
    pub fn start(&mut self, program: Program) -> Result<Process> {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", program.namespace));
        command.args(program.priority.words());
        command.args(program.command).current_dir(program.folder);
        let words: Vec<_> = command
            .get_args()
            .map(|word| word.to_string_lossy())
            .collect();
        self.commands.push(format!("nsenter {}", words.join(" ")));
        Process::start(&mut command, program.log)
    }
}

/// Returns `command` in one of the namespaces. Not `ip netns exec`, which mounts a new
/// /sys and may not in every sandbox.
pub(crate) fn in_namespace(namespace: &str, command: &str) -> String {
    format!("nsenter --net=/run/netns/{namespace} {command}")
}

/// Does `work` on a thread that is in `namespace`; a socket stays in the
/// namespace that it was opened in.
pub(crate) fn within<T: Send>(namespace: &str, work: impl FnOnce() -> T + Send) -> Result<T> {
    let path = Path::new("/run/netns").join(namespace);
    let enter = move || -> Result<T> {
        let file = File::open(&path)?;
        setns(file, CloneFlags::CLONE_NEWNET)?;
        Ok(work())
    };
    thread::scope(|scope| scope.spawn(enter).join().expect("the work does not panic"))
        .with_context(|| format!("cannot enter the network namespace `{namespace}`"))
}

/// Runs a command to its end. Its words have no spaces.
pub(crate) fn output(command: &str) -> Result<Output> {
    let mut words = command.split_whitespace();
    let program = words.next().expect("a command has a first word");
    let output = Command::new(program)
        .args(words)
        .output()
        .with_context(|| format!("cannot run `{program}`"))?;
    if !output.status.success() {
        bail!(
            "`{command}` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(output)
}
