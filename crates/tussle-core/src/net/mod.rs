//! The network: packets, the elements of paths, and queue disciplines.

pub mod packet;
pub(crate) mod packet_buffer;
pub mod path;
pub mod queue;
