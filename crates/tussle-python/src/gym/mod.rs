//! Simulations whose senders are controlled from outside, step by step: the worlds of `tussle.gym`.

mod agent;
mod world;
mod worlds;

pub(crate) use self::worlds::{WORLD_MEASUREMENTS, Worlds};
