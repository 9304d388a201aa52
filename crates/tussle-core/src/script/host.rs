//! What plays a script: one end of a connection, whoever implements it.

use super::ScriptError;
use crate::Time;
use crate::net::packet::Packet;

/// One end of an established connection. Times count from there.
pub trait Host {
    /// How far from the time that a script says a packet may leave.
    fn precision(&self) -> Time;

    /// Lets time pass to `at`, or to the first instant before at which it sends something; tells which.
    ///
    /// # Errors
    /// [`ScriptError::Broken`].
    fn wait(&mut self, at: Time) -> Result<Time, ScriptError>;

    /// Its application writes so many packets.
    ///
    /// # Errors
    /// [`ScriptError::Broken`].
    fn write(&mut self, packets: u32) -> Result<(), ScriptError>;

    /// A packet reaches it.
    ///
    /// # Errors
    /// [`ScriptError::Broken`].
    fn receive(&mut self, packet: &Packet) -> Result<(), ScriptError>;

    /// What it has sent since it was last asked.
    ///
    /// # Errors
    /// [`ScriptError::Broken`].
    fn sent(&mut self) -> Result<Vec<Packet>, ScriptError>;

    /// Where its sender stands.
    ///
    /// # Errors
    /// [`ScriptError::Broken`].
    fn standing(&mut self) -> Result<Standing, ScriptError>;
}

/// What a sender tells of itself. Counts are those since it opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Its window, in packets.
    pub cwnd: u32,
    /// In packets.
    pub ssthresh: u32,
    /// Name of its state, as in tables.
    pub state: &'static str,
    /// Packets thought to be in the network.
    pub in_flight: u32,
    /// Packets sacked.
    pub sacked: u32,
    /// Packets held to be lost.
    pub lost: u32,
    /// Packets sent again and not yet known to have arrived.
    pub retransmitted: u32,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// Reductions that were taken back.
    pub undone: u32,
    /// Tail loss probes.
    pub probes: u32,
    /// The retransmission timeout.
    pub rto_ms: u32,
}
