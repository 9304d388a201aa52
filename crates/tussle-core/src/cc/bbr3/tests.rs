//! Example cases of draft-ietf-ccwg-bbr-06, appendix A; those that need a network are in
//! `tests/behaviour_model_based.rs`.

use super::congestion::Interrupted;
use super::probe_bw::AckPhase;
use super::*;
use crate::Time;
use crate::tcp::RateSample;

const RTT_US: u32 = 100_000;

/// A flow whose path delivers as a test specifies, with one ACK per round trip.
struct Fixture {
    bbr: Bbr3,
    flow: Flow,
    control: Control,
    limit: Limit,
    rtt_us: u32,
}

impl Fixture {
    fn new() -> Fixture {
        let mut flow = Flow::new(1000, 1448);
        flow.rtt.update(RTT_US, 0, 0);
        flow.delivered = 1;
        let (bbr, control) = (Bbr3::new(7), Control::default());
        let mut fixture = Fixture { bbr, flow, control, limit: Limit::Network, rtt_us: RTT_US };
        fixture.bbr.on_start(&fixture.flow, &mut fixture.control);
        fixture
    }

    /// A flow in drain, at 1000 packets per round trip.
    fn draining() -> Fixture {
        let mut fixture = Fixture::new();
        fixture.in_flight(2000);
        for delivered in [10, 30, 80, 250, 1000, 1000, 1000, 1000] {
            fixture.round(delivered);
        }
        assert_eq!(fixture.bbr.phase, Phase::Drain);
        fixture
    }

    /// A flow in `phase` of the first cycle.
    fn at(phase: Phase) -> Fixture {
        let mut fixture = Fixture::draining();
        let mut rounds = 0;
        while fixture.bbr.phase != phase {
            fixture.in_flight(if fixture.bbr.phase == Phase::Drain { 900 } else { 1000 });
            fixture.round(1000);
            rounds += 1;
            assert!(rounds < 70, "{phase:?} is not reached");
        }
        // The smallest RTT was measured just now.
        fixture.bbr.rtt.start(&fixture.flow);
        fixture
    }

    fn in_flight(&mut self, packets: u32) {
        self.flow.nxt = self.flow.una + packets;
    }

    fn round(&mut self, delivered: u32) {
        self.round_with_loss(delivered, 0);
    }

    /// Processes one ACK, a round trip later, for `delivered` packets sent after the previous ACK. The sample
    /// has `lost` lost packets, and `delivered` plus `lost` in flight.
    fn round_with_loss(&mut self, delivered: u32, lost: u32) {
        let prior_delivered = self.flow.delivered;
        self.flow.now += Time::from_us(RTT_US.into());
        self.flow.delivered_at_us = self.flow.now.us();
        self.flow.delivered += delivered;
        let rate = RateSample {
            delivered: Some(delivered),
            interval_us: RTT_US.into(),
            prior_delivered,
            prior_in_flight: self.flow.in_flight(),
            tx_in_flight: self.flow.in_flight(),
            lost,
            limit: self.limit,
        };
        let ack = Ack { delivered, lost, rtt_us: Some(self.rtt_us), rate, ..Ack::default() };
        self.bbr.on_ack(&ack, &self.flow, &mut self.control);
    }

    /// Loses `count` packets of `in_flight`, every `step`-th.
    fn lose(&mut self, count: u32, step: u32, in_flight: u32) {
        for nth in 0..count {
            let limit = self.limit;
            let lost = Lost { number: 10_000 + nth * step, in_flight, lost: nth + 1, limit };
            self.bbr.on_lost(&lost, &self.flow, &mut self.control);
        }
    }

    fn enter(&mut self, next: State) {
        self.bbr.on_state(next, &self.flow, &mut self.control);
        self.flow.state = next;
    }

    fn max_bw_packets(&self) -> u32 {
        self.bbr.max_bw().window(RTT_US.into(), Gain::ONE)
    }
}

/// A.1
#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    let mut fixture = Fixture::new();
    fixture.in_flight(2000);
    for delivered in [10, 100, 800, 1000, 1000, 1010] {
        fixture.round(delivered);
        assert_eq!(fixture.bbr.phase, Phase::Startup);
        assert!(!fixture.bbr.full_pipe.reached);
    }
    fixture.round(1020);
    assert_eq!((fixture.bbr.phase, fixture.bbr.full_pipe.now), (Phase::Drain, true));
    assert_eq!(fixture.max_bw_packets(), 1020);
}

/// A.2: 30 of 1000 packets are lost, in 30 ranges, in a round trip of recovery. The long-term bound is the
/// delivered volume.
#[test]
fn startup_ends_on_loss_even_if_the_application_limits() {
    let mut fixture = Fixture::new();
    fixture.limit = Limit::Application;
    fixture.in_flight(1000);
    fixture.round(900);
    fixture.lose(30, 2, 1000);
    fixture.enter(State::Recovery);
    fixture.round_with_loss(970, 30);
    assert_eq!(fixture.bbr.phase, Phase::Drain);
    assert!(fixture.bbr.full_pipe.reached);
    assert_eq!(fixture.bbr.long_term.inflight, 970);
}

/// Neither 3 % in one range nor 2 % in 20 ranges ends startup.
#[test]
fn startup_continues_after_one_burst_of_losses_or_few_losses() {
    for (count, step) in [(30, 1), (20, 2)] {
        let mut fixture = Fixture::new();
        fixture.in_flight(1000);
        fixture.round(900);
        fixture.lose(count, step, 1000);
        fixture.enter(State::Recovery);
        fixture.round_with_loss(970, count);
        assert_eq!(fixture.bbr.phase, Phase::Startup, "{count} losses, every {step}");
    }
}

/// A.3: drain paces at half the rate until the data in flight is at most the BDP of 1000 packets.
#[test]
fn drain_ends_when_the_data_in_flight_is_one_bdp() {
    let mut fixture = Fixture::draining();
    assert_eq!(fixture.bbr.phase.gains().0, Gain(128));
    fixture.in_flight(1001);
    fixture.round(1000);
    assert_eq!(fixture.bbr.phase, Phase::Drain);
    fixture.in_flight(1000);
    fixture.round(1000);
    assert_eq!(fixture.bbr.phase, Phase::Cruise, "the down phase ends at once");
}

/// A.4
#[test]
fn drain_ends_after_three_rounds() {
    let mut fixture = Fixture::draining();
    for _ in 0..3 {
        fixture.in_flight(1800);
        fixture.round(900);
        assert_eq!(fixture.bbr.phase, Phase::Drain);
    }
    fixture.round(900);
    assert_eq!(fixture.bbr.phase, Phase::Down);
}

/// A.5
#[test]
fn a_probe_ends_after_three_rounds_without_a_quarter_more() {
    let mut fixture = Fixture::at(Phase::Up);
    for _ in 0..2 {
        fixture.round(1100);
        assert_eq!(fixture.bbr.phase, Phase::Up);
    }
    fixture.round(1100);
    assert_eq!(fixture.bbr.phase, Phase::Down);
}

/// A.6: the 26th loss of 1250 packets exceeds 2 %: 0.02 × 1250 = 25. Before it, 1249 packets were in flight
/// and 25 were lost: the prefix is (0.02 × 1249 - 25) / 0.98 < 0, so that the bound is 1249.
#[test]
fn a_probe_ends_on_loss_and_the_bound_is_the_data_in_flight() {
    let mut fixture = Fixture::at(Phase::Up);
    fixture.lose(25, 1, 1250);
    assert_eq!(fixture.bbr.phase, Phase::Up);
    fixture.lose(26, 1, 1250);
    assert_eq!(fixture.bbr.phase, Phase::Down);
    assert_eq!(fixture.bbr.long_term.inflight, 1249);
    assert!(fixture.bbr.long_term.was_too_high);
}

/// A.6: a sample that the application limits sets no bound.
#[test]
fn a_probe_that_the_application_limits_ends_on_loss_without_a_bound() {
    let mut fixture = Fixture::at(Phase::Up);
    fixture.limit = Limit::Application;
    fixture.lose(26, 1, 1250);
    assert_eq!((fixture.bbr.phase, fixture.bbr.long_term.inflight), (Phase::Down, UNBOUNDED));
}

/// A.7
#[test]
fn neither_startup_nor_a_probe_ends_while_the_application_limits() {
    for phase in [Phase::Startup, Phase::Up] {
        let mut fixture = if phase == Phase::Up { Fixture::at(phase) } else { Fixture::new() };
        fixture.limit = Limit::Application;
        for _ in 0..30 {
            fixture.round(10);
            assert_eq!(fixture.bbr.phase, phase);
        }
    }
}

/// A.8: down paces at 0.9 of the rate until the data in flight is at most the BDP of 1000 packets, and at
/// most 85 % of the bound of 1100: 935.
#[test]
fn down_ends_when_the_queue_is_empty_and_headroom_is_free() {
    let mut fixture = Fixture::at(Phase::Down);
    assert_eq!(fixture.bbr.phase.gains().0, Gain(230));
    fixture.bbr.long_term.inflight = 1100;
    fixture.in_flight(990);
    fixture.round(1000);
    assert_eq!(fixture.bbr.phase, Phase::Down);
    fixture.in_flight(935);
    fixture.round(1000);
    assert_eq!(fixture.bbr.phase, Phase::Cruise);
}

/// A.9: the next probe follows after two to three seconds.
#[test]
fn down_ends_with_a_probe_when_the_queue_does_not_empty() {
    let mut fixture = Fixture::at(Phase::Down);
    let began = fixture.flow.now;
    while fixture.bbr.phase == Phase::Down {
        fixture.in_flight(1500);
        fixture.round(900);
    }
    assert_eq!(fixture.bbr.phase, Phase::Refill);
    let lasted = fixture.flow.now.since(began);
    assert!(lasted > Time::from_secs(2) && lasted <= Time::from_ms(3100), "{lasted}");
}

/// Reno needs 20 round trips for a BDP of 20 packets; the random wait may shorten them by one.
#[test]
fn a_path_with_a_small_bdp_is_probed_as_often_as_by_reno() {
    let mut fixture = Fixture::at(Phase::Cruise);
    fixture.bbr.cycle.wait_us = u64::MAX / 2;
    fixture.bbr.max_bw = [Bandwidth::ZERO, Bandwidth::new(20, RTT_US.into())];
    let mut rounds = 0;
    while fixture.bbr.phase == Phase::Cruise {
        fixture.in_flight(20);
        fixture.round(20);
        rounds += 1;
    }
    assert!((17..=20).contains(&rounds), "{rounds} round trips");
}

/// A.10: 5 s after the last smaller RTT, the window is half of the BDP of 1000 packets for 200 ms.
#[test]
fn every_five_seconds_the_window_is_half_of_the_bdp_for_200_ms() {
    let mut fixture = Fixture::at(Phase::Cruise);
    // All further RTTs are above the smallest one.
    fixture.rtt_us = RTT_US + 100;
    let began = fixture.flow.now + Time::from_us(u64::from(RTT_US));
    while fixture.bbr.phase != Phase::ProbeRtt {
        fixture.in_flight(1000);
        fixture.round(1000);
    }
    let waited = fixture.flow.now.since(began);
    assert!(waited > Time::from_secs(5) && waited <= Time::from_ms(5200), "{waited}");
    assert!((500..=501).contains(&fixture.control.cwnd), "{}", fixture.control.cwnd);
    assert!(fixture.control.take_application_limit());
    fixture.in_flight(500);
    let began = fixture.flow.now;
    while fixture.bbr.phase == Phase::ProbeRtt {
        fixture.round(500);
    }
    let lasted = fixture.flow.now.since(began);
    assert!(lasted > Time::from_ms(200) && lasted <= Time::from_ms(400), "{lasted}");
    assert_eq!(fixture.bbr.phase, Phase::Cruise);
    assert!(fixture.control.cwnd > 1000);
}

/// A.11
#[test]
fn idle_time_replaces_an_rtt_probe() {
    let mut fixture = Fixture::at(Phase::Cruise);
    fixture.flow.now += Time::from_secs(6);
    fixture.flow.limit = Limit::Application;
    fixture.bbr.on_tx_start(&fixture.flow, &mut fixture.control);
    assert!(fixture.bbr.idle_restart);
    fixture.round(10);
    assert_ne!(fixture.bbr.phase, Phase::ProbeRtt);
    assert!(!fixture.bbr.idle_restart);
}

/// A.12, A.13: 1000 packets are acknowledged at once in each round trip: the window is 2 BDP and the excess
/// of the bursts.
#[test]
fn ack_aggregation_enlarges_the_window() {
    let mut fixture = Fixture::at(Phase::Cruise);
    fixture.in_flight(1000);
    (0..10).for_each(|_| fixture.round(1000));
    assert!(fixture.bbr.aggregation.extra_acked() >= 1000);
    assert!(fixture.control.cwnd > 2 * 1000, "{}", fixture.control.cwnd);
}

/// A.14: one packet per 10 s and an RTT of 100 ms: the BDP is 0.01 packets.
#[test]
fn the_window_is_four_packets_if_the_bdp_is_below_one() {
    let mut fixture = Fixture::new();
    fixture.bbr.full_pipe.reached = true;
    fixture.bbr.phase = Phase::Cruise;
    fixture.bbr.max_bw = [Bandwidth::new(1, 10_000_000); 2];
    for _ in 0..10 {
        fixture.flow.now += Time::from_secs(10);
        fixture.bbr.rtt.start(&fixture.flow);
        let rate = RateSample { delivered: Some(1), interval_us: 10_000_000, ..RateSample::default() };
        let ack = Ack { delivered: 1, rtt_us: Some(RTT_US), rate, ..Ack::default() };
        fixture.bbr.on_ack(&ack, &fixture.flow, &mut fixture.control);
        assert!((4..=10).contains(&fixture.control.cwnd), "{}", fixture.control.cwnd);
    }
    // 0.1 packets/s of 1448 bytes.
    assert!(fixture.bbr.pacing_bytes_per_s <= 1448 / 10 * 5 / 4);
}

/// A.15
#[test]
fn a_bound_that_is_reached_is_raised_twice_as_fast_each_round() {
    let mut fixture = Fixture::at(Phase::Up);
    fixture.bbr.long_term.inflight = 1000;
    fixture.control.cwnd = 1000;
    fixture.flow.usage = crate::tcp::WindowUse::limited();
    fixture.bbr.long_term.begin_probe();
    fixture.bbr.long_term.steepen(1000);
    let mut raised = Vec::new();
    for _ in 0..5 {
        let before = fixture.bbr.long_term.inflight;
        // With one ACK per round trip, that ACK must find the window at the bound.
        fixture.bbr.full_pipe.reset(Bandwidth::ZERO);
        fixture.in_flight(before);
        fixture.control.cwnd = before;
        fixture.round(before);
        raised.push(fixture.bbr.long_term.inflight - before);
    }
    assert_eq!(raised, [1, 2, 4, 8, 16]);
}

/// A.16: a round trip with losses reduces the rate to 0.7, or to the delivered rate if that is higher; two
/// cycles later the old rate is forgotten.
#[test]
fn losses_adapt_to_a_tenth_of_the_bandwidth_before_the_filter_does() {
    let mut fixture = Fixture::at(Phase::Cruise);
    fixture.lose(1, 1, 1000);
    fixture.round_with_loss(100, 1);
    fixture.lose(1, 1, 1000);
    fixture.round_with_loss(100, 1);
    let bound = fixture.bbr.congestion.bw_bound.window(RTT_US.into(), Gain::ONE);
    assert!((690..=700).contains(&bound), "{bound}");
    let mut cycles = 0;
    while fixture.max_bw_packets() > 200 {
        let was_up = fixture.bbr.phase == Phase::Up;
        fixture.in_flight(100);
        fixture.round(100);
        cycles += u32::from(was_up && fixture.bbr.phase == Phase::Down);
        assert!(cycles <= 3);
    }
    assert!(cycles <= 2, "{cycles} cycles");
}

/// A.17: after round trips with losses that deliver 800 of 1000 packets, rate and window are 800 packets per
/// round trip.
#[test]
fn losses_between_probes_bound_rate_and_window_by_delivery() {
    let mut fixture = Fixture::at(Phase::Cruise);
    fixture.bbr.cycle.wait_us = u64::MAX / 2;
    for _ in 0..8 {
        fixture.lose(1, 1, 1000);
        fixture.in_flight(800);
        fixture.round_with_loss(800, 1);
    }
    assert_eq!(fixture.bbr.congestion.inflight_bound, 800);
    assert_eq!(fixture.bbr.bw.window(RTT_US.into(), Gain::ONE), 800);
    assert_eq!(fixture.control.cwnd, 800);
}

/// A.18: a probe that ended by a spurious loss detection restarts, without the bound set by the loss.
#[test]
fn a_spurious_loss_detection_resumes_the_probe() {
    let mut fixture = Fixture::at(Phase::Up);
    let before = fixture.control.cwnd;
    fixture.lose(30, 1, 1250);
    fixture.control.ssthresh = fixture.bbr.on_congestion(Cause::Loss, &fixture.flow, &fixture.control);
    fixture.enter(State::Recovery);
    assert_eq!((fixture.bbr.phase, fixture.bbr.undo.interrupted), (Phase::Down, Interrupted::Up));
    fixture.round(1000);
    fixture.control.cwnd = fixture.bbr.on_undo(&fixture.flow, &fixture.control);
    assert_eq!(fixture.bbr.phase, Phase::Refill);
    assert_eq!(fixture.bbr.long_term.inflight, UNBOUNDED);
    assert!(fixture.control.cwnd >= before);
}

/// A.19: the sender had reduced the window to one packet.
#[test]
fn a_spurious_timeout_restores_window_and_startup() {
    let mut fixture = Fixture::new();
    fixture.in_flight(1000);
    fixture.round(900);
    let before = fixture.control.cwnd;
    fixture.lose(30, 2, 1000);
    fixture.control.ssthresh = fixture.bbr.on_congestion(Cause::Timeout, &fixture.flow, &fixture.control);
    fixture.control.cwnd = 1;
    fixture.enter(State::Loss);
    fixture.enter(State::Recovery);
    fixture.round_with_loss(970, 30);
    assert_eq!(fixture.bbr.phase, Phase::Drain);
    fixture.control.cwnd = fixture.bbr.on_undo(&fixture.flow, &fixture.control);
    assert_eq!((fixture.bbr.phase, fixture.bbr.full_pipe.reached), (Phase::Startup, false));
    assert!(fixture.control.cwnd >= before);
}

/// A.20
#[test]
fn an_rtt_probe_in_startup_returns_to_startup() {
    let mut fixture = Fixture::new();
    fixture.round(10);
    fixture.limit = Limit::Application;
    fixture.in_flight(4);
    fixture.flow.now += Time::from_secs(6);
    let mut phases = Vec::new();
    for _ in 0..5 {
        fixture.round(4);
        phases.push(fixture.bbr.phase);
    }
    assert_eq!((phases[0], phases[4]), (Phase::ProbeRtt, Phase::Startup));
}

/// A.21: after losses with 600 packets in flight the bound is 0.7 of the BDP of 1000 packets.
#[test]
fn a_bound_is_at_least_seven_tenths_of_the_bdp() {
    let mut fixture = Fixture::at(Phase::Up);
    fixture.bbr.long_term.inflight = 1500;
    fixture.control.cwnd = 1500;
    fixture.lose(13, 1, 600);
    assert_eq!((fixture.bbr.phase, fixture.bbr.long_term.inflight), (Phase::Down, 700));
}

/// 5.3.3.6: after a probe that went too high, the next one stops as soon as the bound is reached; without
/// excess loss, a full probe follows at once.
#[test]
fn the_probe_after_one_that_went_too_high_is_precautionary() {
    let mut fixture = Fixture::at(Phase::Up);
    fixture.lose(30, 1, 1250);
    let bound = fixture.bbr.long_term.inflight;
    while fixture.bbr.phase != Phase::Up {
        fixture.in_flight(900);
        fixture.round(1000);
    }
    fixture.in_flight(bound);
    fixture.round(1000);
    assert_eq!(fixture.bbr.phase, Phase::Down);
    assert!(fixture.bbr.long_term.was_precautionary && !fixture.bbr.long_term.was_too_high);
    fixture.round(1000);
    assert_eq!(fixture.bbr.phase, Phase::Refill);
}

/// A.22
#[test]
fn refill_that_the_application_limits_keeps_the_bandwidth_and_probes() {
    let mut fixture = Fixture::at(Phase::Refill);
    fixture.limit = Limit::Application;
    fixture.round(10);
    assert_eq!((fixture.bbr.phase, fixture.max_bw_packets()), (Phase::Up, 1000));
    assert_eq!(fixture.bbr.cycle.acks, AckPhase::ProbeStarting);
}

/// The permitted successors of each phase.
#[test]
fn phases_follow_each_other_as_in_the_draft() {
    let phases =
        [Phase::Startup, Phase::Drain, Phase::Down, Phase::Cruise, Phase::Refill, Phase::Up, Phase::ProbeRtt];
    let found: Vec<String> = phases
        .iter()
        .map(|&phase| {
            let next = phases.iter().filter(|&&next| phase.may_precede(next));
            format!("{phase:?}: {:?}", next.collect::<Vec<_>>())
        })
        .collect();
    let expected = [
        "Startup: [Drain, ProbeRtt]",
        "Drain: [Startup, Down, ProbeRtt]",
        "Down: [Startup, Cruise, Refill, ProbeRtt]",
        "Cruise: [Startup, Refill, ProbeRtt]",
        "Refill: [Startup, Refill, Up, ProbeRtt]",
        "Up: [Startup, Down, ProbeRtt]",
        "ProbeRtt: [Startup, Down]",
    ];
    assert_eq!(found, expected);
}

#[test]
#[should_panic(expected = "Up must not follow Startup")]
fn a_forbidden_change_of_phase_panics() {
    Fixture::new().bbr.enter(Phase::Up);
}
