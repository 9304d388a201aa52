//! Tussle's packet-level simulator of TCP congestion control.
//!
//! Same [`Run`], same bytes out: time is whole nanoseconds, dice are seeded, nothing here reads a clock,
//! a file or the environment.

pub mod cc;
pub mod run;
pub mod table;
pub mod tcp;
pub mod time;

pub use run::Run;
pub use table::Table;
pub use time::Time;
