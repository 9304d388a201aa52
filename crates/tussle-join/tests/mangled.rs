//! Arbitrary bytes are refused, or are a valid message of the protocol.

use std::net::IpAddr;

use proptest::collection::vec;
use proptest::prelude::*;
use serde::ser::SerializeTuple;
use serde::{Serialize, Serializer};
use tussle_join::{
    Admission, Channel, ChannelError, ClientMessage, Code, Direction, Grant, Hello, Limits, Observation,
    Preamble, Row, ServerMessage, VERSION,
};

/// Raw bytes of a message.
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

fn messages() -> impl Strategy<Value = ClientMessage> {
    let hello = ("[a-z]{1,15}", any::<u16>(), any::<u64>(), any::<Option<u64>>()).prop_map(
        |(algorithm, flows, for_ns, bytes)| {
            let direction = Direction::ToServer;
            ClientMessage::Hello(Hello { version: VERSION, algorithm, flows, direction, for_ns, bytes })
        },
    );
    let rows = vec((any::<u32>(), any::<u16>(), any::<u64>(), any::<u32>()), 0..40).prop_map(|rows| {
        let row = |(instant, flow, bytes, packets)| Row {
            instant,
            flow,
            observation: Observation::Receiver { bytes, packets },
        };
        ClientMessage::Rows(rows.into_iter().map(row).collect())
    });
    prop_oneof![hello, rows, any::<u32>().prop_map(ClientMessage::IdleRtt), Just(ClientMessage::Finished)]
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_open_a_channel(bytes in vec(any::<u8>(), 0..300), cut in 0usize..300) {
        let mut server = Channel::respond(&code());
        let (first, rest) = bytes.split_at(cut.min(bytes.len()));
        for part in [first, rest] {
            server.receive_bytes(part);
            prop_assert!(!matches!(server.receive::<ClientMessage>(), Ok(Some(_))));
        }
        prop_assert!(!server.is_open());
        prop_assert!(server.outgoing().is_empty());
    }

    #[test]
    fn a_preamble_is_what_was_written_or_none(bytes in vec(any::<u8>(), 0..40)) {
        if let Ok(Some((opening, length))) = Preamble::read(&bytes) {
            prop_assert_eq!(opening.bytes(), &bytes[..length]);
        }
    }

    #[test]
    fn a_message_changed_in_transit_is_detected(
        message in messages(), at in any::<prop::sample::Index>(), bit in 0..8,
    ) {
        let (mut client, mut server) = connected();
        client.send(&message);
        let mut bytes = std::mem::take(client.outgoing());
        let at = at.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        server.receive_bytes(&bytes);
        // With a larger length, the channel waits for more bytes.
        prop_assert!(!matches!(server.receive::<ClientMessage>(), Ok(Some(_))));
    }

    #[test]
    fn a_message_arrives_as_it_was_sent(message in messages()) {
        let (mut client, mut server) = connected();
        client.send(&message);
        server.receive_bytes(&std::mem::take(client.outgoing()));
        prop_assert_eq!(server.receive(), Ok(Some(message)));
    }

    /// A request is within the limits, or is refused. Almost no random request is within these limits.
    #[test]
    fn bytes_of_a_client_are_a_message_or_end_the_channel(plain in vec(any::<u8>(), 0..600)) {
        let (mut client, mut server) = connected();
        client.send(&Plain(&plain));
        server.receive_bytes(&std::mem::take(client.outgoing()));
        match server.receive::<ClientMessage>() {
            Ok(Some(ClientMessage::Hello(hello))) => {
                let limits = Limits { flows: 8, for_ns: 1, algorithms: vec!["reno".to_owned()] };
                let is_within = hello.algorithm == "reno" && hello.for_ns == 1 && (1..=8).contains(&hello.flows);
                prop_assert!(hello.check(&limits).is_err() || is_within);
            }
            Ok(Some(ClientMessage::Rows(rows))) => prop_assert!(rows.len() <= plain.len()),
            Ok(Some(_)) => {}
            other => prop_assert_eq!(other, Err(ChannelError::Message)),
        }
    }

    #[test]
    fn bytes_of_a_server_are_a_message_or_end_the_channel(plain in vec(any::<u8>(), 0..600)) {
        let (mut client, mut server) = connected();
        server.send(&Plain(&plain));
        client.receive_bytes(&std::mem::take(server.outgoing()));
        match client.receive::<ServerMessage>() {
            Ok(Some(ServerMessage::Granted(Grant { flows, .. }))) => prop_assert!(flows.len() <= plain.len()),
            Ok(Some(_)) => {}
            other => prop_assert_eq!(other, Err(ChannelError::Message)),
        }
    }

    /// Each connection is refused or still waits, and at most 128 wait.
    #[test]
    fn every_connection_is_accounted_for(
        visits in vec((any::<u8>(), 0u64..100_000_000), 0..400),
    ) {
        let mut admission = Admission::new(0);
        let mut now_ns = 0;
        let mut waiting = Vec::new();
        for (number, (address, pause_ns)) in (0..).zip(visits) {
            now_ns += pause_ns;
            for gone in admission.overdue(now_ns) {
                waiting.retain(|one| *one != gone);
            }
            waiting.push(number);
            if let Some(gone) = admission.add(number, IpAddr::from([192, 0, 2, address % 8]), now_ns) {
                prop_assert!(waiting.contains(&gone));
                waiting.retain(|one| *one != gone);
            }
            prop_assert!(waiting.len() <= 128);
        }
        let mut left = admission.overdue(u64::MAX);
        left.sort_unstable();
        prop_assert_eq!(left, waiting);
    }
}
