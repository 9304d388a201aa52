//! How clients join a measurement, and what they and its server tell each other: bytes in, bytes and facts out.
//!
//! No I/O and no clock: whoever has the sockets hands in bytes and times, so that tests and fuzzers can be anyone.
//! A connection [opens](Opening) as one of two: it asks to join, over an encrypted [`Channel`] that only the holder of
//! the [`Code`] can speak on, or it shows a [`Ticket`] that was given out there and becomes a flow or a probe. What
//! strangers may take of a server's time and room is decided at its [`Admission`]; what those with the code may claim, by
//! [`Claims`].

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
