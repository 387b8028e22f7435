//! User-mode Linux: a kernel with netem as an ordinary program.
//!
//! Its root is the root of this machine, read-only, and its init is this
//! program. The folder of the run is mounted once more where it is, writable.

use std::convert::Infallible;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, ensure, Context, Result};
use nix::kmod::{finit_module, ModuleInitFlags};
use nix::mount::{mount, MsFlags};
use nix::sys::reboot::{reboot, RebootMode};

use super::run::{inside, EXCHANGE};
use super::sandbox::which;
use crate::note::note;
use crate::testbed::PATH;

/// Memory of one instance: the system, the pair, and room for its buffers. The
/// host gives what is used.
const MEMORY: &str = "mem=384M";

/// Folder of the kernel modules on Debian and Ubuntu, by release.
const MODULES: &str = "/usr/lib/uml/modules";

/// The package of Debian and Ubuntu that has the program and the modules.
const PACKAGE: &str = "the package user-mode-linux (apt install user-mode-linux)";

/// The modules that a run takes. None depends on another.
const NEEDED: [&str; 2] = ["drivers/net/veth.ko", "net/sched/sch_netem.ko"];

/// First release, major and minor, that keeps registers of any size. The ones before need a library
/// on processors with AMX, whose tiles take 8 KiB.
const ANY_REGISTERS: (u32, u32) = (6, 13);

/// An installed user-mode Linux.
#[derive(Clone, Debug)]
pub(super) struct Uml {
    program: PathBuf,
    /// The release of its kernel.
    pub release: String,
    /// The library that it needs for the registers of this processor.
    registers: Option<PathBuf>,
}

impl Uml {
    /// Looks for the program and its modules.
    pub(super) fn find() -> Result<Self> {
        let program = ["linux.uml", "linux"]
            .iter()
            .find_map(|name| which(name))
            .with_context(|| format!("linux.uml: not in PATH; expected it from {PACKAGE}"))?;
        let version = Command::new(&program)
            .arg("--version")
            .output()
            .with_context(|| format!("cannot run `{}`", program.display()))?;
        let release = String::from_utf8_lossy(&version.stdout).trim().to_owned();
        let processor = fs::read_to_string("/proc/cpuinfo")?;
        let registers = (!keeps_registers(&release, &processor))
            .then(|| library("uml-registers"))
            .transpose()?;
        for module in modules(&release) {
            ensure!(
                module.exists(),
                "{}: missing; expected it from {PACKAGE}",
                module.display()
            );
        }
        Ok(Uml {
            program,
            release,
            registers,
        })
    }

    /// The command that boots, does the job in `folder` with `lab`, which is
    /// this program, and ends.
    pub(super) fn command(&self, lab: &Path, folder: &Path) -> Result<Command> {
        let [lab, folder] = [lab, folder].map(|path| path.display().to_string());
        for path in [&lab, &folder] {
            if path.contains(char::is_whitespace) {
                bail!("path: has a space (got {path}); expected none with user-mode Linux");
            }
        }
        // SIGTERM, because only then it ends its helper processes too.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM"]);
        if let Some(library) = &self.registers {
            command.env("LD_PRELOAD", library);
        }
        command.arg(&self.program).args([
            MEMORY,
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "quiet",
            "con=null",
            "con0=null,fd:1",
            // A panic is the end; the default is to wait for ever.
            "panic=-1",
        ]);
        // What the kernel does not know is for the environment of init.
        command.arg(format!("PATH={PATH}"));
        // By default this is in the user's home, where nobody tidies up.
        command.arg(format!("uml_dir={folder}/{EXCHANGE}/"));
        command.arg(format!("init={lab}"));
        command.args(["--", "boot", &folder]);
        Ok(command)
    }
}

/// The library that spares the pair the system calls of its clock, which are
/// most of what it would do in user-mode Linux.
pub(super) fn clock() -> Result<PathBuf> {
    library("uml-clock")
}

/// The library of a package of this workspace, which is built beside this program.
fn library(package: &str) -> Result<PathBuf> {
    let name = format!("lib{}.so", package.replace('-', "_"));
    let path = std::env::current_exe()?.with_file_name(name);
    ensure!(
        path.exists(),
        "{}: missing; expected it from `cargo build --release -p {package}`",
        path.display()
    );
    ensure!(
        !path.as_os_str().as_bytes().contains(&b':'),
        "{}: has a colon; expected none, which separates the paths in LD_PRELOAD",
        path.display()
    );
    Ok(path)
}

/// Returns true if a release keeps all registers of a processor with this `/proc/cpuinfo`.
fn keeps_registers(release: &str, processor: &str) -> bool {
    let mut numbers = release.split('.').map(|it| it.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next()) >= ANY_REGISTERS || !processor.contains("amx_tile")
}

fn modules(release: &str) -> [PathBuf; 2] {
    let folder = Path::new(MODULES).join(release).join("kernel");
    NEEDED.map(|module| folder.join(module))
}

/// Acts as init: prepares the system, carries out the job of `folder`, and powers off.
///
/// # Errors
///
/// A failure to power off. All other errors are reported in `folder`.
pub fn boot(folder: &Path) -> Result<Infallible> {
    if let Err(error) = prepare(folder).and_then(|()| inside(folder)) {
        note!("{error:#}");
    }
    Ok(reboot(RebootMode::RB_POWER_OFF)?)
}

fn prepare(folder: &Path) -> Result<()> {
    let text = folder.to_str().context("the folder's name is not UTF-8")?;
    for (kind, place, options) in [("proc", "/proc", ""), ("hostfs", text, text)] {
        mount(
            Some(kind),
            place,
            Some(kind),
            MsFlags::empty(),
            Some(options),
        )
        .with_context(|| format!("cannot mount {kind} at {place}"))?;
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    for module in modules(release.trim()) {
        File::open(&module)
            .map_err(anyhow::Error::from)
            .and_then(|file| Ok(finit_module(file, c"", ModuleInitFlags::empty())?))
            .with_context(|| format!("cannot insert {}", module.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_before_6_13_do_not_keep_the_registers_of_amx() {
        let plain = "flags\t\t: fpu avx512f avx512_bf16\n";
        let amx = "flags\t\t: fpu avx512f amx_tile amx_int8\n";
        assert!(keeps_registers("6.1.176", plain));
        assert!(!keeps_registers("6.1.176", amx));
        assert!(!keeps_registers("", amx));
        assert!(keeps_registers("6.13.2", amx));
        assert!(keeps_registers("7.0", amx));
    }
}
