//! IPv4 addresses of the hosts of a run: they identify the flow of a packet and its direction.

use std::net::Ipv4Addr;

/// Largest number of flows: their addresses have 16 bits, without the first and the last 256.
pub const MAX_FLOWS: usize = 65_000;

/// Second byte of the addresses of senders, and of receivers.
const SENDERS: u8 = 1;
const RECEIVERS: u8 = 2;
/// Lower half of the first flow's addresses.
const FIRST_HOST: usize = 256;

/// Direction of a packet of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the sender to the receiver.
    Forward,
    /// From the receiver to the sender.
    Reverse,
}

/// Address of the sender of a flow.
pub fn sender_address(flow: usize) -> Ipv4Addr {
    address(SENDERS, flow)
}

/// Address of the receiver of a flow.
pub fn receiver_address(flow: usize) -> Ipv4Addr {
    address(RECEIVERS, flow)
}

/// Flow and direction of the packets to an address; `None` if the address belongs to no flow.
pub fn flow_towards(address: Ipv4Addr) -> Option<(usize, Direction)> {
    let [10, side, high, low] = address.octets() else { return None };
    let flow = usize::from(u16::from_be_bytes([high, low])).checked_sub(FIRST_HOST)?;
    match side {
        SENDERS => Some((flow, Direction::Reverse)),
        RECEIVERS => Some((flow, Direction::Forward)),
        _ => None,
    }
}

fn address(side: u8, flow: usize) -> Ipv4Addr {
    let [high, low] = u16::try_from(flow + FIRST_HOST).expect("there are at most MAX_FLOWS").to_be_bytes();
    Ipv4Addr::new(10, side, high, low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_flow_and_direction() {
        assert_eq!(flow_towards(receiver_address(700)), Some((700, Direction::Forward)));
        assert_eq!(flow_towards(sender_address(0)), Some((0, Direction::Reverse)));
        assert_eq!(flow_towards(Ipv4Addr::new(10, 1, 0, 3)), None);
        assert_eq!(flow_towards(Ipv4Addr::BROADCAST), None);
    }
}
