//! The protocol between `tussle serve` and its clients, without I/O and without a clock.
//!
//! Callers hand in bytes and times, so that tests and fuzzers can play any part. A connection begins with a
//! [`Preamble`]. It either asks to join over an encrypted [`Channel`], which only the holder of the [`Code`]
//! can use, or it shows a [`Ticket`] that the server granted over such a channel, and becomes a flow or a
//! probe. [`Admission`] limits what clients without the code can take of the server. [`Claims`] checks what
//! clients with the code report.

mod admission;
mod channel;
mod claims;
mod code;
mod message;
mod preamble;

pub use admission::{Admission, Refusal, Refused};
pub use channel::{Channel, ChannelError, MAX_PLAIN_BYTES};
pub use claims::{Claims, Implausible};
pub use code::{Code, NotACode};
pub use message::{
    ClientMessage, Direction, GRID_NS, Grant, Hello, Limits, MAX_ALGORITHM_BYTES, MAX_ROWS, MAX_TEXT_BYTES,
    Observation, Row, Sender, ServerMessage, VERSION,
};
pub use preamble::{PREAMBLE_BYTES, Preamble, TICKET_BYTES, Ticket};
