//! The preamble: the first bytes of a connection, in clear, which state its purpose.

/// First bytes of every connection; the digit is the version of the preamble.
const MAGIC: &[u8; 7] = b"tussle1";
const JOIN: u8 = b'J';
const TICKET: u8 = b'T';

/// Bytes of a ticket: 128 random bits.
pub const TICKET_BYTES: usize = 16;
/// Length of the longest preamble.
pub const PREAMBLE_BYTES: usize = MAGIC.len() + 1 + TICKET_BYTES;

/// A random one-time token that admits one connection, granted over the encrypted channel.
pub type Ticket = [u8; TICKET_BYTES];

/// Purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// A client asks to join; the handshake follows.
    Join,
    /// A flow or a probe of a client that has joined.
    Ticket(Ticket),
}

impl Preamble {
    /// Reads a preamble from the beginning of `bytes`, and returns its length. `None` if more bytes are
    /// needed.
    ///
    /// # Errors
    /// The bytes are not the beginning of a preamble.
    pub fn read(bytes: &[u8]) -> Result<Option<(Preamble, usize)>, NotAPreamble> {
        let known = bytes.len().min(MAGIC.len());
        if bytes[..known] != MAGIC[..known] {
            return Err(NotAPreamble);
        }
        let Some((kind, rest)) = bytes[known..].split_first() else { return Ok(None) };
        match *kind {
            JOIN => Ok(Some((Preamble::Join, MAGIC.len() + 1))),
            TICKET => Ok(rest.first_chunk().map(|ticket| (Preamble::Ticket(*ticket), PREAMBLE_BYTES))),
            _ => Err(NotAPreamble),
        }
    }

    /// Encodes the preamble.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Preamble::Join => [MAGIC.as_slice(), &[JOIN]].concat(),
            Preamble::Ticket(ticket) => [MAGIC.as_slice(), &[TICKET], ticket].concat(),
        }
    }
}

/// The bytes belong to another program's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection does not begin with Tussle's preamble")]
pub struct NotAPreamble;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preamble_is_read_back_and_later_bytes_are_left() {
        for opening in [Preamble::Join, Preamble::Ticket([7; TICKET_BYTES])] {
            let mut bytes = opening.bytes();
            for shorter in 0..bytes.len() {
                assert_eq!(Preamble::read(&bytes[..shorter]), Ok(None));
            }
            let length = bytes.len();
            bytes.extend(b"data");
            assert_eq!(Preamble::read(&bytes), Ok(Some((opening, length))));
        }
    }

    #[test]
    fn the_first_wrong_byte_ends_it() {
        for wrong in [b"G".as_slice(), b"tussle2", b"tussle1X", b"\0"] {
            assert_eq!(Preamble::read(wrong), Err(NotAPreamble));
        }
    }
}
