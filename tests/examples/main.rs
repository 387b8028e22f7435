//! The example pair, end to end on 127.0.0.1.

mod addresses;
mod admission;
mod bad_input;
mod download;
mod endings;
mod endurance;
mod harness;
mod http;
#[path = "../initial/mod.rs"]
mod initial;
#[path = "../keys/mod.rs"]
mod keys;
mod logs;
mod raw;
mod relay;
mod stranger;
mod suspend;
