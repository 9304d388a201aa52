//! Construction of runs, and access to tables, for tests.
#![allow(dead_code, reason = "each test binary compiles this module and uses its own part of it")]

pub(crate) mod network;
pub(crate) mod queues;
pub(crate) mod random;
pub(crate) mod tables;
