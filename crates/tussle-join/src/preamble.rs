//! The first bytes of a connection, in clear: what it wants to be.

/// What every connection begins with; the digit is the version of this opening.
const MAGIC: &[u8; 7] = b"tussle1";
const JOIN: u8 = b'J';
const TICKET: u8 = b'T';

/// Bytes of a ticket: 128 random bits.
pub const TICKET_BYTES: usize = 16;
/// The longest opening.
pub const PREAMBLE_BYTES: usize = MAGIC.len() + 1 + TICKET_BYTES;

/// What lets one connection in, once: random, and told over the encrypted channel.
pub type Ticket = [u8; TICKET_BYTES];

/// What a connection wants to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// A client that asks to join; the handshake follows.
    Join,
    /// A flow or a probe of a client that has joined.
    Ticket(Ticket),
}

impl Preamble {
    /// Reads an opening off the beginning of `bytes`, and says how many it took; `None`: there is more to come.
    ///
    /// # Errors
    /// The bytes are no opening, whatever may follow.
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

    /// The bytes that say so.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Preamble::Join => [MAGIC.as_slice(), &[JOIN]].concat(),
            Preamble::Ticket(ticket) => [MAGIC.as_slice(), &[TICKET], ticket].concat(),
        }
    }
}

/// The bytes are of some other program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection does not begin as Tussle's do")]
pub struct NotAPreamble;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_is_read_back_and_what_follows_is_left() {
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
