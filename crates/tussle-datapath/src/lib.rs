//! The simulator's elements as the path of real packets.
//!
//! The owner stores the packets in [`Slots`], and passes them to [`Elements`] with the time at which they arrive. Elements
//! decide when each packet leaves and whether it is dropped, marked, damaged or duplicated. The agent uses this between TUN
//! devices, and the driver inside the kernel of a guest.

mod addresses;
mod byte_slots;
mod elements;
mod header;
mod losses;
pub mod requests;

pub use addresses::{Direction, MAX_FLOWS, flow_towards, receiver_address, sender_address};
pub use byte_slots::ByteSlots;
pub use elements::{Elements, Left, Slots, Tally};
pub use header::{SequenceNumbers, apply, damage, mark, sequence_numbers};
pub use losses::{Loss, LossKind};
