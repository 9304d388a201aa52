//! Tests of the receiver.

use super::*;

fn setup(ecn: EcnMode) -> ReceiverSetup {
    ReceiverSetup {
        flow: 0,
        host: Host::default(),
        sack: true,
        timestamps: true,
        mss_bytes: 1448,
        window: LargestWindow::Bytes(65_535),
        ecn,
        timestamp_offset_ms: 0,
        reads_at_once: false,
    }
}

/// Test fixture that delivers data packets to a receiver and returns its ACKs.
struct Fixture {
    receiver: Receiver,
    out: Outbox,
}

impl Fixture {
    fn new(ecn: EcnMode) -> Fixture {
        Fixture::of(setup(ecn))
    }

    fn of(setup: ReceiverSetup) -> Fixture {
        let mut receiver = Receiver::new(setup);
        let mut out = Outbox::default();
        let mut syn = Packet::new(Kind::Syn, 0);
        syn.flags = Flags::ECE.with(Flags::CWR);
        receiver.on_packet(&syn, Time::ZERO, &mut out);
        receiver.on_packet(&Packet::new(Kind::Ack, 0), Time::from_ms(100), &mut out);
        out.packets.clear();
        Fixture { receiver, out }
    }

    /// A receiver after the quick ACKs of the start: packets 0 to 15 have arrived, one per millisecond.
    fn settled() -> Fixture {
        Fixture::settled_of(setup(EcnMode::Off))
    }

    fn settled_of(setup: ReceiverSetup) -> Fixture {
        let mut fixture = Fixture::of(setup);
        for number in 0..16 {
            fixture.data(number, 200.0 + f64::from(number));
        }
        fixture
    }

    fn data(&mut self, number: u32, at_ms: f64) -> Vec<Packet> {
        self.packet(Packet { number, size_bytes: 1500, ..Packet::new(Kind::Data, 0) }, at_ms)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a test")]
    fn packet(&mut self, packet: Packet, at_ms: f64) -> Vec<Packet> {
        self.receiver.on_packet(&packet, Time::from_us((at_ms * 1000.0) as u64), &mut self.out);
        std::mem::take(&mut self.out.packets)
    }

    fn wait(&mut self) -> (Time, Vec<Packet>) {
        let at = self.receiver.wake();
        self.receiver.on_timer(at, &mut self.out);
        (at, std::mem::take(&mut self.out.packets))
    }
}

fn acknowledged(acks: &[Packet]) -> Vec<u32> {
    acks.iter().map(|ack| ack.number).collect()
}

fn blocks(ack: &Packet) -> Vec<(u32, u32)> {
    ack.sacks.as_slice().iter().map(|block| (block.start, block.end)).collect()
}

/// With the RTT of a satellite link, the first SYN-ACK is still in the network when the SYN is
/// retransmitted.
#[test]
fn the_handshake_is_timed_from_its_first_answer() {
    let mut fixture = Fixture { receiver: Receiver::new(setup(EcnMode::Off)), out: Outbox::default() };
    let syn = Packet::new(Kind::Syn, 0);
    assert_eq!(fixture.packet(syn, 650.0).len(), 1);
    assert_eq!(fixture.packet(syn, 1650.0).len(), 1, "the answer may be lost");
    fixture.packet(Packet::new(Kind::Ack, 0), 1950.0);
    assert_eq!(fixture.receiver.path().srtt, Time::from_ms(1300));
    assert_eq!(fixture.packet(syn, 2650.0), [], "a duplicate that later packets have overtaken");
}

/// From 100.9 µs to 300.3 µs are 199.4 µs, and 300 - 100 = 200 in whole microseconds.
#[test]
fn the_handshake_is_timed_between_two_times_in_whole_microseconds() {
    let mut receiver = Receiver::new(setup(EcnMode::Off));
    let mut out = Outbox::default();
    receiver.on_packet(&Packet::new(Kind::Syn, 0), Time::from_ns(100_900), &mut out);
    receiver.on_packet(&Packet::new(Kind::Ack, 0), Time::from_ns(300_300), &mut out);
    assert_eq!(receiver.path().srtt, Time::from_us(200));
}

/// From 65 535 bytes, 45 packets, by two for each packet, to 65 535 + 20 × 2896 = 123 455 bytes, 85
/// packets. The sixteen quick ACKs are left over: growing does not use them up.
#[test]
fn the_window_grows_by_two_for_each_packet_and_every_one_is_acknowledged() {
    let mut fixture = Fixture::new(EcnMode::Off);
    fixture.receiver.largest_window_bytes = 123_455;
    let acks: Vec<_> = (0..44).flat_map(|number| fixture.data(number, 200.0 + f64::from(number))).collect();
    let windows: Vec<_> = acks.iter().map(|ack| ack.window.packets()).collect();
    assert_eq!(windows[..4], [47, 49, 51, 53]);
    assert_eq!(windows[18..21], [83, 85, 85]);
    assert_eq!(acknowledged(&acks)[34..], [35, 36, 38, 40, 42, 44]);
}

#[test]
fn after_sixteen_quick_acks_every_second_packet_is_acknowledged() {
    let mut fixture = Fixture::settled();
    let acks: Vec<_> =
        (16..24).flat_map(|number| acknowledged(&fixture.data(number, 220.0 + f64::from(number)))).collect();
    assert_eq!(acks, [18, 20, 22, 24]);
}

/// Received at 232 ms, tick 58; 40 ms are 10 ticks, fired one later: 276 ms.
#[test]
fn a_lone_packet_is_acknowledged_after_forty_milliseconds() {
    let mut fixture = Fixture::settled();
    assert_eq!(fixture.data(16, 232.0), []);
    let (at, acks) = fixture.wait();
    assert_eq!((at, acknowledged(&acks)), (Time::from_ms(276), vec![17]));
}

/// At 240 ms, 7 ticks after the packet before (tick 53): it may wait 10 / 2 + 7 = 12 ticks, from tick 60.
#[test]
fn acks_are_delayed_longer_for_a_slower_sender() {
    let mut fixture = Fixture::settled();
    assert_eq!(fixture.data(16, 240.0), []);
    assert_eq!(fixture.wait().0, Time::from_ms(292));
}

#[test]
fn a_gap_is_reported_at_once_and_its_filling_too() {
    let mut fixture = Fixture::settled();
    let ack = fixture.data(17, 240.0);
    assert_eq!((acknowledged(&ack), blocks(&ack[0])), (vec![16], vec![(17, 18)]));
    let ack = fixture.data(16, 241.0);
    assert_eq!((acknowledged(&ack), blocks(&ack[0])), (vec![18], vec![]));
}

/// Three SACKs are sent at once; then one for all packets that arrive within min(1 ms, 100 ms / 20) and
/// 100 µs of slack.
#[test]
fn many_sacks_are_spaced_by_a_millisecond() {
    let mut fixture = Fixture::settled();
    let at_once: usize = (17..30).map(|number| fixture.data(number, 240.0).len()).sum();
    assert_eq!(at_once, 3);
    let (at, acks) = fixture.wait();
    assert_eq!(at, Time::from_us(241_100));
    assert_eq!(blocks(&acks[0]), [(17, 30)]);
}

/// Four ranges, of which an option with timestamps carries three, and a SACK that waits, of packet 27. Packet 19 extends the
/// fourth range: the SACK leaves at once, and without packet 19, which the next one reports first.
#[test]
fn a_waiting_sack_leaves_before_an_old_range_that_grew_has_moved_to_the_front() {
    let mut fixture = Fixture::settled();
    for number in [18, 21, 24, 26] {
        fixture.data(number, 240.0);
    }
    assert_eq!(fixture.data(27, 240.0), []);
    let acks = fixture.data(19, 240.0);
    assert_eq!(acks.len(), 1);
    assert_eq!(blocks(&acks[0]), [(26, 28), (24, 25), (21, 22)]);
    assert_eq!(fixture.data(20, 240.0), []);
    assert_eq!(blocks(&fixture.wait().1[0]), [(18, 22), (26, 28), (24, 25)]);
}

#[test]
fn a_duplicate_packet_is_reported_by_dsack() {
    let mut fixture = Fixture::settled();
    let ack = fixture.data(3, 240.0);
    assert_eq!((acknowledged(&ack), blocks(&ack[0])), (vec![16], vec![(3, 4)]));
    fixture.data(18, 241.0);
    let ack = fixture.data(18, 242.0);
    assert_eq!(blocks(&ack[0]), [(18, 19), (18, 19)]);
}

#[test]
fn the_last_packet_is_acknowledged_at_once_and_its_short_payload_counts() {
    let mut fixture = Fixture::settled();
    let last = Packet { number: 17, size_bytes: 152, flags: Flags::FIN, ..Packet::new(Kind::Data, 0) };
    fixture.packet(last, 240.0);
    assert_eq!(fixture.receiver.finished(), None, "16 is missing");
    let ack = fixture.data(16, 241.0);
    assert_eq!(acknowledged(&ack), [18]);
    assert_eq!(fixture.receiver.delivered_bytes(), 17 * 1448 + 100);
    assert_eq!(fixture.receiver.finished(), Some(Time::from_ms(241)));
}

#[test]
fn a_mark_is_echoed_until_the_sender_has_reduced() {
    let mut fixture = Fixture::new(EcnMode::Classic);
    let mark = Packet { number: 0, size_bytes: 1500, ecn: Ecn::Ce, ..Packet::new(Kind::Data, 0) };
    assert!(fixture.packet(mark, 200.0)[0].flags.has(Flags::ECE));
    let plain = Packet { number: 1, ecn: Ecn::Ect0, ..mark };
    assert!(fixture.packet(plain, 201.0)[0].flags.has(Flags::ECE));
    let reduced = Packet { number: 2, flags: Flags::CWR, ..plain };
    assert!(!fixture.packet(reduced, 202.0)[0].flags.has(Flags::ECE));
    assert_eq!(fixture.receiver.marks(), 1);
}

/// Packets 0 to 15 are acknowledged by quick ACKs. Packet 16 is not marked and its ACK is delayed; 17 is
/// marked: the ACK of 16 is sent first, without ECE, then that of 17 with ECE.
#[test]
fn with_feedback_for_each_packet_an_ack_never_mixes_marked_and_unmarked() {
    let mut fixture = Fixture::new(EcnMode::PerPacket);
    let data = |number, ecn| Packet { number, ecn, size_bytes: 1500, ..Packet::new(Kind::Data, 0) };
    for number in 0..16 {
        fixture.packet(data(number, Ecn::Ect0), 200.0 + f64::from(number));
    }
    assert_eq!(fixture.packet(data(16, Ecn::Ect0), 220.0), []);
    let acks = fixture.packet(data(17, Ecn::Ce), 220.5);
    let found: Vec<_> = acks.iter().map(|ack| (ack.number, ack.flags.has(Flags::ECE))).collect();
    assert_eq!(found, [(17, false), (18, true)]);
}

/// The RTT is 100 ms, so that the fourth SACK waits for 1 ms and the slack of 0.1 ms: it leaves at 301.7 ms, with the
/// timestamp of 300 ms.
#[test]
fn a_delayed_sack_carries_the_time_at_which_its_packet_arrived() {
    let mut fixture = Fixture::settled();
    for number in 17..20 {
        assert_eq!(fixture.data(number, 300.0).len(), 1);
    }
    assert!(fixture.data(20, 300.6).is_empty());
    let (at, acks) = fixture.wait();
    assert_eq!((at, acks[0].ts_val_ms), (Time::from_us(301_700), timestamp_ms(Time::from_ms(300))));
}

/// Packet 16 sets the timer of delayed ACKs to 292 ms, and it stays in the wheel when packet 17 is acknowledged at once. The
/// fourth SACK would wait from 291.5 ms to 292.6 ms; that timer lets it leave earlier, with its own time.
#[test]
fn a_sack_that_the_timer_of_delayed_acks_lets_leave_carries_the_time_of_the_timer() {
    let mut fixture = Fixture::settled();
    assert_eq!(fixture.data(16, 240.0), []);
    assert_eq!(fixture.data(17, 241.0).len(), 1);
    for number in 19..22 {
        assert_eq!(fixture.data(number, 291.0).len(), 1);
    }
    assert_eq!(fixture.data(22, 291.5), []);
    let (at, acks) = fixture.wait();
    assert_eq!((at, acks[0].ts_val_ms), (Time::from_ms(292), timestamp_ms(Time::from_ms(292))));
}

/// RFC 7323, 4.3: with packets 16 and 17 acknowledged together, the timestamp of 16 is echoed.
#[test]
fn a_delayed_ack_echoes_the_older_timestamp() {
    let mut fixture = Fixture::settled();
    let data =
        |number, ts_val_ms| Packet { number, ts_val_ms, size_bytes: 1500, ..Packet::new(Kind::Data, 0) };
    assert_eq!(fixture.packet(data(16, 500), 240.0), []);
    assert_eq!(fixture.packet(data(17, 501), 240.5)[0].ts_echo_ms, 500);
}

/// Packets 0 to 15 were acknowledged with the timestamp 7. Packet 15 ends at the last ACK, and packet 14 below it.
#[test]
fn the_timestamp_of_a_packet_below_the_last_ack_is_not_echoed() {
    let mut fixture = Fixture::settled();
    let stamped =
        |number, ts_val_ms| Packet { number, ts_val_ms, size_bytes: 1500, ..Packet::new(Kind::Data, 0) };
    let mut echoes = Vec::new();
    for (number, ts_val_ms) in [(16, 7), (15, 8), (14, 9)] {
        let acks = fixture.packet(stamped(number, ts_val_ms), 300.0 + f64::from(ts_val_ms));
        echoes.extend(acks.iter().map(|ack| (ack.number, ack.ts_echo_ms, blocks(ack))));
    }
    // Packet 16 waits for another one; the duplicate is acknowledged at once.
    assert_eq!(echoes, [(17, 8, vec![(15, 16)]), (17, 8, vec![(14, 15)])]);
}

/// A duplicate lets sixteen ACKs be sent at once. Packet 15 ends at the last ACK, so that its own ACK is one of them; the ACK
/// of packet 14, below the last ACK, is none.
#[test]
fn the_answer_to_a_packet_below_the_last_ack_uses_up_no_quick_ack() {
    for (duplicate, at_once) in [(15, 15), (14, 16)] {
        let mut fixture = Fixture::settled();
        assert_eq!(fixture.data(duplicate, 300.0).len(), 1);
        let acks: Vec<_> = (0..20).map(|n| fixture.data(16 + n, 310.0 + f64::from(n)).len()).collect();
        assert_eq!(acks.iter().take_while(|&&sent| sent == 1).count(), at_once);
    }
}

/// Seven of sixteen ACKs are left when the sender probes the window.
#[test]
fn the_answer_to_a_window_probe_uses_up_no_quick_ack() {
    let mut fixture = Fixture::settled();
    fixture.data(14, 300.0);
    for n in 0..9 {
        fixture.data(16 + n, 310.0 + f64::from(n));
    }
    let probe = Packet { number: WINDOW_PROBE, ..Packet::new(Kind::Ack, 0) };
    assert_eq!(fixture.packet(probe, 320.0).len(), 1);
    let acks: Vec<_> = (0..12).map(|n| fixture.data(25 + n, 330.0 + f64::from(n)).len()).collect();
    assert_eq!(acks.iter().take_while(|&&sent| sent == 1).count(), 7);
}

/// Packet 16 waits for another one, so that the answer to the duplicate is its ACK, too.
#[test]
fn the_answer_to_a_duplicate_uses_up_a_quick_ack_if_a_packet_waits() {
    let mut fixture = Fixture::settled();
    assert_eq!(fixture.data(16, 300.0), []);
    assert_eq!(fixture.data(3, 301.0).len(), 1);
    let acks: Vec<_> = (0..20).map(|n| fixture.data(17 + n, 310.0 + f64::from(n)).len()).collect();
    assert_eq!(acks.iter().take_while(|&&sent| sent == 1).count(), 15);
}

/// Packet 16 would be acknowledged together with 17. It ends a write, and the application has read it.
#[test]
fn what_an_application_has_written_is_acknowledged_when_the_other_one_reads_it() {
    for (reads_at_once, acknowledged) in [(false, vec![]), (true, vec![17])] {
        let mut fixture = Fixture::settled_of(ReceiverSetup { reads_at_once, ..setup(EcnMode::Off) });
        let pushed = Packet { number: 16, size_bytes: 1500, flags: Flags::PSH, ..Packet::new(Kind::Data, 0) };
        let acks: Vec<_> = fixture.packet(pushed, 216.0).iter().map(|ack| ack.number).collect();
        assert_eq!(acks, acknowledged);
    }
}
