//! The sender: its parts, the opening of the connection, and the application's writes.
//!
//! Each step of the sender, from the input of an ACK to the output of packets, is an `impl Sender` in a file of this folder.
//! Steps call one another as methods. They import [`Sender`], its parts, and the types of values that another step takes or
//! returns. The parts are structs in the folder above, each with one mechanism, and know nothing of the sender.

mod ack_info;
mod buffered_writes;
mod bursts;
mod device_queue;
mod early_retransmit;
mod fack;
mod input;
mod kept_metrics;
mod newreno;
mod output;
mod recovery;
mod reduction;
mod rfc6675;
mod writes_ahead;

use super::device::Device;
use super::flow::{Flow, INITIAL_WINDOW_PACKETS, State};
use super::limits::{LimitedTimes, Limits};
use super::metrics::SharedMetrics;
use super::offload::Offload;
use super::outbox::{Event, Outbox};
use super::pacer::{Pacer, Pacing};
use super::prr::Prr;
use super::pushes::Pushes;
use super::rack::Rack;
use super::rate::RateEstimator;
use super::receiver::WINDOW_PROBE;
use super::scoreboard::Scoreboard;
use super::send_buffer::SendBuffer;
use super::timer::{Alarm, Timer};
use super::undo::Undo;
use super::written_ahead::WrittenAhead;
use crate::Time;
use crate::cc::{CongestionControl, Control, EcnMode, Needs};
use crate::net::packet::{Flags, Kind, Packet, ReceiveWindow, header_bytes, timestamp_ms};
use crate::run::{Host, Qdisc, Timestamps};

/// Settings of a sender.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent properties of a connection, each read by its name"
)]
pub struct Setup {
    /// Index of the flow, which every packet carries.
    pub flow: u32,
    /// Settings of the host.
    pub host: Host,
    /// Whether both ends negotiated SACK.
    pub sack: bool,
    /// Whether both ends negotiated timestamps.
    pub timestamps: bool,
    /// Payload of a full packet.
    pub mss_bytes: u32,
    /// ECN feedback that the sender asks for; an algorithm may need more.
    pub ecn: EcnMode,
    /// Whether the sender paces.
    pub pacing: bool,
    /// Rate of the host's device; `None`: a packet leaves it at once.
    pub device_rate_bit_per_s: Option<u64>,
    /// Offset of the sender's timestamps (Linux: `tsoffset`).
    pub timestamp_offset_ms: u32,
    /// Whether an application writes at its own times; otherwise all data are written at the start.
    pub has_application: bool,
    /// Whether the receiver's application reads each packet at once, so that push flags matter.
    pub reads_at_once: bool,
    /// Whether the application ends, after a number of bytes or at a time.
    pub ends: bool,
}

impl Setup {
    /// Bytes of the headers of a data packet.
    #[inline]
    fn header_bytes(&self) -> u32 {
        header_bytes(self.timestamps)
    }
}

/// State of the connection. [RFC 9293, 3.3.2](https://www.rfc-editor.org/rfc/rfc9293#section-3.3.2)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connection {
    /// The connection is not opened.
    Closed,
    /// A SYN is outstanding.
    SynSent {
        /// Retransmissions of the SYN.
        retries: u32,
    },
    /// The connection is open.
    Established,
}

/// Data written by the application.
#[derive(Clone, Copy, Debug)]
struct Application {
    /// Packets written; the last may be short.
    written: u32,
    /// Payload of the last packet.
    last_bytes: u32,
    /// Whether the application has closed the connection: the last packet carries the FIN.
    closed: bool,
    /// Whether it has stopped before everything was written.
    stopped: bool,
}

/// Counters of the sender, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Transmissions of data packets, retransmissions included.
    pub sent_packets: u64,
    /// Retransmissions of data packets.
    pub retransmitted_packets: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// Timeouts that proved spurious.
    pub spurious_timeouts: u32,
    /// Episodes of fast recovery.
    pub recoveries: u32,
    /// Recoveries, and other reductions without a timeout, that proved spurious and were undone.
    pub undone_recoveries: u32,
    /// Reductions for ECN marks or at the algorithm's request.
    pub ecn_echoes: u32,
    /// Tail loss probes.
    pub probes: u32,
}

/// The sending end of a connection, with Linux 6.1's behaviour unless its host's settings say otherwise.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent properties of a connection, each read by its name"
)]
pub struct Sender {
    /// State that the algorithm reads.
    pub flow: Flow,
    /// Variables that the algorithm controls.
    pub control: Control,
    /// Counters.
    pub counts: Counts,
    cc: Box<dyn CongestionControl>,
    needs: Needs,
    setup: Setup,
    connection: Connection,
    application: Application,
    board: Scoreboard,
    rack: Rack,
    prr: Prr,
    undo: Undo,
    rate: RateEstimator,
    timer: Timer,
    /// Whether the timer must be set again if no packet is sent after this ACK.
    timer_due: bool,
    pacer: Option<Pacer>,
    /// Device of the host, if packets may wait in it.
    device: Option<Box<Device>>,
    /// Segmentation offload, if the host has it.
    offload: Option<Offload>,
    /// Unanswered tail loss probe.
    probe: Option<Probe>,
    /// Whether the sender sends tail loss probes.
    probes: bool,
    /// Whether an ACK of data never retransmitted may still prove a timeout spurious (RFC 5682).
    frto: bool,
    /// Partial ACKs of this recovery without SACK.
    partial_acks: u32,
    /// Timeouts since the last progress.
    unanswered_timeouts: u32,
    /// First packet above the receive window.
    window_end: u32,
    /// Last window that the receiver advertised. (RFC 9293: `SND.WND`.)
    offered: ReceiveWindow,
    /// Whether no ACK has followed the SYN-ACK. The first one updates the window in any case, because its sequence number is
    /// larger. [RFC 9293, 3.10.7.4](https://www.rfc-editor.org/rfc/rfc9293#section-3.10.7.4)
    awaits_first_ack: bool,
    /// Send buffer; `None`: it never limits.
    send_buffer: Option<Box<SendBuffer>>,
    /// Push flags; `None` if nobody looks at them.
    pushes: Option<Box<Pushes>>,
    /// What the socket has taken, where no send buffer limits that, and the application ends or its push flags matter.
    ahead: Option<WrittenAhead>,
    /// Whether an ACK may let the application write.
    watches_writes: bool,
    /// Time limited by buffers.
    limits: Limits,
    /// Timestamp of the receiver that data packets echo; zero without timestamps.
    echo_ms: u32,
    /// Window probes since the receive window closed.
    window_probes: u32,
    ecn: EcnSender,
    /// Metrics of ended connections between the same hosts; `None` if the host keeps none (Linux: `tcp_metrics`).
    metrics: Option<SharedMetrics>,
    /// Duplicates reported by DSACKs, compared with retransmissions.
    dsacked: u64,
    /// RTT sample for [`Sender::take_rtt_us`].
    rtt_sample_us: Option<u32>,
    /// Packets newly sacked by the current ACK; kept to avoid allocation.
    newly_sacked: Vec<u32>,
}

/// An unanswered tail loss probe.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// Value of `nxt` at its transmission.
    high: u32,
    /// Whether the probe retransmits the last packet (Linux: `tlp_retrans`); otherwise it carries a new one.
    is_retransmission: bool,
}

/// ECN state of the sender. [RFC 3168, 6.1.2](https://www.rfc-editor.org/rfc/rfc3168#section-6.1.2)
#[derive(Clone, Copy, Debug, Default)]
struct EcnSender {
    /// Whether both ends negotiated ECN.
    negotiated: bool,
    /// Whether the next new packet carries the CWR flag.
    cwr_due: bool,
}

/// The pacer and the device of a sender.
fn pacer_and_device(setup: &Setup) -> (Option<Pacer>, Option<Box<Device>>) {
    let device = Device::new(&setup.host, setup.device_rate_bit_per_s, u64::from(setup.flow)).map(Box::new);
    let pacing = match setup.host.qdisc {
        Qdisc::Fq => Pacing::Queue,
        _ if setup.pacing => Pacing::Socket,
        _ => Pacing::Off,
    };
    // The limit of a device follows the pacing rate, even if nothing is paced.
    let pacer = (pacing != Pacing::Off || device.is_some()).then(|| Pacer::new(pacing));
    (pacer, device)
}

impl Sender {
    /// A sender with a closed connection.
    pub fn new(setup: Setup, cc: Box<dyn CongestionControl>) -> Sender {
        let needs = cc.needs();
        let pacing = needs.pacing || setup.pacing || setup.host.qdisc == Qdisc::Fq;
        let setup = Setup { ecn: setup.ecn.max(needs.ecn), pacing, ..setup };
        let mut flow = Flow::new(setup.host.hz, setup.mss_bytes);
        flow.clock_offset_ms = setup.host.clock_offset_ms;
        flow.pacing = setup.pacing;
        flow.initial_cwnd = setup.host.initial_cwnd;
        let (pacer, device) = pacer_and_device(&setup);
        Sender {
            flow,
            control: Control::default(),
            counts: Counts::default(),
            needs,
            cc,
            setup,
            connection: Connection::Closed,
            application: Application {
                written: 0,
                last_bytes: setup.mss_bytes,
                closed: false,
                stopped: false,
            },
            board: Scoreboard::new(),
            rack: Rack::new(),
            prr: Prr::default(),
            undo: Undo::default(),
            rate: RateEstimator::default(),
            timer: Timer::new(setup.host.hz),
            timer_due: false,
            pacer,
            device,
            offload: setup.host.offloads.then(Offload::default),
            probe: None,
            probes: setup.host.tlp && setup.sack,
            frto: false,
            partial_acks: 0,
            unanswered_timeouts: 0,
            window_end: INITIAL_WINDOW_PACKETS,
            offered: ReceiveWindow::of_packets(INITIAL_WINDOW_PACKETS),
            awaits_first_ack: true,
            send_buffer: setup.host.wmem.map(|sizes| {
                let windows = if needs.larger_send_buffer { 3 } else { 2 };
                Box::new(SendBuffer::new(sizes, setup.mss_bytes, windows))
            }),
            pushes: (setup.host.wmem.is_some() || setup.has_application || setup.pushes_ahead())
                .then(Box::default),
            ahead: setup.is_written_ahead().then(WrittenAhead::default),
            watches_writes: setup.is_written_ahead() || setup.host.wmem.is_some(),
            limits: Limits::new(),
            echo_ms: 0,
            window_probes: 0,
            ecn: EcnSender::default(),
            metrics: None,
            dsacked: 0,
            rtt_sample_us: None,
            newly_sacked: Vec::new(),
        }
    }

    /// ECN feedback that the sender asks for.
    pub fn ecn(&self) -> EcnMode {
        self.setup.ecn
    }

    /// Congestion control algorithm.
    pub fn algorithm(&self) -> &dyn CongestionControl {
        &*self.cc
    }

    /// Index of the flow.
    pub fn index(&self) -> u32 {
        self.setup.flow
    }

    /// Pacing rate; `None` if the sender does not pace, or has no rate yet.
    #[expect(clippy::cast_precision_loss, reason = "a rate is far below 2^53 bit/s")]
    pub fn pacing_bit_per_s(&self) -> Option<f64> {
        let pacer = self.pacer.as_ref().filter(|pacer| pacer.pacing != Pacing::Off)?;
        pacer.bit_per_s(&self.control).map(|rate| rate as f64)
    }

    /// Time until `now` in which buffers limited the sender.
    pub fn limited(&self, now: Time) -> LimitedTimes {
        self.limits.until(now)
    }

    /// Takes the RTT sample of the last ACK, in µs. It belongs to the oldest packet acknowledged, so that it
    /// contains the delay of a delayed ACK.
    #[inline]
    pub fn take_rtt_us(&mut self) -> Option<u32> {
        self.rtt_sample_us.take()
    }

    /// Time of the next call of [`Sender::on_timer`]; [`Time::NEVER`] if none is needed.
    #[inline]
    pub fn wake(&self) -> Time {
        let at = self.timer.at();
        let Some(pacer) = &self.pacer else { return at };
        let waits_for_pacer =
            pacer.pacing == Pacing::Socket && pacer.next() > self.flow.now && self.has_something_to_send();
        let at = if waits_for_pacer { at.min(pacer.next()) } else { at };
        self.device.as_ref().map_or(at, |device| at.min(device.next()))
    }

    /// Opens the connection.
    pub fn open(&mut self, now: Time, out: &mut Outbox) {
        self.flow.now = now;
        self.connection = Connection::SynSent { retries: 0 };
        self.send_syn(out);
    }

    fn send_syn(&mut self, out: &mut Outbox) {
        let now = self.flow.now;
        let mut syn = Packet::new(Kind::Syn, self.setup.flow);
        if self.setup.host.timestamps == Timestamps::Off {
            syn.omit_timestamps();
            if self.setup.host.sack {
                syn.permit_sack();
            }
        } else {
            syn.ts_val_ms = self.timestamp(now);
        }
        // The second SYN does not ask for ECN, because some hosts drop packets that do (RFC 3168, 6.1.1.1).
        if self.setup.ecn > EcnMode::Off && self.connection == (Connection::SynSent { retries: 0 }) {
            syn.flags = Flags::ECE.with(Flags::CWR);
        }
        self.timer.set(Alarm::Retransmit, now, self.flow.rtt.rto());
        self.flow.last_sent = now;
        self.emit(syn, now, out);
    }

    fn on_syn_timeout(&mut self, retries: u32, out: &mut Outbox) {
        self.connection = Connection::SynSent { retries: retries + 1 };
        self.counts.timeouts += 1;
        out.events.push(Event::Timeout);
        self.flow.rtt.back_off();
        self.send_syn(out);
    }

    /// Processes a packet from the receiver that arrived at `now`.
    #[inline]
    pub fn on_packet(&mut self, packet: &Packet, now: Time, out: &mut Outbox) {
        self.flow.now = now;
        self.echo_ms = packet.ts_val_ms;
        match (packet.kind, self.connection) {
            (Kind::SynAck, Connection::SynSent { retries }) => self.establish(packet, retries, out),
            (Kind::Ack, Connection::Established) => {
                self.on_ack(packet, out);
                self.transmit(out);
                if self.watches_writes {
                    self.check_writes(out);
                }
            }
            _ => {}
        }
    }

    #[cold]
    fn establish(&mut self, syn_ack: &Packet, retries: u32, out: &mut Outbox) {
        let now = self.flow.now;
        if retries == 0 || self.setup.timestamps {
            // The timestamp clock is coarse, but shows which SYN was answered.
            let rtt_us = if retries == 0 {
                now.us() - self.flow.last_sent.us()
            } else {
                u64::from((timestamp_ms(now) - self.echoed_ms(syn_ack)).max(1)) * 1000
            };
            let rtt_us = u32::try_from(rtt_us).unwrap_or(u32::MAX);
            self.flow.rtt.update_min(rtt_us, now);
            self.flow.rtt.update(rtt_us, 0, 0);
        } else {
            self.flow.rtt.on_unknown_handshake();
        }
        self.timer.clear();
        self.connection = Connection::Established;
        self.ecn.negotiated = self.setup.ecn > EcnMode::Off && syn_ack.flags.has(Flags::ECE);
        self.flow.ecn = self.ecn.negotiated;
        (self.window_end, self.offered) = (syn_ack.window.packets(), syn_ack.window);
        // RFC 5681, 3.1: after the loss of more than one SYN the window is one packet.
        self.control.cwnd = if retries > 1 { 1 } else { self.flow.initial_cwnd };
        if let Some(ssthresh) = self.setup.host.initial_ssthresh {
            self.control.ssthresh = ssthresh;
        }
        self.use_kept_metrics();
        // The SYN counts as a delivered packet.
        self.flow.delivered = 1;
        self.flow.last_sent = now;
        self.flow.usage.on_window_set(now);
        if let Some(pacer) = &mut self.pacer {
            pacer.on_ack(&self.flow, &self.control);
        }
        self.update_offload();
        self.cc.on_start(&self.flow, &mut self.control);
        let mut ack = Packet::new(Kind::Ack, self.setup.flow);
        if self.setup.timestamps {
            ack.ts_val_ms = self.timestamp(now);
            ack.ts_echo_ms = syn_ack.ts_val_ms;
        } else {
            ack.omit_timestamps();
        }
        self.emit(ack, now, out);
        if let Some(pushes) = &mut self.pushes {
            pushes.on_window(self.offered.packets());
        }
        self.push_first_window();
        if self.offload.is_some() && self.send_buffer.is_none() {
            self.push_written(0, out);
        } else {
            self.transmit(out);
        }
        if self.send_buffer.is_some() {
            self.open_buffer(out);
        }
        self.write_ahead();
    }

    /// Timestamp of a packet sent at `now`.
    #[inline]
    fn timestamp(&self, now: Time) -> u32 {
        timestamp_ms(now).wrapping_add(self.setup.timestamp_offset_ms)
    }

    /// Transmission time of the packet that the receiver echoes, on this host's clock; zero without timestamps.
    #[inline]
    fn echoed_ms(&self, packet: &Packet) -> u32 {
        if self.setup.timestamps { packet.ts_echo_ms.wrapping_sub(self.setup.timestamp_offset_ms) } else { 0 }
    }

    /// Processes a timer or the release of a paced packet.
    pub fn on_timer(&mut self, now: Time, out: &mut Outbox) {
        self.flow.now = now;
        if self.timer.at() <= now {
            self.timer.on_fired(now);
            match (self.connection, self.timer.pending()) {
                (Connection::SynSent { retries }, _) => self.on_syn_timeout(retries, out),
                (_, Some(Alarm::Retransmit)) => self.on_timeout(out),
                (_, Some(Alarm::Probe)) => self.send_probe(out),
                (_, Some(Alarm::Reordering)) => self.on_reordering_timeout(out),
                (_, Some(Alarm::EarlyRetransmit)) => self.on_early_retransmit_timeout(out),
                (_, Some(Alarm::Window)) => self.probe_window(out),
                (_, None) => {}
            }
        }
        let mut is_paced = false;
        if let Some(pacer) = &self.pacer {
            is_paced = pacer.pacing == Pacing::Socket;
            if self.device.is_some() {
                is_paced &= pacer.is_awaited && pacer.next() <= now;
                self.release_device(out);
            }
        }
        if self.connection != Connection::Established {
            return;
        }
        if is_paced {
            self.retransmit_lost(out);
            self.transmit(out);
        }
        if self.send_buffer.is_some() {
            self.fill_buffer(out);
        }
    }

    /// Whether the connection is open.
    pub fn is_established(&self) -> bool {
        self.connection == Connection::Established
    }

    /// Sends the packets that a change of `control` between two events allows.
    pub(crate) fn on_control_changed(&mut self, out: &mut Outbox) {
        if let Some(pacer) = &mut self.pacer {
            pacer.on_ack(&self.flow, &self.control);
        }
        self.update_offload();
        self.retransmit_lost(out);
        self.transmit(out);
        if self.send_buffer.is_some() {
            self.fill_buffer(out);
        }
    }

    /// Asks for the receive window, because the ACK that opened it may be lost.
    /// [RFC 9293, 3.8.6.1](https://www.rfc-editor.org/rfc/rfc9293#section-3.8.6.1)
    fn probe_window(&mut self, out: &mut Outbox) {
        self.timer.clear();
        self.window_probes += 1;
        let mut probe = Packet::new(Kind::Ack, self.setup.flow);
        probe.number = WINDOW_PROBE;
        probe.ts_val_ms = self.timestamp(self.flow.now);
        out.send(probe);
        self.await_window();
    }

    /// Writes `packets` more full packets.
    pub fn write(&mut self, packets: u32, out: &mut Outbox) {
        self.note_application_limit();
        if let Some(buffer) = &mut self.send_buffer {
            buffer.waiting = buffer.waiting.saturating_add(packets);
            buffer.write_packets = buffer.write_packets.max(packets);
            if self.connection == Connection::Established {
                self.fill_buffer(out);
            }
            return;
        }
        let written = self.application.written;
        self.application.written = self.application.written.saturating_add(packets);
        if let Some(pushes) = &mut self.pushes
            && !self.setup.pushes_ahead()
        {
            if self.connection == Connection::Established {
                pushes.on_window(self.offered.packets());
            }
            pushes.write(self.application.written, self.flow.una);
        }
        if self.connection == Connection::Established && self.offload.is_some() {
            self.push_written(written, out);
        } else if self.connection == Connection::Established {
            // The kernel accepts written data packet by packet, and validates the window after each one.
            while self.transmit_at_most(1, out) > 0 {}
        }
        self.write_ahead();
    }

    /// Lets the application write after an ACK.
    #[inline(never)]
    fn check_writes(&mut self, out: &mut Outbox) {
        if self.send_buffer.is_some() {
            self.check_buffer(out);
        }
        self.write_ahead();
    }

    /// Writes `bytes` and closes.
    pub fn write_all(&mut self, bytes: u64, out: &mut Outbox) {
        let mss = u64::from(self.setup.mss_bytes);
        let packets = u32::try_from(bytes.div_ceil(mss)).unwrap_or(u32::MAX);
        self.application.last_bytes =
            u32::try_from(bytes - (u64::from(packets) - 1) * mss).unwrap_or(self.setup.mss_bytes);
        match &mut self.send_buffer {
            Some(buffer) => buffer.closes = true,
            None => self.application.closed = true,
        }
        self.write(packets, out);
    }

    /// Packets written so far, without those that [`Sender::stop`] discarded.
    pub fn written(&self) -> u32 {
        let waiting = self.send_buffer.as_ref().map_or(0, |buffer| buffer.waiting);
        self.application.written.saturating_add(waiting)
    }

    /// Whether everything written is acknowledged.
    pub fn is_all_acknowledged(&self) -> bool {
        self.flow.una == self.written()
    }

    /// Stops the application: what the socket has not taken is never sent, and then the flow never completes.
    pub fn stop(&mut self) {
        let nxt = self.flow.nxt;
        let (end, has_all) = if let Some(buffer) = &mut self.send_buffer {
            buffer.closes = false;
            (self.application.written, std::mem::take(&mut buffer.waiting) == 0)
        } else {
            let end = self.ahead.map_or(nxt, |ahead| ahead.end(nxt)).min(self.application.written);
            (end, end == self.application.written)
        };
        if has_all && self.application.closed {
            return;
        }
        if let Some(pushes) = &mut self.pushes {
            pushes.discard(end);
        }
        self.application =
            Application { written: end, last_bytes: self.setup.mss_bytes, closed: nxt < end, stopped: true };
    }

    /// Whether everything was written, sent and acknowledged.
    pub fn is_complete(&self) -> bool {
        self.application.closed && !self.application.stopped && self.is_all_acknowledged()
    }

    /// Whether the application has stopped before everything was written.
    pub fn has_stopped(&self) -> bool {
        self.application.stopped
    }

    /// Whether the socket has taken everything and sends nothing after it.
    fn is_shut(&self) -> bool {
        let Application { written, closed, stopped, .. } = self.application;
        stopped || (closed && self.ahead.is_none_or(|ahead| ahead.end(self.flow.nxt) == written))
    }

    fn has_something_to_send(&self) -> bool {
        self.flow.nxt < self.application.written || self.flow.lost_out > self.flow.retrans_out
    }

    fn note_application_limit(&mut self) {
        let flow = &self.flow;
        let idle = flow.nxt == self.application.written && flow.lost_out <= flow.retrans_out;
        if idle && flow.nxt > 0 && flow.in_flight() < self.control.cwnd {
            self.rate.on_application_limited(&mut self.flow);
        }
    }

    /// Payload of packet `number`.
    #[inline]
    fn payload_bytes(&self, number: u32) -> u32 {
        if number + 1 == self.application.written && self.application.closed {
            self.application.last_bytes
        } else {
            self.setup.mss_bytes
        }
    }

    fn enter(&mut self, next: State) {
        self.cc.on_state(next, &self.flow, &mut self.control);
        self.flow.state = next;
    }

    /// Checks the sums of the scoreboard against its packets.
    ///
    /// # Errors
    /// The sum that is wrong.
    pub fn check(&self) -> Result<(), String> {
        let flow = &self.flow;
        // Without SACK `sacked_out` counts duplicate ACKs.
        let sacked = if self.setup.sack { flow.sacked_out } else { 0 };
        let sums = (sacked, flow.lost_out, flow.retrans_out);
        let counted = self.board.recount(flow);
        if sums != counted {
            return Err(format!(
                "(sacked, lost, retransmitted) is {sums:?}, but the packets add up to {counted:?}"
            ));
        }
        if self.control.cwnd == 0 {
            return Err("cwnd is 0 packets".to_owned());
        }
        Ok(())
    }
}

/// Settings of a sender in a test.
#[cfg(test)]
fn tests_setup(host: Host) -> Setup {
    Setup {
        flow: 0,
        host,
        sack: true,
        timestamps: true,
        mss_bytes: 1448,
        ecn: EcnMode::Off,
        pacing: false,
        timestamp_offset_ms: 0,
        device_rate_bit_per_s: None,
        has_application: false,
        reads_at_once: false,
        ends: false,
    }
}
