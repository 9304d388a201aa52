//! Access to a sender between events, for a program that acts as the algorithm of a flow.

use super::Simulation;
use super::endpoints::Endpoints;
use crate::Time;
use crate::cc::Control;
use crate::tcp::{Flow, Sender};

impl Simulation {
    /// The sender of a flow, by its index in the run; `None` for a UDP flow.
    pub fn sender(&self, flow: usize) -> Option<&Sender> {
        match &self.flows[flow].endpoints {
            Endpoints::Tcp(tcp) => Some(&tcp.sender),
            Endpoints::Udp(_) => None,
        }
    }

    /// Lets `change` change what the algorithm of a flow controls, at the time `at`, and sends at once the packets that
    /// the change allows. Every event before `at`, and none after it, must have been simulated, as by
    /// [`Simulation::advance_to`]. Nothing happens if the flow has no open connection or the run is over.
    pub fn control_at(&mut self, at: Time, flow: usize, change: impl FnOnce(&Flow, &mut Control)) {
        debug_assert!(at >= self.now && at <= self.calendar.first().0, "{at} is not between two events");
        if self.is_done {
            return;
        }
        self.outbox.hop = self.flows[flow].forward_hop;
        let Endpoints::Tcp(tcp) = &mut self.flows[flow].endpoints else { return };
        if !tcp.sender.is_established() {
            return;
        }
        self.now = at;
        tcp.sender.flow.now = at;
        change(&tcp.sender.flow, &mut tcp.sender.control);
        tcp.sender.on_control_changed(&mut self.outbox);
        self.after_sender(flow);
        self.send_outbox();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;

    /// 10 Mbit/s, 20 ms, and a buffer of 100 packets.
    fn bulk() -> Run {
        let run = serde_json::json!({
            "format": 1, "profile": "linux-6.1", "seed": 1, "duration_ns": 3_000_000_000u64,
            "steady": {"from_ns": 1_000_000_000u64, "to_ns": 3_000_000_000u64},
            "record": {"sampling": "off", "events": true},
            "elements": [
                {"name": "link", "kind": "link", "rate_bit_per_s": 10_000_000, "delay_ns": 10_000_000,
                 "queue": {"kind": "fifo", "limit_packets": 100}},
                {"name": "back", "kind": "delay", "delay_ns": 10_000_000},
            ],
            "flows": [{"name": "a", "algorithm": "reno", "start_ns": 0, "mss_bytes": 1448,
                       "forward": ["link"], "reverse": ["back"]}],
        });
        serde_json::from_value(run).unwrap()
    }

    #[test]
    fn a_larger_window_is_sent_at_once_without_an_ack() {
        let mut simulation = Simulation::new(&bulk()).unwrap();
        // The connection opens after one round trip, about 20 ms, and sends ten packets.
        let at = Time::from_ms(30);
        simulation.advance_to(at).unwrap();
        let before = simulation.sender(0).unwrap();
        assert_eq!((before.flow.in_flight(), before.control.cwnd), (10, 10));
        simulation.control_at(at, 0, |_, control| control.cwnd = 25);
        assert_eq!(simulation.sender(0).unwrap().flow.in_flight(), 25);
        assert_eq!(simulation.now(), at);
    }

    #[test]
    fn a_change_that_changes_nothing_leaves_the_run_as_it_is() {
        let whole = Simulation::new(&bulk()).unwrap().run_to_end().unwrap();
        let mut steered = Simulation::new(&bulk()).unwrap();
        for ms in (0..3_000).step_by(7) {
            let at = Time::from_ms(ms);
            steered.advance_to(at).unwrap();
            steered.control_at(at, 0, |_, _| {});
        }
        assert_eq!(steered.run_to_end().unwrap(), whole);
    }
}
