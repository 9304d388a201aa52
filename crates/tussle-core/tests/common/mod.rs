//! Construction of runs, and access to tables, for tests.

pub(crate) mod network;
pub(crate) mod queues;
pub(crate) mod random;
pub(crate) mod tables;
