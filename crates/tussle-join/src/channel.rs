//! The encrypted channel between a client and the server: a Noise handshake keyed by the code, then messages
//! in frames.

use serde::Serialize;
use serde::de::DeserializeOwned;
use snow::{Builder, HandshakeState, TransportState};

use crate::code::Code;

/// NN: neither end has a static key. psk0: the code is mixed in before the first byte, so that a client
/// without the code learns nothing (The Noise Protocol Framework, revision 34, section 9).
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// Prologue of the handshake; both ends must use the same.
const PROLOGUE: &[u8] = b"tussle join 1";

/// Bytes of the length before each frame, in network byte order.
const HEAD_BYTES: usize = 2;
/// Bytes that encryption adds to a frame.
const TAG_BYTES: usize = 16;
/// Bytes of a handshake frame: a public key and a tag.
const HANDSHAKE_BYTES: usize = 48;
/// Largest message in bytes, before encryption.
pub const MAX_PLAIN_BYTES: usize = 8 * 1024;

/// Reason why a channel cannot be used any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// The other end does not have the code, or the bytes were changed in transit.
    #[error("the other end does not have this code")]
    WrongCode,
    /// The length of a frame is outside the allowed range.
    #[error("a frame has {0} bytes")]
    Size(usize),
    /// The decrypted bytes are not a message.
    #[error("a message cannot be read")]
    Message,
}

/// One end of the channel.
#[derive(Debug)]
pub struct Channel {
    noise: Noise,
    incoming: Vec<u8>,
    /// Bytes that wait to be written to the connection.
    outgoing: Vec<u8>,
}

#[derive(Debug)]
enum Noise {
    /// Waits for the other end's part of the handshake. `None` after a handshake that failed.
    Handshake(Option<Box<HandshakeState>>),
    Transport(Box<TransportState>),
}

impl Channel {
    /// Creates the client's end. Its part of the handshake is among the outgoing bytes.
    pub fn initiate(code: &Code) -> Channel {
        let mut handshake = Builder::new(PATTERN.parse().expect("a pattern that snow has"))
            .prologue(PROLOGUE)
            .and_then(|builder| builder.psk(0, &code.key())?.build_initiator())
            .expect("the pattern needs this key and no other");
        let mut frame = [0; HANDSHAKE_BYTES];
        let length = handshake.write_message(&[], &mut frame).expect("its turn, and room enough");
        let mut channel = Channel::over(Noise::Handshake(Some(Box::new(handshake))));
        channel.frame(&frame[..length]);
        channel
    }

    /// Creates the server's end.
    pub fn respond(code: &Code) -> Channel {
        let handshake = Builder::new(PATTERN.parse().expect("a pattern that snow has"))
            .prologue(PROLOGUE)
            .and_then(|builder| builder.psk(0, &code.key())?.build_responder())
            .expect("the pattern needs this key and no other");
        Channel::over(Noise::Handshake(Some(Box::new(handshake))))
    }

    fn over(noise: Noise) -> Channel {
        Channel { noise, incoming: Vec::new(), outgoing: Vec::new() }
    }

    /// Takes bytes read from the connection. At most one frame stays buffered beyond them.
    pub fn receive_bytes(&mut self, bytes: &[u8]) {
        self.incoming.extend_from_slice(bytes);
    }

    /// Bytes to be written to the connection; the caller removes what it has written.
    pub fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing
    }

    /// Whether both ends have shown that they have the code. The server knows after the first message only,
    /// since the handshake may be a replay.
    pub fn is_open(&self) -> bool {
        matches!(self.noise, Noise::Transport(_))
    }

    /// Returns the next complete message, if there is one.
    ///
    /// # Errors
    /// The channel cannot be used any longer.
    pub fn receive<M: DeserializeOwned>(&mut self) -> Result<Option<M>, ChannelError> {
        while let Some(length) = self.whole_frame()? {
            let frame: Vec<u8> = self.incoming.drain(..HEAD_BYTES + length).skip(HEAD_BYTES).collect();
            if let Some(plain) = self.open(&frame)? {
                let (message, rest) = postcard::take_from_bytes(&plain).map_err(|_| ChannelError::Message)?;
                return if rest.is_empty() { Ok(Some(message)) } else { Err(ChannelError::Message) };
            }
        }
        Ok(None)
    }

    /// Length of the next frame, once it has arrived completely.
    fn whole_frame(&self) -> Result<Option<usize>, ChannelError> {
        let Some(head) = self.incoming.first_chunk::<HEAD_BYTES>() else { return Ok(None) };
        let length = usize::from(u16::from_be_bytes(*head));
        let is_right = match self.noise {
            Noise::Handshake(_) => length == HANDSHAKE_BYTES,
            Noise::Transport(_) => (TAG_BYTES..=TAG_BYTES + MAX_PLAIN_BYTES).contains(&length),
        };
        if !is_right {
            return Err(ChannelError::Size(length));
        }
        Ok((self.incoming.len() >= HEAD_BYTES + length).then_some(length))
    }

    /// Decrypts a frame. `None` if it belongs to the handshake.
    fn open(&mut self, frame: &[u8]) -> Result<Option<Vec<u8>>, ChannelError> {
        match &mut self.noise {
            Noise::Transport(transport) => {
                let mut plain = vec![0; frame.len()];
                let length =
                    transport.read_message(frame, &mut plain).map_err(|_| ChannelError::WrongCode)?;
                plain.truncate(length);
                Ok(Some(plain))
            }
            Noise::Handshake(_) => self.advance_handshake(frame).map(|()| None),
        }
    }

    /// Processes the other end's part of the handshake; the server answers it. Both ends can send messages
    /// then.
    fn advance_handshake(&mut self, frame: &[u8]) -> Result<(), ChannelError> {
        let Noise::Handshake(handshake) = &mut self.noise else { return Ok(()) };
        let mut handshake = handshake.take().ok_or(ChannelError::WrongCode)?;
        handshake.read_message(frame, &mut [0; HANDSHAKE_BYTES]).map_err(|_| ChannelError::WrongCode)?;
        let mut answer = [0; HANDSHAKE_BYTES];
        let length = if handshake.is_handshake_finished() {
            0
        } else {
            handshake.write_message(&[], &mut answer).expect("its turn, and room enough")
        };
        let transport = handshake.into_transport_mode().expect("both parts are done");
        self.noise = Noise::Transport(Box::new(transport));
        if length > 0 {
            self.frame(&answer[..length]);
        }
        Ok(())
    }

    /// Encrypts a message, and appends it to the outgoing bytes.
    pub fn send<M: Serialize>(&mut self, message: &M) {
        let plain = postcard::to_allocvec(message).expect("messages have no maps and no unknown lengths");
        assert!(plain.len() <= MAX_PLAIN_BYTES, "messages are kept short");
        let Noise::Transport(transport) = &mut self.noise else { panic!("the handshake comes first") };
        let mut frame = vec![0; plain.len() + TAG_BYTES];
        let length = transport.write_message(&plain, &mut frame).expect("room enough, and few messages");
        self.frame(&frame[..length]);
    }

    fn frame(&mut self, bytes: &[u8]) {
        let length = u16::try_from(bytes.len()).expect("frames are short");
        self.outgoing.extend(length.to_be_bytes());
        self.outgoing.extend(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Code {
        text.parse().unwrap()
    }

    /// Carries the outgoing bytes of one end to the other.
    fn carry(from: &mut Channel, to: &mut Channel) {
        to.receive_bytes(&std::mem::take(from.outgoing()));
    }

    #[test]
    fn two_ends_with_the_same_code_exchange_messages() {
        let code = code("8Z2K-QT6N-04HW-7XRC-M5PD");
        let (mut client, mut server) = (Channel::initiate(&code), Channel::respond(&code));
        carry(&mut client, &mut server);
        assert_eq!(server.receive::<String>(), Ok(None));
        carry(&mut server, &mut client);
        assert_eq!(client.receive::<String>(), Ok(None));
        assert!(client.is_open() && server.is_open());
        client.send(&"there".to_owned());
        client.send(&"again".to_owned());
        carry(&mut client, &mut server);
        assert_eq!(server.receive(), Ok(Some("there".to_owned())));
        assert_eq!(server.receive(), Ok(Some("again".to_owned())));
        server.send(&"back".to_owned());
        carry(&mut server, &mut client);
        assert_eq!(client.receive(), Ok(Some("back".to_owned())));
    }

    #[test]
    fn bytes_may_arrive_one_by_one() {
        let code = code("8Z2K-QT6N-04HW-7XRC-M5PD");
        let (mut client, mut server) = (Channel::initiate(&code), Channel::respond(&code));
        for byte in std::mem::take(client.outgoing()) {
            assert!(!server.is_open());
            server.receive_bytes(&[byte]);
            assert_eq!(server.receive::<String>(), Ok(None));
        }
        assert!(server.is_open());
    }

    #[test]
    fn a_client_with_another_code_gets_no_answer() {
        let mut client = Channel::initiate(&code("8Z2K-QT6N-04HW-7XRC-M5PD"));
        let mut server = Channel::respond(&code("8Z2K-QT6N-04HW-7XRC-M5PE"));
        carry(&mut client, &mut server);
        assert_eq!(server.receive::<String>(), Err(ChannelError::WrongCode));
        assert!(server.outgoing().is_empty());
        assert!(!server.is_open());
        server.receive_bytes(&[0, 48]);
        server.receive_bytes(&[0; 48]);
        assert_eq!(server.receive::<String>(), Err(ChannelError::WrongCode));
    }

    #[test]
    fn a_recorded_handshake_opens_nothing() {
        let code = code("8Z2K-QT6N-04HW-7XRC-M5PD");
        let (mut client, mut server) = (Channel::initiate(&code), Channel::respond(&code));
        let handshake = std::mem::take(client.outgoing());
        server.receive_bytes(&handshake);
        assert_eq!(server.receive::<String>(), Ok(None));
        carry(&mut server, &mut client);
        assert_eq!(client.receive::<String>(), Ok(None));
        client.send(&"there".to_owned());
        let message = std::mem::take(client.outgoing());
        let mut later = Channel::respond(&code);
        later.receive_bytes(&[handshake, message].concat());
        assert_eq!(later.receive::<String>(), Err(ChannelError::WrongCode));
    }

    #[test]
    fn a_frame_of_another_size_is_refused_before_it_arrives() {
        let mut server = Channel::respond(&code("8Z2K-QT6N-04HW-7XRC-M5PD"));
        server.receive_bytes(&[0xff, 0xff]);
        assert_eq!(server.receive::<String>(), Err(ChannelError::Size(0xffff)));
    }
}
