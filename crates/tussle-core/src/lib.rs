//! Tussle's packet-level simulator of TCP congestion control.
//!
//! Same [`Run`], same bytes out: time is whole nanoseconds, dice are seeded, nothing here reads a clock,
//! a file or the environment.

pub mod application;
mod calendar;
mod capture;
pub mod cc;
mod check;
mod datagrams;
pub mod dice;
mod line;
pub mod packet;
mod packets;
pub mod path;
pub mod queue;
mod random;
mod record;
pub mod room;
pub mod run;
pub mod script;
mod sim;
pub mod table;
pub mod tcp;
pub mod time;
mod windowed;

pub use capture::Capture;
pub use check::RunError;
pub use record::Histogram;
pub use run::Run;
pub use sim::{Outcome, Own, Progress, Simulation, Violation};
pub use table::Table;
pub use time::Time;
