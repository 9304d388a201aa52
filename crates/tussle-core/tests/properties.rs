//! Properties of every algorithm in the registry, for random sequences of events at a sender.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::prelude::*;
use tussle_core::Time;
use tussle_core::cc::{CongestionControl, Control, Entry, REGISTRY, Recovery};
use tussle_core::tcp::{Ack, Cause, Flow, Limit, Lost, RateSample, State, WindowUse};

/// Largest window of these tests, in packets: 1.5 GB in flight.
const CWND_MAX: u32 = 1 << 20;
/// Longest RTT that reaches the smoothed estimate: 300 s.
const RTT_MAX_US: u32 = 300_000_000;

/// An event at a sender.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// An ACK arrives after `span_ns`.
    Ack { acked: u32, rtt_us: Option<u32>, span_ns: u64 },
    /// An ACK with ECN-Echo arrives.
    Mark,
    /// A packet is detected as lost.
    Lost,
    /// Congestion is detected.
    Congestion(Cause),
    /// Packets arrive out of order.
    Disorder,
    /// Recovery ends.
    Repaired,
    /// The last reduction is undone as spurious.
    Undo,
    /// The application writes after `idle_ns` without data in flight.
    Restart { idle_ns: u64 },
    /// The sender sets the window.
    Window(u32),
    /// The application starts or stops to use the whole window.
    Use(Usage),
}

#[derive(Clone, Copy, Debug)]
enum Usage {
    Whole,
    Part,
}

fn span_ns() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => Just(0),
        4 => 0..1_000_000u64,
        3 => 0..200_000_000u64,
        1 => 0..1_000_000_000_000u64,
    ]
}

fn rtt_us() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![
        1 => Just(None),
        1 => Just(Some(0)),
        1 => Just(Some(1)),
        6 => (0..300_000u32).prop_map(Some),
        1 => (0..=i32::MAX.unsigned_abs()).prop_map(Some),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let cause = prop_oneof![Just(Cause::Loss), Just(Cause::Timeout), Just(Cause::Ecn)];
    prop_oneof![
        30 => (0..3u32, rtt_us(), span_ns()).prop_map(|(acked, rtt_us, span_ns)| Event::Ack { acked, rtt_us, span_ns }),
        6 => (0..=CWND_MAX, rtt_us(), span_ns()).prop_map(|(acked, rtt_us, span_ns)| Event::Ack { acked, rtt_us, span_ns }),
        3 => cause.prop_map(Event::Congestion),
        2 => Just(Event::Mark),
        2 => Just(Event::Lost),
        1 => Just(Event::Disorder),
        3 => Just(Event::Repaired),
        1 => Just(Event::Undo),
        1 => span_ns().prop_map(|idle_ns| Event::Restart { idle_ns }),
        1 => (1..=CWND_MAX).prop_map(Event::Window),
        1 => prop_oneof![Just(Usage::Whole), Just(Usage::Part)].prop_map(Event::Use),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(event(), 1..200)
}

fn hz() -> impl Strategy<Value = u32> {
    prop_oneof![Just(100), Just(250), Just(1000)]
}

/// A model of the sender as an algorithm sees it: the order of calls and the bounds of values, without a
/// network.
struct Sender {
    cc: Box<dyn CongestionControl>,
    flow: Flow,
    control: Control,
}

impl Sender {
    fn new(cc: Box<dyn CongestionControl>, hz: u32) -> Sender {
        let mut flow = Flow::new(hz, 1448);
        flow.usage = WindowUse::limited();
        let mut control = Control::default();
        control.cwnd_clamp = CWND_MAX;
        let mut sender = Sender { cc, flow, control };
        sender.cc.on_start(&sender.flow, &mut sender.control);
        sender.fill_window();
        sender
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Ack { acked, rtt_us, span_ns } => {
                self.flow.now += Time::from_ns(span_ns);
                let acked = acked.min(self.flow.packets_out());
                self.on_ack(Ack { acked, rtt_us, ..Ack::default() });
            }
            Event::Mark => {
                let acked = 1.min(self.flow.packets_out());
                self.on_ack(Ack { acked, rtt_us: Some(1000), ece: true, ..Ack::default() });
            }
            Event::Lost => self.on_lost(),
            Event::Congestion(cause) => self.on_congestion(cause),
            Event::Disorder if self.flow.state == State::Open => self.enter(State::Disorder),
            Event::Disorder => {}
            Event::Repaired => {
                self.cc.on_cwr_complete(&self.flow, &mut self.control);
                self.enter(State::Open);
            }
            Event::Undo => {
                self.control.cwnd = self.cc.on_undo(&self.flow, &self.control);
                self.control.ssthresh = self.control.ssthresh.max(self.flow.prior_cwnd);
            }
            Event::Restart { idle_ns } => {
                self.flow.now += Time::from_ns(idle_ns);
                self.flow.una = self.flow.nxt;
                self.cc.on_cwnd_restart(&self.flow, &mut self.control);
                self.cc.on_tx_start(&self.flow, &mut self.control);
            }
            Event::Window(cwnd) => self.control.cwnd = cwnd,
            Event::Use(Usage::Whole) => self.flow.usage = WindowUse::limited(),
            Event::Use(Usage::Part) => self.flow.usage = WindowUse::default(),
        }
        self.check(event);
        self.fill_window();
    }

    fn on_ack(&mut self, ack: Ack) {
        let Ack { acked, rtt_us, ece, .. } = ack;
        let prior_in_flight = self.flow.in_flight();
        self.flow.una += acked;
        self.flow.delivered += acked;
        if ece {
            self.flow.delivered_marked += acked;
        }
        if let Some(rtt_us) = rtt_us {
            self.flow.rtt.update(rtt_us.min(RTT_MAX_US), self.flow.una, self.flow.nxt);
            self.flow.rtt.update_min(rtt_us, self.flow.now);
        }
        let rate = RateSample {
            delivered: rtt_us.map(|_| acked),
            interval_us: rtt_us.unwrap_or(0).into(),
            prior_delivered: self.flow.delivered - acked,
            prior_in_flight,
            tx_in_flight: prior_in_flight,
            lost: 0,
            limit: self.flow.limit,
        };
        let in_flight = self.flow.in_flight();
        let ack = Ack { delivered: acked, in_flight, rate, ..ack };
        self.cc.on_pkts_acked(&ack, &self.flow, &mut self.control);
        let reducing = matches!(self.flow.state, State::Cwr | State::Recovery);
        if !reducing || self.cc.needs().recovery == Recovery::Own {
            self.cc.on_ack(&ack, &self.flow, &mut self.control);
        }
    }

    fn on_lost(&mut self) {
        self.flow.lost += 1;
        let (number, in_flight) = (self.flow.una, self.flow.in_flight());
        let lost = Lost { number, in_flight, lost: 1, limit: Limit::Network };
        self.cc.on_lost(&lost, &self.flow, &mut self.control);
    }

    fn on_congestion(&mut self, cause: Cause) {
        let next = match cause {
            Cause::Loss => State::Recovery,
            Cause::Timeout => State::Loss,
            Cause::Ecn => State::Cwr,
        };
        self.flow.prior_cwnd = self.control.cwnd;
        self.flow.high_seq = self.flow.nxt;
        self.control.ssthresh = self.cc.on_congestion(cause, &self.flow, &self.control);
        assert!(self.control.ssthresh >= 2, "{} asks for ssthresh {}", self.cc.name(), self.control.ssthresh);
        self.enter(next);
        self.control.cwnd =
            if next == State::Loss { 1 } else { self.control.cwnd.min(self.control.ssthresh) };
    }

    fn enter(&mut self, next: State) {
        self.cc.on_state(next, &self.flow, &mut self.control);
        self.flow.state = next;
    }

    fn fill_window(&mut self) {
        if self.flow.packets_out() < self.control.cwnd {
            self.flow.nxt = self.flow.una + self.control.cwnd;
        }
        self.flow.last_sent = self.flow.now;
    }

    fn check(&self, event: Event) {
        let (name, Control { cwnd, ssthresh, .. }) = (self.cc.name(), &self.control);
        assert!((1..=CWND_MAX).contains(cwnd), "{name} has a window of {cwnd} after {event:?}");
        assert!(*ssthresh >= 1, "{name} has an ssthresh of {ssthresh} after {event:?}");
        self.cc.internals(&mut |quantity, value| {
            assert!(!value.is_infinite(), "{name}.{quantity} is {value} after {event:?}");
        });
    }
}

/// Windows and thresholds after each event, and the final state of the algorithm as `Debug` text.
fn run(cc: Box<dyn CongestionControl>, events: &[Event], hz: u32) -> (Vec<(u32, u32)>, String) {
    let mut sender = Sender::new(cc, hz);
    let windows = events.iter().map(|&event| {
        sender.handle(event);
        (sender.control.cwnd, sender.control.ssthresh)
    });
    (windows.collect(), format!("{:?}", sender.cc))
}

fn build(entry: &Entry, given: &[(&str, i64)]) -> Box<dyn CongestionControl> {
    let given: BTreeMap<_, _> = given.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    (entry.build)(&entry.parameters(&given).expect("the values are in the declared range"), 7)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn windows_stay_in_bounds_for_all_events(events in events(), hz in hz()) {
        for entry in REGISTRY {
            run(entry.build_default(), &events, hz);
        }
    }

    #[test]
    fn equal_events_and_seeds_give_equal_windows(events in events(), hz in hz()) {
        for entry in REGISTRY {
            prop_assert_eq!(run(build(entry, &[]), &events, hz), run(build(entry, &[]), &events, hz));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn windows_stay_in_bounds_with_each_parameter_at_its_extremes(events in events(), hz in hz()) {
        for entry in REGISTRY {
            for parameter in entry.parameters {
                run(build(entry, &[(parameter.name, parameter.min)]), &events, hz);
                run(build(entry, &[(parameter.name, parameter.max)]), &events, hz);
            }
        }
    }

    #[test]
    fn windows_stay_in_bounds_with_any_parameters(
        events in events(),
        fractions in prop::collection::vec(0.0..=1.0f64, 32),
    ) {
        for entry in REGISTRY {
            let given: Vec<_> = entry.parameters.iter().zip(&fractions).map(|(p, f)| (p.name, between(p.min, p.max, *f))).collect();
            run(build(entry, &given), &events, 250);
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a test may miss the last bit"
)]
fn between(min: i64, max: i64, fraction: f64) -> i64 {
    min + ((max - min) as f64 * fraction) as i64
}

#[test]
fn every_name_is_unique_and_names_a_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cc");
    let mut names = BTreeSet::new();
    for entry in REGISTRY {
        let name = entry.name;
        assert!(names.insert(name), "two algorithms are called {name}");
        let is_a_file =
            folder.join(format!("{name}.rs")).is_file() || folder.join(name).join("mod.rs").is_file();
        assert!(is_a_file, "src/cc has no file for {name}");
        assert_eq!(entry.build_default().name(), name);
    }
}

#[test]
fn every_entry_has_all_texts() {
    for Entry { name, idea, source, agrees_with, parameters, .. } in REGISTRY {
        assert!(![idea, source, agrees_with].iter().any(|text| text.is_empty()), "{name} has an empty text");
        for parameter in *parameters {
            assert!(!parameter.meaning.is_empty(), "{name} does not say what {} means", parameter.name);
        }
    }
}

#[test]
fn every_default_lies_in_its_range() {
    for entry in REGISTRY {
        let mut names = BTreeSet::new();
        for p in entry.parameters {
            let who = format!("{}'s {}", entry.name, p.name);
            assert!(names.insert(p.name), "{who} is declared twice");
            assert!(
                (p.min..=p.max).contains(&p.default),
                "{who}: {} is not in {} to {}",
                p.default,
                p.min,
                p.max
            );
        }
    }
}

#[test]
fn internal_quantities_have_unique_constant_names() {
    for entry in REGISTRY {
        let mut sender = Sender::new(entry.build_default(), 250);
        let at_first = quantities(&sender);
        let unique: BTreeSet<_> = at_first.iter().collect();
        assert_eq!(
            unique.len(),
            at_first.len(),
            "{} has two quantities of one name: {at_first:?}",
            entry.name
        );
        let acks = [Event::Ack { acked: 2, rtt_us: Some(10_000), span_ns: 10_000_000 }; 20];
        let loss = [Event::Congestion(Cause::Loss), Event::Repaired];
        for event in acks.into_iter().chain(loss).chain(acks) {
            sender.handle(event);
            assert_eq!(
                quantities(&sender),
                at_first,
                "{} has changed the names of its quantities",
                entry.name
            );
        }
    }
}

fn quantities(sender: &Sender) -> Vec<&'static str> {
    let mut names = Vec::new();
    sender.cc.internals(&mut |quantity, _| names.push(quantity));
    names
}
