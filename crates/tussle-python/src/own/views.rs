//! Arguments of hooks in Python: views of an ACK, of a lost packet and of a flow, and the control.
//!
//! A flow has one object of each type, which is updated before each call, because copying numbers costs less
//! than creating objects.

use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use tussle_core::cc::Control;
use tussle_core::run::MAX_WINDOW_PACKETS;
use tussle_core::tcp::{self, Limit};

/// Largest congestion window: slow start may reach twice the largest receive window.
pub(super) const MAX_CWND_PACKETS: u32 = 2 * MAX_WINDOW_PACKETS;
/// Largest divisor of growth. It is far above any window, so that the window practically does not grow.
const MAX_PER_PACKETS: u32 = 1 << 30;

/// One ACK, with the sender's findings about it. The object is read-only and always shows the latest ACK:
/// copy numbers that you need later.
#[derive(Debug)]
#[pyclass(name = "Ack", module = "tussle.algorithm")]
pub(crate) struct AckView(pub(super) tcp::Ack);

#[pymethods]
impl AckView {
    /// Packets that this ACK newly acknowledges cumulatively.
    #[getter]
    fn acked(&self) -> u32 {
        self.0.acked
    }

    /// Packets that this ACK newly reports by SACK.
    #[getter]
    fn sacked(&self) -> u32 {
        self.0.sacked
    }

    /// Packets that this ACK newly reports as arrived, cumulatively or by SACK.
    #[getter]
    fn delivered(&self) -> u32 {
        self.0.delivered
    }

    /// Packets detected as lost while this ACK was processed; known in `on_ack`, 0 in `on_pkts_acked`.
    #[getter]
    fn lost(&self) -> u32 {
        self.0.lost
    }

    /// Raw round-trip time of the newest packet acknowledged, in µs; None if all of them were retransmitted.
    #[getter]
    fn rtt_us(&self) -> Option<u32> {
        self.0.rtt_us
    }

    /// Packets delivered while the newest packet acknowledged was in flight.
    #[getter]
    fn in_flight(&self) -> u32 {
        self.0.in_flight
    }

    /// The receiver's clock when it sent this ACK, in ms (the timestamp of RFC 7323), with the random offset
    /// of this connection, unless the scenario has `hosts.timestamps = "synchronised"`; zero with "off".
    #[getter]
    fn ts_val_ms(&self) -> u32 {
        self.0.ts_val_ms
    }

    /// The sender's clock when it sent the packet that caused the ACK, in ms. The packet's one-way delay is
    /// `ts_val_ms - ts_echo_ms` modulo 2^32, plus the random offset: only differences of one-way delays have
    /// a meaning. Zero with `hosts.timestamps = "off"`.
    #[getter]
    fn ts_echo_ms(&self) -> u32 {
        self.0.ts_echo_ms
    }

    /// Whether the ACK carries the ECN-Echo flag (RFC 3168).
    #[getter]
    fn ece(&self) -> bool {
        self.0.ece
    }

    /// Packets delivered in `rate_interval_us`, for the delivery rate; None if the measurement is not valid.
    #[getter]
    fn rate_delivered(&self) -> Option<u32> {
        self.0.rate.delivered
    }

    /// Interval of the delivery rate in µs: the time in which the packets were sent or that in which they
    /// were acknowledged, whichever is longer.
    #[getter]
    fn rate_interval_us(&self) -> u64 {
        self.0.rate.interval_us
    }

    /// `flow.delivered` when the newest packet acknowledged was sent.
    #[getter]
    fn prior_delivered(&self) -> u32 {
        self.0.rate.prior_delivered
    }

    /// Packets in flight before this ACK.
    #[getter]
    fn prior_in_flight(&self) -> u32 {
        self.0.rate.prior_in_flight
    }

    /// Whether the application, not the network, limited the measured flight.
    #[getter]
    fn application_limited(&self) -> bool {
        self.0.rate.limit == Limit::Application
    }
}

/// A packet that was detected as lost. The object is read-only and always shows the latest one: copy numbers
/// that you need later.
#[derive(Debug)]
#[pyclass(name = "Lost", module = "tussle.algorithm")]
pub(crate) struct LostView(pub(super) tcp::Lost);

#[pymethods]
impl LostView {
    /// Number of the packet.
    #[getter]
    fn number(&self) -> u32 {
        self.0.number
    }

    /// Packets in flight at the packet's last transmission, including it.
    #[getter]
    fn in_flight(&self) -> u32 {
        self.0.in_flight
    }

    /// Packets detected as lost since the packet's last transmission, including it.
    #[getter]
    fn lost(&self) -> u32 {
        self.0.lost
    }

    /// Whether the application, not the network, limited the packet's flight.
    #[getter]
    fn application_limited(&self) -> bool {
        self.0.limit == Limit::Application
    }
}

/// The sender of a flow. The object is read-only and always shows the current state: copy numbers that you
/// need later.
///
/// Packets are counted from 0, and each carries `mss_bytes` of payload.
#[derive(Debug)]
#[pyclass(name = "Flow", module = "tussle.algorithm")]
pub(crate) struct FlowView {
    pub(super) flow: tcp::Flow,
    pub(super) seed: u64,
}

#[pymethods]
impl FlowView {
    /// Simulated time since the start of the run, in µs.
    #[getter]
    fn now_us(&self) -> u64 {
        self.flow.now.us()
    }

    /// Seed for random numbers, as in `random.Random(flow.seed)`. It differs between flows and between
    /// repetitions.
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// Payload of a full packet.
    #[getter]
    fn mss_bytes(&self) -> u32 {
        self.flow.mss_bytes
    }

    /// First packet not cumulatively acknowledged.
    #[getter]
    fn una(&self) -> u32 {
        self.flow.una
    }

    /// First packet not yet sent. A round trip ends when `una` passes the value that `nxt` had at its start.
    #[getter]
    fn nxt(&self) -> u32 {
        self.flow.nxt
    }

    /// Packets sent and not cumulatively acknowledged.
    #[getter]
    fn packets_out(&self) -> u32 {
        self.flow.packets_out()
    }

    /// Packets estimated to be in the network (RFC 6675: pipe).
    #[getter]
    fn in_flight(&self) -> u32 {
        self.flow.in_flight()
    }

    /// Packets above `una` that SACK reported as arrived.
    #[getter]
    fn sacked_out(&self) -> u32 {
        self.flow.sacked_out
    }

    /// Packets detected as lost whose arrival is not yet known.
    #[getter]
    fn lost_out(&self) -> u32 {
        self.flow.lost_out
    }

    /// Retransmitted packets whose arrival is not yet known.
    #[getter]
    fn retrans_out(&self) -> u32 {
        self.flow.retrans_out
    }

    /// Congestion state: "open", "disorder", "cwr", "recovery" or "loss".
    #[getter]
    fn state(&self) -> &'static str {
        self.flow.state.name()
    }

    /// `nxt` when the current recovery or reduction began.
    #[getter]
    fn high_seq(&self) -> u32 {
        self.flow.high_seq
    }

    /// The window before the last reduction, in packets.
    #[getter]
    fn prior_cwnd(&self) -> u32 {
        self.flow.prior_cwnd
    }

    /// Smoothed round-trip time, in µs; None before the first measurement.
    #[getter]
    fn srtt_us(&self) -> Option<u32> {
        self.flow.rtt.srtt_us()
    }

    /// Smallest round-trip time of the last 300 s, in µs; None before the first measurement.
    #[getter]
    fn min_rtt_us(&self) -> Option<u32> {
        self.flow.rtt.min_us()
    }

    /// The last raw round-trip time, in µs; None before the first measurement.
    #[getter]
    fn latest_rtt_us(&self) -> Option<u32> {
        self.flow.rtt.latest_us()
    }

    /// Packets known to have arrived so far, without duplicates; the connection's SYN counts as one.
    #[getter]
    fn delivered(&self) -> u32 {
        self.flow.delivered
    }

    /// Delivered packets whose ACK carried the ECN-Echo flag.
    #[getter]
    fn delivered_marked(&self) -> u32 {
        self.flow.delivered_marked
    }

    /// Packets detected as lost so far.
    #[getter]
    fn lost(&self) -> u32 {
        self.flow.lost
    }

    /// Time of the last transmission, in µs.
    #[getter]
    fn last_sent_us(&self) -> u64 {
        self.flow.last_sent.us()
    }

    /// Whether the window, rather than the application or the receiver, limited the last flight.
    fn cwnd_limited(&self, control: &ControlView) -> bool {
        self.flow.cwnd_limited(&control.control)
    }
}

/// Variables that an algorithm controls, and the arithmetic that algorithms share.
///
/// In `on_congestion` and `on_undo` the object is read-only: the sender uses the value that the hook returns.
#[derive(Debug)]
#[pyclass(name = "Control", module = "tussle.algorithm")]
pub(crate) struct ControlView {
    pub(super) control: Control,
    /// Whether the hook returns a window instead of changing this object.
    pub(super) read_only: bool,
}

impl ControlView {
    /// Applies arithmetic that algorithms share to `delivered` packets.
    fn grow<T>(
        &mut self,
        delivered: &Bound<'_, PyAny>,
        act: impl FnOnce(&mut Control, u32) -> T,
    ) -> PyResult<T> {
        let control = self.writable()?;
        let delivered =
            PacketCount { what: "delivered", min: 0, max: MAX_CWND_PACKETS }.extract(delivered)?;
        let result = act(control, delivered);
        control.cwnd = control.cwnd.min(MAX_CWND_PACKETS);
        Ok(result)
    }

    /// The variables, if the hook may change them.
    fn writable(&mut self) -> PyResult<&mut Control> {
        if self.read_only {
            return Err(PyAttributeError::new_err("control is read-only in a hook that returns a window"));
        }
        Ok(&mut self.control)
    }
}

#[pymethods]
impl ControlView {
    /// Congestion window, in packets.
    #[getter]
    fn cwnd(&self) -> u32 {
        self.control.cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, packets: &Bound<'_, PyAny>) -> PyResult<()> {
        self.writable()?.cwnd =
            PacketCount { what: "cwnd", min: 1, max: MAX_CWND_PACKETS }.extract(packets)?;
        Ok(())
    }

    /// Slow-start threshold, in packets; very large before any congestion, see `has_ssthresh`.
    #[getter]
    fn ssthresh(&self) -> u32 {
        self.control.ssthresh
    }

    #[setter]
    fn set_ssthresh(&mut self, packets: &Bound<'_, PyAny>) -> PyResult<()> {
        self.writable()?.ssthresh = ssthresh("ssthresh").extract(packets)?;
        Ok(())
    }

    /// Pacing rate of the algorithm; None means the sender's own rate. The rate has an effect only if the
    /// flow paces: see `Algorithm.pacing`.
    #[getter]
    fn pacing_bit_per_s(&self) -> Option<u64> {
        self.control.pacing_bit_per_s
    }

    #[setter]
    fn set_pacing_bit_per_s(&mut self, rate: &Bound<'_, PyAny>) -> PyResult<()> {
        self.writable()?.pacing_bit_per_s = if rate.is_none() { None } else { Some(pacing_rate(rate)?) };
        Ok(())
    }

    /// Whether the window is below ssthresh.
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.control.in_slow_start()
    }

    /// Whether any congestion has set ssthresh.
    #[getter]
    fn has_ssthresh(&self) -> bool {
        self.control.has_ssthresh()
    }

    /// Grow by one packet for each packet delivered, up to ssthresh; return the number of delivered packets
    /// that are left for congestion avoidance.
    fn slow_start(&mut self, delivered: &Bound<'_, PyAny>) -> PyResult<u32> {
        self.grow(
            delivered,
            |control, delivered| {
                if control.in_slow_start() { control.slow_start(delivered) } else { delivered }
            },
        )
    }

    /// Grow by one packet for each `per` packets delivered; remainders carry over to the next call.
    fn additive(&mut self, per: &Bound<'_, PyAny>, delivered: &Bound<'_, PyAny>) -> PyResult<()> {
        let per = PacketCount { what: "per", min: 1, max: MAX_PER_PACKETS }.extract(per)?;
        self.grow(delivered, |control, delivered| control.additive(per, delivered))
    }

    /// Perform slow start if the window is below ssthresh; return the number of delivered packets that are
    /// left for congestion avoidance, or None if there are none or the window does not limit the flow.
    fn past_slow_start(&mut self, delivered: &Bound<'_, PyAny>, flow: &FlowView) -> PyResult<Option<u32>> {
        self.grow(delivered, |control, delivered| control.past_slow_start(delivered, &flow.flow))
    }

    /// Grow like Reno: slow start, then one packet per round trip.
    fn grow_like_reno(&mut self, delivered: &Bound<'_, PyAny>, flow: &FlowView) -> PyResult<()> {
        self.grow(delivered, |control, delivered| control.grow_like_reno(delivered, &flow.flow))
    }

    /// Ask the sender to reduce the window after this ACK, as for an ECN mark; the sender calls
    /// `on_congestion`.
    fn request_reduction(&mut self) -> PyResult<()> {
        self.writable()?.request_reduction();
        Ok(())
    }
}

/// A whole number of packets, with its bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketCount {
    pub(super) what: &'static str,
    pub(super) min: u32,
    pub(super) max: u32,
}

/// Bounds of a slow-start threshold. A window below 2 packets cannot grow out of delayed ACKs.
pub(super) fn ssthresh(what: &'static str) -> PacketCount {
    PacketCount { what, min: 2, max: Control::default().ssthresh }
}

impl PacketCount {
    /// Converts a Python value, or returns an error that names the bounds.
    pub(super) fn extract(self, value: &Bound<'_, PyAny>) -> PyResult<u32> {
        let PacketCount { what, min, max } = self;
        let wanted = format!("give a whole number of packets from {min} to {max}");
        let Ok(number) = value.extract::<i128>() else {
            return Err(PyTypeError::new_err(format!("{what} is {}; {wanted}", shown(value))));
        };
        u32::try_from(number)
            .ok()
            .filter(|packets| (min..=max).contains(packets))
            .ok_or_else(|| PyValueError::new_err(format!("{what} is {number}; {wanted}")))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the rate is checked, and single bits per second do not matter"
)]
fn pacing_rate(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let rate: f64 = value.extract().unwrap_or(f64::NAN);
    if (1.0..=MAX_PACING_BIT_PER_S as f64).contains(&rate) {
        return Ok(rate as u64);
    }
    let wanted = format!("give a number from 1 to {MAX_PACING_BIT_PER_S}, or None");
    Err(PyValueError::new_err(format!("pacing_bit_per_s is {}; {wanted}", shown(value))))
}

/// Largest pacing rate; far above any link.
const MAX_PACING_BIT_PER_S: u64 = 1_000_000_000_000_000;

/// Representation of a value in an error message.
pub(super) fn shown(value: &Bound<'_, PyAny>) -> String {
    const MOST: usize = 60;
    let text =
        value.repr().map_or_else(|_| "a value that cannot be shown".to_owned(), |text| text.to_string());
    if text.chars().count() <= MOST { text } else { text.chars().take(MOST).chain(['…']).collect() }
}
