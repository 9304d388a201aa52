//! The algorithm of an agent: it keeps to the last action, and collects what the ACKs measure.

use std::sync::{Arc, Mutex, MutexGuard};

use tussle_core::cc::{CongestionControl, Control, Needs, Recovery};
use tussle_core::tcp::{Ack, Cause, Flow, Lost, State};

/// Largest window of an agent, and the window of an agent that sets its rate, in packets.
pub(super) const MAX_CWND_PACKETS: u32 = 1 << 20;

/// Meaning of the numbers that are an agent's actions.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// The congestion window, in packets.
    Window,
    /// The pacing rate, in bit/s.
    Rate,
    /// A factor of the window of the algorithm with this name, which continues from there.
    Factor(&'static tussle_core::cc::Entry),
}

/// The state that an agent's algorithm and its world share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Window to keep to, in packets.
    pub(super) cwnd: Option<u32>,
    /// Rate to keep to, in bit/s.
    pub(super) rate_bit_per_s: Option<u64>,
    /// ACKs of the current interval.
    pub(super) acks: u32,
    /// RTT samples of the current interval, in µs.
    pub(super) rtts_us: Vec<u32>,
}

impl Shared {
    /// Sets what the algorithm keeps to.
    pub(super) fn apply(&self, control: &mut Control) {
        if let Some(cwnd) = self.cwnd {
            control.cwnd = cwnd;
        }
        if let Some(rate) = self.rate_bit_per_s {
            control.cwnd = MAX_CWND_PACKETS;
            control.pacing_bit_per_s = Some(rate);
        }
    }
}

/// Handle on the state that an agent's algorithm and its world share.
#[derive(Clone, Debug, Default)]
pub(super) struct Handle(Arc<Mutex<Shared>>);

impl Handle {
    pub(super) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().expect("nothing panics while it holds the lock")
    }
}

/// The algorithm of an agent. Without a base it owns the window in every state: neither losses nor ECN marks change
/// it, and only a timeout sets it to one packet until the next ACK.
#[derive(Debug)]
pub(super) struct Agent {
    handle: Handle,
    base: Option<Box<dyn CongestionControl>>,
    paces: bool,
}

impl Agent {
    /// Makes the algorithm; `seed` seeds the random numbers of a base.
    pub(super) fn new(action: &Action, handle: Handle, seed: u64) -> Agent {
        let base = match action {
            Action::Factor(entry) => Some((entry.build)(&entry.defaults(), seed)),
            Action::Window | Action::Rate => None,
        };
        Agent { handle, base, paces: matches!(action, Action::Rate) }
    }
}

impl CongestionControl for Agent {
    fn name(&self) -> &'static str {
        "agent"
    }

    fn needs(&self) -> Needs {
        self.base.as_ref().map_or_else(
            || Needs { recovery: Recovery::Own, pacing: self.paces, ..Needs::default() },
            |base| base.needs(),
        )
    }

    fn on_start(&mut self, flow: &Flow, control: &mut Control) {
        match &mut self.base {
            Some(base) => base.on_start(flow, control),
            None => self.handle.lock().apply(control),
        }
    }

    fn on_tx_start(&mut self, flow: &Flow, control: &mut Control) {
        if let Some(base) = &mut self.base {
            base.on_tx_start(flow, control);
        }
    }

    fn on_cwnd_restart(&mut self, flow: &Flow, control: &mut Control) {
        if let Some(base) = &mut self.base {
            base.on_cwnd_restart(flow, control);
        }
    }

    fn on_pkts_acked(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        {
            let mut shared = self.handle.lock();
            shared.acks += 1;
            shared.rtts_us.extend(ack.rtt_us);
        }
        if let Some(base) = &mut self.base {
            base.on_pkts_acked(ack, flow, control);
        }
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow, control: &mut Control) {
        match &mut self.base {
            Some(base) => base.on_ack(ack, flow, control),
            None => self.handle.lock().apply(control),
        }
    }

    fn on_congestion(&mut self, cause: Cause, flow: &Flow, control: &Control) -> u32 {
        self.base.as_mut().map_or(control.ssthresh, |base| base.on_congestion(cause, flow, control))
    }

    fn on_lost(&mut self, lost: &Lost, flow: &Flow, control: &mut Control) {
        if let Some(base) = &mut self.base {
            base.on_lost(lost, flow, control);
        }
    }

    fn on_state(&mut self, next: State, flow: &Flow, control: &mut Control) {
        if let Some(base) = &mut self.base {
            base.on_state(next, flow, control);
        }
    }

    fn on_cwr_complete(&mut self, flow: &Flow, control: &mut Control) {
        if let Some(base) = &mut self.base {
            base.on_cwr_complete(flow, control);
        }
    }

    fn on_undo(&mut self, flow: &Flow, control: &Control) -> u32 {
        match &mut self.base {
            Some(base) => base.on_undo(flow, control),
            None => control.cwnd.max(flow.prior_cwnd),
        }
    }

    fn internals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        if let Some(base) = &self.base {
            base.internals(record);
        }
    }
}
