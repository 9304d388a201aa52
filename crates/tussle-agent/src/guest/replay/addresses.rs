//! Addresses of the two ends of a script's connection.

use std::net::Ipv4Addr;

/// The kernel's address.
pub(super) const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// The peer's address.
pub(super) const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
pub(super) const HOST_PORT: u16 = 40_000;
pub(super) const PEER_PORT: u16 = crate::network::PORT;
/// Type of service by which packets are routed until the connection is open.
pub(super) const OPENING_TOS: i32 = 0x10;
