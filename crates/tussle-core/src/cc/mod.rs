//! Congestion control: the trait, and the registry of algorithms.
//!
//! The division of labour is Linux's: the sender detects losses, recovers and undoes; an algorithm is policy
//! only. The default of every hook is Reno's, so that the file of an algorithm contains only its difference
//! from Reno.

use std::collections::BTreeMap;
use std::fmt::Debug;

mod bandwidth;
mod control;
mod fraction;
mod hystart;

pub use control::Control;

use crate::net::packet::Ecn;
use crate::tcp::{Ack, Cause, Flow, Lost, State};

/// Declares every algorithm once: its module, which defines `ENTRY`.
macro_rules! algorithms {
    ($($module:ident,)*) => {
        $(mod $module;)*

        /// Every algorithm, in the order in which lists show them.
        pub const REGISTRY: &[Entry] = &[$($module::ENTRY,)*];
    };
}

algorithms! {
    reno,
    bic,
    cubic,
    highspeed,
    htcp,
    hybla,
    illinois,
    lp,
    scalable,
    vegas,
    veno,
    westwood,
    yeah,
    bbr,
    bbr3,
    cdg,
    dctcp,
    ledbat,
    nv,
    prague,
    copa,
    vivace,
}

/// A congestion control algorithm.
///
/// Windows are in packets. Hooks cannot fail; the time is `flow.now`; random number generators are seeded at
/// construction.
pub trait CongestionControl: Debug + Send {
    /// Name in the registry and in the `flows` table.
    fn name(&self) -> &str;

    /// Requirements of the algorithm.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Handles the establishment of the connection.
    fn on_start(&mut self, _flow: &Flow, _control: &mut Control) {}

    /// Handles the first transmission after all data was acknowledged (Linux: `CA_EVENT_TX_START`);
    /// `flow.last_sent` is the time of the previous transmission.
    fn on_tx_start(&mut self, _flow: &Flow, _control: &mut Control) {}

    /// Handles a restart after idle time of more than a timeout (Linux: `CA_EVENT_CWND_RESTART`).
    /// `control.cwnd` still has its old value; the sender then halves it for each timeout of idle time and
    /// calls [`CongestionControl::on_tx_start`]. The sender does not call this hook with [`Recovery::Own`].
    fn on_cwnd_restart(&mut self, _flow: &Flow, _control: &mut Control) {}

    /// Handles the measurements of an ACK, before loss detection (Linux: `pkts_acked`).
    fn on_pkts_acked(&mut self, _ack: &Ack, _flow: &Flow, _control: &mut Control) {}

    /// Grows the window. With [`Recovery::Own`] the sender calls this hook for every ACK in every state.
    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        control.grow_like_reno(ack.delivered, flow);
    }

    /// Returns the new ssthresh after congestion, in packets.
    fn on_congestion(&mut self, _cause: Cause, _flow: &Flow, control: &Control) -> u32 {
        (control.cwnd / 2).max(2)
    }

    /// Handles the loss of one packet, in the order of detection and before
    /// [`CongestionControl::on_congestion`].
    fn on_lost(&mut self, _lost: &Lost, _flow: &Flow, _control: &mut Control) {}

    /// Handles the change to state `next`; `flow.state` is still the old state.
    fn on_state(&mut self, _next: State, _flow: &Flow, _control: &mut Control) {}

    /// Handles the end of a reduction: the window is ssthresh, and the state is still the one of the
    /// reduction.
    fn on_cwr_complete(&mut self, _flow: &Flow, _control: &mut Control) {}

    /// Returns the window to restore after a spurious reduction, in packets.
    fn on_undo(&mut self, flow: &Flow, control: &Control) -> u32 {
        control.cwnd.max(flow.prior_cwnd)
    }

    /// Reports the algorithm's internal quantities to `record`, by the names of its paper and with their
    /// unit: the same names in the same order each time, NaN for an unknown value.
    fn internals(&self, _record: &mut dyn FnMut(&'static str, f64)) {}
}

/// Requirements of an algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent needs of an algorithm, each read by its name")]
pub struct Needs {
    /// Owner of the window during recovery.
    pub recovery: Recovery,
    /// ECN feedback that the algorithm needs.
    pub ecn: EcnMode,
    /// Whether the algorithm needs pacing.
    pub pacing: bool,
    /// Whether the random offset of the receiver's timestamps changes the behaviour. Other algorithms read at
    /// most differences of timestamps.
    pub timestamp_offset: bool,
    /// Whether the algorithm does not work without timestamps.
    pub timestamps: bool,
    /// Whether a send buffer provides for three windows instead of two (Linux: `sndbuf_expand`).
    pub larger_send_buffer: bool,
    /// Whether a sender with segmentation offload sends single packets below 1.2 Mbit/s (Linux: `min_tso_segs`).
    pub single_packets: bool,
}

/// Owner of the window during recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// The sender, by proportional rate reduction (RFC 6937).
    #[default]
    Prr,
    /// The algorithm, in `on_ack`.
    Own,
}

/// ECN feedback, the weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EcnMode {
    /// No ECN feedback.
    #[default]
    Off,
    /// One echo per round trip (RFC 3168).
    Classic,
    /// Per-packet feedback: the receiver reflects each mark (RFC 8257, 3.2), and retransmissions are
    /// ECN-capable, too.
    PerPacket,
    /// Per-packet feedback; data packets carry ECT(1) (RFC 9331).
    L4s,
}

impl EcnMode {
    /// ECN code point of data packets.
    pub(crate) fn code_point(self) -> Ecn {
        match self {
            EcnMode::Off => Ecn::NotEct,
            EcnMode::Classic | EcnMode::PerPacket => Ecn::Ect0,
            EcnMode::L4s => Ecn::Ect1,
        }
    }
}

impl From<bool> for EcnMode {
    /// Classic ECN if `switch` is true.
    fn from(switch: bool) -> EcnMode {
        if switch { EcnMode::Classic } else { EcnMode::Off }
    }
}

/// An algorithm in the registry: its name, description and constructor.
#[derive(Debug)]
pub struct Entry {
    /// Name everywhere: file, registry, command line, column, docs.
    pub name: &'static str,
    /// Principle of the algorithm, in a sentence.
    pub idea: &'static str,
    /// Authors, title, venue, year; or the RFC and section.
    pub source: &'static str,
    /// Implementation or document whose behaviour the algorithm agrees with.
    pub agrees_with: &'static str,
    /// Parameters that a scenario may set.
    pub parameters: &'static [Parameter],
    /// Makes an algorithm for a flow with that seed; the values have been checked against `parameters`.
    pub build: fn(&Parameters, u64) -> Box<dyn CongestionControl>,
}

/// A parameter of an algorithm, like a module parameter of Linux.
#[derive(Debug)]
pub struct Parameter {
    /// Name, as in Linux.
    pub name: &'static str,
    /// Value if a scenario does not set it.
    pub default: i64,
    /// Smallest permitted value.
    pub min: i64,
    /// Largest permitted value.
    pub max: i64,
    /// Meaning, with the unit.
    pub meaning: &'static str,
}

/// Values of an algorithm's parameters, with defaults filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(BTreeMap<&'static str, i64>);

impl Parameters {
    /// Value of a parameter that the entry declares.
    pub fn get(&self, name: &str) -> i64 {
        *self.0.get(name).expect("an algorithm reads only the parameters that its entry declares")
    }

    /// Value of a parameter whose declared range fits `u32`.
    pub fn get_u32(&self, name: &str) -> u32 {
        u32::try_from(self.get(name)).expect("the declared range of the parameter fits u32")
    }
}

/// Reason why an algorithm cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The entry declares no such parameter.
    #[error("{algorithm} has no parameter {name}; it has {}", if .known.is_empty() { "none".to_owned() } else { .known.join(", ") })]
    Unknown {
        /// The algorithm.
        algorithm: &'static str,
        /// The unknown name.
        name: String,
        /// Names of the declared parameters.
        known: Vec<&'static str>,
    },
    /// The value is outside the declared range.
    #[error("{algorithm}'s parameter {name} is {value}; give {min} to {max}")]
    Range {
        /// The algorithm.
        algorithm: &'static str,
        /// The parameter.
        name: &'static str,
        /// The given value.
        value: i64,
        /// The smallest value allowed.
        min: i64,
        /// The largest value allowed.
        max: i64,
    },
}

impl Entry {
    /// Entry of that name.
    pub fn find(name: &str) -> Option<&'static Entry> {
        REGISTRY.iter().find(|entry| entry.name == name)
    }

    /// Checks `given` and fills in the defaults.
    ///
    /// # Errors
    /// A parameter that is not declared, or a value outside its range.
    pub fn parameters(&self, given: &BTreeMap<String, i64>) -> Result<Parameters, ParameterError> {
        let mut values: BTreeMap<_, _> = self.parameters.iter().map(|p| (p.name, p.default)).collect();
        for (name, &value) in given {
            let declared =
                self.parameters.iter().find(|p| p.name == name).ok_or_else(|| ParameterError::Unknown {
                    algorithm: self.name,
                    name: name.clone(),
                    known: self.parameters.iter().map(|p| p.name).collect(),
                })?;
            if !(declared.min..=declared.max).contains(&value) {
                return Err(ParameterError::Range {
                    algorithm: self.name,
                    name: declared.name,
                    value,
                    min: declared.min,
                    max: declared.max,
                });
            }
            values.insert(declared.name, value);
        }
        Ok(Parameters(values))
    }

    /// Default values of all parameters.
    pub fn defaults(&self) -> Parameters {
        self.parameters(&BTreeMap::new()).expect("no parameter is given, so none is wrong")
    }

    /// Makes an algorithm with default parameters.
    pub fn build_default(&self) -> Box<dyn CongestionControl> {
        (self.build)(&self.defaults(), 0)
    }
}
