//! TUN devices: packets of a network interface in the hands of a program.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use anyhow::{ensure, Context, Result};

/// Makes the device `name`, of which every read takes one IP packet and every
/// write gives one. It lives as long as the file.
pub(crate) fn create(name: &str) -> Result<File> {
    ensure!(
        name.len() < libc::IFNAMSIZ,
        "`{name}` is too long for a device"
    );
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")
        .context("cannot open /dev/net/tun")?;
    // SAFETY: a structure of numbers and characters, all of which may be zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request is the structure that this call reads and writes, and outlives it.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &mut request) };
    ensure!(
        done == 0,
        "cannot make the TUN device {name}: {}",
        std::io::Error::last_os_error()
    );
    Ok(file)
}
