//! HyStart.
