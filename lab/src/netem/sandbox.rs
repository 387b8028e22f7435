//! Environment of a run: the kernel of this machine, or user-mode Linux.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Result};
use clap::ValueEnum;

use super::processor::Processor;
use super::uml::{self, Uml};
use crate::testbed;

/// The user's choice of a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Choice {
    /// The kernel of this machine if it has netem, else user-mode Linux
    #[default]
    Auto,
    /// The kernel of this machine
    Kernel,
    /// User-mode Linux
    Uml,
}

/// Provider of namespaces and packet shaping.
#[derive(Clone, Debug)]
pub(super) enum Sandbox {
    /// The kernel of this machine, with namespaces by unshare(1).
    Kernel,
    /// A user-mode Linux for each run.
    Uml(Uml),
}

/// Commands that test a sandbox before the first run.
const TRIAL: &str = "mount -t tmpfs tmpfs /run && ip netns add trial && \
    ip link add name one type veth peer name other netns trial && \
    tc qdisc add dev one root netem delay 1ms";

impl Sandbox {
    /// Returns the first sandbox that this machine provides, in the order of `choice`.
    ///
    /// # Errors
    ///
    /// Neither is available. The message lists the missing parts and the packages to install.
    pub(super) fn find(choice: Choice) -> Result<Self> {
        let kernel = || match kernel_trial() {
            Ok(()) => Ok(Sandbox::Kernel),
            Err(reason) => Err(format!(
                "the kernel of this machine cannot do it: {reason}\n  \
                 it takes iproute2 and the modules sch_netem and veth (Ubuntu: apt install \
                 linux-modules-extra-$(uname -r)), and root or user namespaces"
            )),
        };
        let uml = || match Uml::find() {
            Ok(uml) => Ok(Sandbox::Uml(uml)),
            Err(reason) => Err(format!("user-mode Linux cannot do it: {reason}")),
        };
        let found = match choice {
            Choice::Kernel => kernel(),
            Choice::Uml => uml(),
            Choice::Auto => {
                kernel().or_else(|first| uml().map_err(|second| format!("{first}\n{second}")))
            }
        };
        found.map_err(|reason| {
            anyhow::anyhow!(
                "netem: not available; expected it in the kernel or in user-mode Linux\n{reason}"
            )
        })
    }

    /// The command that does the job in `folder` with this program.
    ///
    /// # Errors
    ///
    /// When a path cannot be handed over.
    pub(super) fn command(&self, folder: &Path) -> Result<Command> {
        let program = std::env::current_exe().context("cannot tell where this program is")?;
        match self {
            Sandbox::Kernel => {
                let mut command = testbed::sandbox();
                command.arg(program).arg("inside").arg(folder);
                Ok(command)
            }
            Sandbox::Uml(uml) => uml.command(&program, folder),
        }
    }

    /// A processor for what this thread starts now, where that is better than
    /// several.
    pub(super) fn processor(&self) -> Option<Processor> {
        match self {
            Sandbox::Kernel => None,
            Sandbox::Uml(_) => Processor::take(),
        }
    }

    /// The library with a clock that the pair needs in user-mode Linux.
    ///
    /// # Errors
    ///
    /// When it has not been built.
    pub(super) fn clock(&self) -> Result<Option<PathBuf>> {
        match self {
            Sandbox::Kernel => Ok(None),
            Sandbox::Uml(_) => uml::clock().map(Some),
        }
    }
}

impl fmt::Display for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sandbox::Kernel => write!(f, "netem in the kernel of this machine"),
            Sandbox::Uml(uml) => write!(f, "netem in user-mode Linux {}", uml.release),
        }
    }
}

fn kernel_trial() -> Result<()> {
    let output = testbed::sandbox()
        .args(["sh", "-c", TRIAL])
        .output()
        .context("cannot run `setpriv` and `unshare` (package util-linux)")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// Returns the path of `program` if `PATH` has it.
pub(super) fn which(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| fs::metadata(path).is_ok_and(|metadata| metadata.is_file()))
}
