//! Registers of any size for user-mode Linux, to be preloaded on the host.
//!
//! Before Linux 6.13, user-mode Linux keeps the registers of a process in a
//! buffer of 2696 bytes. It fetches them with `PTRACE_GETREGSET` and restores
//! them with `PTRACE_SETREGSET`. The host cuts what it fetches to the buffer,
//! but it restores all registers or none. With AMX they are 11,008 bytes, as
//! its tiles come after the others. The second call then fails, and user-mode
//! Linux panics with `ptrace set fp regs failed`.
//!
//! Preloaded (`LD_PRELOAD`), this library adds what the second call lacks:
//! tiles in their initial state. No process of user-mode Linux has others. It
//! would have to ask the host for permission, and cannot.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::ffi::c_void;
use std::mem;
use std::slice;
use std::sync::{Mutex, OnceLock, PoisonError};

use libc::{c_long, c_uint, iovec, pid_t};

/// Set of all registers that XSAVE saves, in its standard format.
const NT_X86_XSTATE: usize = 0x202;

/// Room for more registers than any processor has.
const ROOM: usize = 64 * 1024;

/// Registers of a process. They are not on the stack, because those of user-mode Linux have 16 KiB.
static REGISTERS: Mutex<[u8; ROOM]> = Mutex::new([0; ROOM]);

type Ptrace = unsafe extern "C" fn(c_uint, pid_t, *mut c_void, *mut c_void) -> c_long;

/// `ptrace` of the C library.
///
/// There it is variadic, and callers pass its arguments in the same way.
///
/// # Safety
///
/// As ptrace(2) says: `address` and `data` are what `request` asks for.
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C" fn ptrace(
    request: c_uint,
    pid: pid_t,
    address: *mut c_void,
    data: *mut c_void,
) -> c_long {
    if request != libc::PTRACE_SETREGSET || address as usize != NT_X86_XSTATE {
        // SAFETY: what the caller promised.
        return unsafe { next()(request, pid, address, data) };
    }
    let mut registers = REGISTERS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(length) = length(pid, &mut registers) else {
        return -1;
    };
    // SAFETY: with this request, `data` is an `iovec` of as many bytes to read.
    let given = unsafe {
        let given = *data.cast::<iovec>();
        slice::from_raw_parts(given.iov_base.cast::<u8>(), given.iov_len)
    };
    restore(&mut registers[..length], given);
    let mut all = iovec {
        iov_base: registers.as_mut_ptr().cast(),
        iov_len: length,
    };
    // SAFETY: `all` is valid for a read of its length.
    unsafe { next()(request, pid, address, (&raw mut all).cast()) }
}

/// The bytes of all registers, the same for each process of this host. The first call fetches those
/// of a stopped process into `room`.
fn length(pid: pid_t, room: &mut [u8; ROOM]) -> Option<usize> {
    static LENGTH: OnceLock<usize> = OnceLock::new();
    if LENGTH.get().is_none() {
        let mut all = iovec {
            iov_base: room.as_mut_ptr().cast(),
            iov_len: ROOM,
        };
        let set = NT_X86_XSTATE as *mut c_void;
        let vector = (&raw mut all).cast();
        // SAFETY: `all` is valid for a write of its length. The host reduces that to the bytes of
        // the registers.
        if unsafe { next()(libc::PTRACE_GETREGSET, pid, set, vector) } < 0 {
            return None;
        }
        LENGTH.get_or_init(|| all.iov_len);
    }
    LENGTH.get().copied()
}

/// Puts `given` in place of `registers`. Those that `given` lacks become zero,
/// which is their initial state.
fn restore(registers: &mut [u8], given: &[u8]) {
    let (first, rest) = registers.split_at_mut(given.len().min(registers.len()));
    first.copy_from_slice(&given[..first.len()]);
    rest.fill(0);
}

/// The function for which this library's stands in.
fn next() -> Ptrace {
    static NEXT: OnceLock<Ptrace> = OnceLock::new();
    *NEXT.get_or_init(|| {
        // SAFETY: the name ends with a zero. The C library has `ptrace`, with
        // arguments that are passed as those of `Ptrace`.
        unsafe {
            let symbol = libc::dlsym(libc::RTLD_NEXT, c"ptrace".as_ptr());
            assert!(!symbol.is_null(), "ptrace: not in the C library");
            mem::transmute::<*mut c_void, Ptrace>(symbol)
        }
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::ptr;

    use super::*;

    #[test]
    fn registers_that_are_not_given_become_zero() {
        let mut registers = [9; 4];
        restore(&mut registers, &[1, 2, 3]);
        assert_eq!(registers, [1, 2, 3, 0]);
        restore(&mut registers, &[5, 6, 7, 8, 9]);
        assert_eq!(registers, [5, 6, 7, 8]);
    }

    /// Calls `ptrace` for a stopped process with a buffer of the size of user-mode Linux's. Returns
    /// its result.
    fn registers(request: c_uint, pid: pid_t, buffer: &mut [u8; 2696]) -> c_long {
        let mut vector = iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        let set = NT_X86_XSTATE as *mut c_void;
        // SAFETY: the vector is valid for reads and writes of the buffer.
        unsafe { ptrace(request, pid, set, (&raw mut vector).cast()) }
    }

    #[test]
    fn a_short_buffer_restores_all_registers() {
        let mut process = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = process.id() as pid_t;
        let none = ptr::null_mut();
        let (mut fetched, mut again) = ([0; 2696], [0; 2696]);
        // SAFETY: neither request reads or writes memory of this process, and
        // waitpid(2) takes no pointer to write to.
        let stopped = unsafe {
            ptrace(libc::PTRACE_SEIZE, pid, none, none) == 0
                && ptrace(libc::PTRACE_INTERRUPT, pid, none, none) == 0
                && libc::waitpid(pid, ptr::null_mut(), 0) == pid
        };
        let fetch = registers(libc::PTRACE_GETREGSET, pid, &mut fetched);
        // A register of SSE, and the bit that says it is in use.
        fetched[160] ^= 0x5a;
        fetched[512] |= 2;
        let results = [
            fetch,
            registers(libc::PTRACE_SETREGSET, pid, &mut fetched),
            registers(libc::PTRACE_GETREGSET, pid, &mut again),
        ];
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(stopped);
        assert_eq!(results, [0; 3]);
        assert_eq!(fetched, again);
    }
}
