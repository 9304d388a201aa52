//! Bytes as a stranger's connection, and as what a client or a server says: refused, or understood, without a panic.

#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use serde::ser::SerializeTuple;
use serde::{Serialize, Serializer};
use tussle_join::{Channel, Code, Admission, FromClient, FromServer, Limits, MOST_PLAIN_BYTES, Preamble};

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

/// Both ends, once they have greeted each other.
fn greeted() -> (Channel, Channel) {
    let (mut client, mut server) = (Channel::ask(&code()), Channel::answer(&code()));
    server.arrive(&std::mem::take(client.leaving()));
    assert_eq!(server.hear::<FromClient>(), Ok(None));
    client.arrive(&std::mem::take(server.leaving()));
    assert_eq!(client.hear::<FromServer>(), Ok(None));
    (client, server)
}

/// A connection of someone without the code.
fn stranger(bytes: &[u8]) {
    let Ok(Some((opening, length))) = Preamble::read(bytes) else { return };
    assert_eq!(opening.bytes(), &bytes[..length]);
    let mut server = Channel::answer(&code());
    for part in bytes[length..].chunks(7) {
        server.arrive(part);
        assert!(!matches!(server.hear::<FromClient>(), Ok(Some(_))));
    }
    assert!(!server.is_open());
}

/// What someone with the code says.
fn client(plain: &[u8]) {
    let (mut client, mut server) = greeted();
    client.say(&Plain(plain));
    server.arrive(&std::mem::take(client.leaving()));
    if let Ok(Some(message)) = server.hear::<FromClient>()
        && message.is_bounded()
        && let FromClient::Hello(hello) = message
    {
        let limits = Limits { flows: 8, for_ns: u64::MAX, algorithms: vec!["reno".to_owned()] };
        _ = hello.check(&limits);
    }
}

/// What a server says that has been taken over.
fn server(plain: &[u8]) {
    let (mut client, mut server) = greeted();
    server.say(&Plain(plain));
    client.arrive(&std::mem::take(server.leaving()));
    _ = client.hear::<FromServer>();
}

/// Who comes, and when: an address and a time each.
fn crowd(visits: &[u8]) {
    let mut door = Admission::new(0);
    let mut now_ns = 0;
    for (number, visit) in (0..).zip(visits.chunks_exact(2)) {
        now_ns += u64::from(visit[1]) << 20;
        let address = IpAddr::from([192, 0, 2, visit[0]]);
        door.overdue(now_ns);
        door.come(number, address, now_ns);
        if door.try_handshake(address, now_ns).is_ok() {
            door.enter(number);
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let plain = &bytes[..bytes.len().min(MOST_PLAIN_BYTES)];
    match kind % 4 {
        0 => stranger(bytes),
        1 => client(plain),
        2 => server(plain),
        _ => crowd(bytes),
    }
});
