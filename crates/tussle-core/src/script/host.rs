//! One end of a connection that can play a script.

use super::ScriptError;
use crate::Time;
use crate::net::packet::Packet;

/// One end of an established connection. Times count from its establishment.
pub trait Host {
    /// Greatest difference between the time in a script and the time at which the packet leaves.
    fn precision(&self) -> Time;

    /// Waits until `at`, or until the first earlier instant at which the host sends something; returns that
    /// instant.
    ///
    /// # Errors
    /// [`ScriptError::Broken`].
    fn wait(&mut self, at: Time) -> Result<Time, ScriptError>;

    /// Lets the application write `packets` full packets.
    ///
    /// # Errors
    /// [`ScriptError::Broken`].
    fn write(&mut self, packets: u32) -> Result<(), ScriptError>;

    /// Delivers a packet to the host.
    ///
    /// # Errors
    /// [`ScriptError::Broken`].
    fn receive(&mut self, packet: &Packet) -> Result<(), ScriptError>;

    /// Returns the packets that the host sent since the last call.
    ///
    /// # Errors
    /// [`ScriptError::Broken`].
    fn sent(&mut self) -> Result<Vec<Packet>, ScriptError>;

    /// Returns the state of the host's sender.
    ///
    /// # Errors
    /// [`ScriptError::Broken`].
    fn sender_state(&mut self) -> Result<SenderState, ScriptError>;
}

/// State of a sender. Counts start when the connection opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderState {
    /// Congestion window, in packets.
    pub cwnd: u32,
    /// Slow-start threshold, in packets.
    pub ssthresh: u32,
    /// Name of the congestion state, as in tables.
    pub state: &'static str,
    /// Packets estimated to be in the network.
    pub in_flight: u32,
    /// Packets sacked.
    pub sacked: u32,
    /// Packets detected as lost.
    pub lost: u32,
    /// Retransmitted packets whose arrival is not yet known.
    pub retransmitted: u32,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// Timeouts that proved spurious.
    pub spurious_timeouts: u32,
    /// Recoveries that proved spurious and were undone.
    pub undone_recoveries: u32,
    /// Tail loss probes.
    pub probes: u32,
    /// The retransmission timeout.
    pub rto_ms: u32,
}
