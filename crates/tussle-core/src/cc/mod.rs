//! Congestion control: the trait, and the registry of algorithms.
//!
//! The division of labour is Linux's: the sender finds losses, recovers and undoes; an algorithm is policy
//! only. Every default below is Reno's, so that a file here holds only its difference from Reno.

use std::collections::BTreeMap;
use std::fmt::Debug;

mod bandwidth;
mod bbr;
mod bbr3;
mod bic;
mod cdg;
mod control;
mod copa;
mod cubic;
mod dctcp;
mod fraction;
mod highspeed;
mod htcp;
mod hybla;
mod hystart;
mod illinois;
mod ledbat;
mod lp;
mod nv;
mod prague;
mod reno;
mod scalable;
mod vegas;
mod veno;
mod vivace;
mod westwood;
mod yeah;

pub use control::Control;

use crate::net::packet::Ecn;
use crate::tcp::{Ack, Cause, Flow, Lost, State};

/// Every algorithm, in the order in which lists show them.
pub const REGISTRY: &[Entry] = &[
    reno::ENTRY,
    bic::ENTRY,
    cubic::ENTRY,
    highspeed::ENTRY,
    htcp::ENTRY,
    hybla::ENTRY,
    illinois::ENTRY,
    lp::ENTRY,
    scalable::ENTRY,
    vegas::ENTRY,
    veno::ENTRY,
    westwood::ENTRY,
    yeah::ENTRY,
    bbr::ENTRY,
    bbr3::ENTRY,
    cdg::ENTRY,
    dctcp::ENTRY,
    ledbat::ENTRY,
    nv::ENTRY,
    prague::ENTRY,
    copa::ENTRY,
    vivace::ENTRY,
];

/// How a flow decides how much it may have in flight.
///
/// Windows are in packets. Hooks cannot fail; time is `flow.now`; dice are seeded at construction.
pub trait CongestionControl: Debug + Send {
    /// The name in the registry, read back into the `flows` table.
    fn name(&self) -> &str;

    /// What the algorithm asks of the sender.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The connection is established.
    fn on_start(&mut self, _flow: &Flow, _control: &mut Control) {}

    /// The flow sends again after everything it had sent was acknowledged; `flow.last_sent` says since when
    /// it was idle.
    fn on_tx_start(&mut self, _flow: &Flow, _control: &mut Control) {}

    /// The flow sends again after more than a timeout without anything to send: `control.cwnd` is still what
    /// it was, and will be halved for each timeout. [`CongestionControl::on_tx_start`] follows.
    fn on_cwnd_restart(&mut self, _flow: &Flow, _control: &mut Control) {}

    /// An ACK has been measured; whether it reveals losses is not judged yet.
    fn on_pkts_acked(&mut self, _ack: &Ack, _flow: &Flow, _control: &mut Control) {}

    /// The window may grow. With [`Recovery::Own`]: every ACK, in every state.
    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        control.grow_like_reno(ack.delivered, flow);
    }

    /// Congestion was found: the new ssthresh, in packets.
    fn on_congestion(&mut self, _cause: Cause, _flow: &Flow, control: &Control) -> u32 {
        (control.cwnd / 2).max(2)
    }

    /// A packet was judged lost; in order of judgement, before [`CongestionControl::on_congestion`] is asked.
    fn on_lost(&mut self, _lost: &Lost, _flow: &Flow, _control: &mut Control) {}

    /// The sender enters `next`; `flow.state` is still the state it leaves.
    fn on_state(&mut self, _next: State, _flow: &Flow, _control: &mut Control) {}

    /// A reduction is complete: the window is ssthresh, and the state is still the one of the reduction.
    fn on_cwr_complete(&mut self, _flow: &Flow, _control: &mut Control) {}

    /// The last reduction was a false alarm: the window to go back to, in packets.
    fn on_undo(&mut self, flow: &Flow, control: &Control) -> u32 {
        control.cwnd.max(flow.prior_cwnd)
    }

    /// Tells `record` the algorithm's inner quantities, by the names its paper gives them and with their
    /// unit: the same ones in the same order each time, NaN while one has no value.
    fn internals(&self, _record: &mut dyn FnMut(&'static str, f64)) {}
}

/// What an algorithm asks of the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Who sets the window during recovery.
    pub recovery: Recovery,
    /// What ECN feedback it cannot do without.
    pub ecn: EcnMode,
    /// Whether it cannot do without pacing.
    pub pacing: bool,
    /// Whether it reads the receiver's timestamps as they are, so that their random offset changes what it
    /// does; the others read differences of them at most.
    pub timestamp_offset: bool,
}

/// Who sets the window during recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// The sender, by proportional rate reduction (RFC 6937).
    #[default]
    Prr,
    /// The algorithm, in `on_ack`.
    Own,
}

/// What ECN feedback there is, the weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EcnMode {
    /// None.
    #[default]
    Off,
    /// One echo a round trip (RFC 3168).
    Classic,
    /// The receiver reflects each mark (RFC 8257, 3.2), and retransmissions are markable, too.
    PerPacket,
    /// So it does, and packets tell queues of it by ECT(1) (RFC 9331).
    L4s,
}

impl EcnMode {
    /// What packets carry that may be marked.
    pub(crate) fn code_point(self) -> Ecn {
        match self {
            EcnMode::Off => Ecn::NotEct,
            EcnMode::Classic | EcnMode::PerPacket => Ecn::Ect0,
            EcnMode::L4s => Ecn::Ect1,
        }
    }
}

impl From<bool> for EcnMode {
    /// ECN that is switched on is the classic one.
    fn from(switch: bool) -> EcnMode {
        if switch { EcnMode::Classic } else { EcnMode::Off }
    }
}

/// An algorithm as lists and scenarios know it.
#[derive(Debug)]
pub struct Entry {
    /// The name everywhere: file, registry, command line, column, docs.
    pub name: &'static str,
    /// What it believes, in a sentence.
    pub idea: &'static str,
    /// Authors, title, venue, year; or the RFC and section.
    pub source: &'static str,
    /// The kernel whose behaviour it agrees with.
    pub agrees_with: &'static str,
    /// What a scenario may set.
    pub parameters: &'static [Parameter],
    /// Makes one for a flow; the values have been checked against `parameters`.
    pub build: fn(&Parameters, u64) -> Box<dyn CongestionControl>,
}

/// One setting of an algorithm, as Linux's module parameters.
#[derive(Debug)]
pub struct Parameter {
    /// Its name in Linux.
    pub name: &'static str,
    /// The value when a scenario does not set it.
    pub default: i64,
    /// The smallest value that makes sense.
    pub min: i64,
    /// The largest value that makes sense.
    pub max: i64,
    /// What it does, with its unit.
    pub meaning: &'static str,
}

/// The values of an algorithm's parameters, defaults filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(BTreeMap<&'static str, i64>);

impl Parameters {
    /// The value of a parameter that the entry declares.
    pub fn get(&self, name: &str) -> i64 {
        *self.0.get(name).expect("an algorithm reads only the parameters that its entry declares")
    }

    /// Like [`Parameters::get`], for one whose declared range fits `u32`.
    pub fn get_u32(&self, name: &str) -> u32 {
        u32::try_from(self.get(name)).expect("the declared range of the parameter fits u32")
    }
}

/// Why an algorithm could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The entry declares no such parameter.
    #[error("{algorithm} has no parameter {name}; it has {}", if .known.is_empty() { "none".to_owned() } else { .known.join(", ") })]
    Unknown {
        /// The algorithm.
        algorithm: &'static str,
        /// The name that was given.
        name: String,
        /// The names that exist.
        known: Vec<&'static str>,
    },
    /// The value is outside the declared range.
    #[error("{algorithm}'s parameter {name} is {value}; give {min} to {max}")]
    Range {
        /// The algorithm.
        algorithm: &'static str,
        /// The parameter.
        name: &'static str,
        /// The value that was given.
        value: i64,
        /// The smallest value allowed.
        min: i64,
        /// The largest value allowed.
        max: i64,
    },
}

impl Entry {
    /// The entry of that name.
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

    /// Every parameter at its default.
    pub fn defaults(&self) -> Parameters {
        self.parameters(&BTreeMap::new()).expect("no parameter is given, so none is wrong")
    }

    /// Makes one with every parameter at its default.
    pub fn build_default(&self) -> Box<dyn CongestionControl> {
        (self.build)(&self.defaults(), 0)
    }
}
