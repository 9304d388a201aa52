//! Time, random numbers and containers, independent of networks.

pub mod calendar;
pub mod distribution;
pub(crate) mod ring_buffer;
pub mod rng;
pub mod time;
pub(crate) mod windowed;
