//! Arbitrary bytes of an unauthenticated connection, of a client and of a server are refused or read, without
//! a panic.

#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use serde::ser::SerializeTuple;
use serde::{Serialize, Serializer};
use tussle_join::{
    Admission, Channel, ClientMessage, Code, Limits, MAX_PLAIN_BYTES, Preamble, ServerMessage,
};

/// Bytes that stand in a message as they are.
struct Plain<'a>(&'a [u8]);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = serializer.serialize_tuple(self.0.len())?;
        self.0.iter().try_for_each(|byte| bytes.serialize_element(byte))?;
        bytes.end()
    }
}

fn code() -> Code {
    "8Z2K-QT6N-04HW-7XRC-M5PD".parse().expect("a code")
}

/// Both ends, after the handshake.
fn connected() -> (Channel, Channel) {
    let (mut client, mut server) = (Channel::initiate(&code()), Channel::respond(&code()));
    server.receive_bytes(&std::mem::take(client.outgoing()));
    assert_eq!(server.receive::<ClientMessage>(), Ok(None));
    client.receive_bytes(&std::mem::take(server.outgoing()));
    assert_eq!(client.receive::<ServerMessage>(), Ok(None));
    (client, server)
}

/// A connection without the code.
fn stranger(bytes: &[u8]) {
    let Ok(Some((opening, length))) = Preamble::read(bytes) else { return };
    assert_eq!(opening.bytes(), &bytes[..length]);
    let mut server = Channel::respond(&code());
    for part in bytes[length..].chunks(7) {
        server.receive_bytes(part);
        assert!(!matches!(server.receive::<ClientMessage>(), Ok(Some(_))));
    }
    assert!(!server.is_open());
}

/// A message of a client with the code.
fn client(plain: &[u8]) {
    let (mut client, mut server) = connected();
    client.send(&Plain(plain));
    server.receive_bytes(&std::mem::take(client.outgoing()));
    if let Ok(Some(message)) = server.receive::<ClientMessage>()
        && message.is_bounded()
        && let ClientMessage::Hello(hello) = message
    {
        let limits = Limits { flows: 8, for_ns: u64::MAX, algorithms: vec!["reno".to_owned()] };
        _ = hello.check(&limits);
    }
}

/// A message of a malicious server.
fn server(plain: &[u8]) {
    let (mut client, mut server) = connected();
    server.send(&Plain(plain));
    client.receive_bytes(&std::mem::take(server.outgoing()));
    _ = client.receive::<ServerMessage>();
}

/// Connections: an address and a time each.
fn crowd(visits: &[u8]) {
    let mut admission = Admission::new(0);
    let mut now_ns = 0;
    for (number, visit) in (0..).zip(visits.chunks_exact(2)) {
        now_ns += u64::from(visit[1]) << 20;
        let address = IpAddr::from([192, 0, 2, visit[0]]);
        admission.overdue(now_ns);
        admission.add(number, address, now_ns);
        if admission.try_handshake(address, now_ns).is_ok() {
            admission.admit(number);
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let plain = &bytes[..bytes.len().min(MAX_PLAIN_BYTES)];
    match kind % 4 {
        0 => stranger(bytes),
        1 => client(plain),
        2 => server(plain),
        _ => crowd(bytes),
    }
});
