//! Real-time priorities of the programs of a transfer.
//!
//! With ordinary ones, the other load of the machine adds to the round trips, and a controller
//! that reads them takes it for a queue.

use std::sync::OnceLock;
use std::thread;

/// Part of a program in a transfer, from the least urgent to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Receives the data.
    Client = 1,
    /// Sends the data, at the times that count.
    Server,
    /// Delivers the packets of both.
    Link,
}

/// Scheduling of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// That of any other process.
    Ordinary,
    /// Real-time priority of the main thread; other threads and children are ordinary.
    MainThread(Role),
    /// Real-time priority of all threads and children.
    Everything(Role),
}

impl Priority {
    /// The words in front of a command; none if the system does not permit the priority.
    pub(super) fn words(self) -> Vec<String> {
        let (options, role) = match self {
            Priority::MainThread(role) if permitted() => (&["--reset-on-fork", "--rr"][..], role),
            Priority::Everything(role) if permitted() => (&["--rr"][..], role),
            _ => return Vec::new(),
        };
        let role = (role as i32).to_string();
        let words = ["chrt"].iter().chain(options).copied();
        words.chain([role.as_str()]).map(str::to_owned).collect()
    }
}

impl Role {
    /// Gives this thread the priority, if the system permits it.
    pub fn take(self) {
        schedule(libc::SCHED_RR, self as i32);
    }
}

/// Schedules this thread. Returns false if the system does not permit it.
pub(crate) fn schedule(policy: i32, priority: i32) -> bool {
    let parameter = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the parameter outlives the call.
    unsafe { libc::sched_setscheduler(0, policy, &parameter) == 0 }
}

/// Returns true if this process may have real-time priorities.
fn permitted() -> bool {
    static PERMITTED: OnceLock<bool> = OnceLock::new();
    *PERMITTED.get_or_init(|| {
        let trial = || schedule(libc::SCHED_RR, Role::Link as i32);
        thread::spawn(trial).join().unwrap_or(false)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_comes_before_the_server_and_the_server_before_the_client() {
        assert_eq!(Priority::Ordinary.words(), [""; 0]);
        let words = |priority: Priority| priority.words().join(" ");
        let roles = [Role::Client, Role::Server, Role::Link];
        let [all, main] = [Priority::Everything, Priority::MainThread]
            .map(|priority| roles.map(|role| words(priority(role))));
        if permitted() {
            assert_eq!(all, ["chrt --rr 1", "chrt --rr 2", "chrt --rr 3"]);
            assert_eq!(main[1], "chrt --reset-on-fork --rr 2");
        } else {
            assert_eq!([all, main].concat(), [""; 6]);
        }
    }
}
