//! Tussle's packet-level simulator of TCP congestion control.
//!
//! Equal [`Run`]s give equal bytes: time is in whole nanoseconds, random number generators are seeded, and
//! the crate reads no clock, no file and no environment variable.

pub mod cc;
pub mod net;
pub mod record;
pub mod run;
pub mod script;
mod sim;
pub mod table;
pub mod tcp;
pub mod util;

pub use net::path::QueueLog;
pub use record::Histogram;
pub use run::Run;
pub use run::check::RunError;
pub use sim::capture::Capture;
pub use sim::{AlgorithmFactory, Outcome, Progress, Simulation, SimulationBuilder, Violation};
pub use table::Table;
pub use util::time::Time;
