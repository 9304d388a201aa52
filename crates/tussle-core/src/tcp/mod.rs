//! TCP, split by mechanism.

mod flow;
pub(crate) mod rtt;

mod usage;

pub use flow::{Ack, Cause, Echo, Flow, Limit, RateSample, State};
pub use rtt::RttEstimator;
pub use usage::WindowUse;
