//! Example cases of draft-ietf-ccwg-bbr-06, appendix A, that apply to version 1.

use super::*;
use crate::Time;
use crate::tcp::RateSample;

const RTT_US: u32 = 100_000;

/// A flow whose path delivers as a test specifies, with one ACK per round trip.
struct Fixture {
    bbr: Bbr,
    flow: Flow,
    control: Control,
}

impl Fixture {
    fn new() -> Fixture {
        let mut flow = Flow::new(1000, 1448);
        flow.rtt.update(RTT_US, 0, 0);
        flow.rtt.update_min(RTT_US, flow.now);
        flow.delivered = 1;
        let mut fixture = Fixture { bbr: Bbr::new(7), flow, control: Control::default() };
        fixture.bbr.on_start(&fixture.flow, &mut fixture.control);
        fixture
    }

    /// A flow in steady state at 1000 packets per round trip: 10 packets/ms.
    fn steady() -> Fixture {
        let mut fixture = Fixture::new();
        for delivered in [10, 30, 80, 250, 1000, 1000, 1000, 1000, 1000] {
            fixture.round(delivered);
        }
        assert_eq!(fixture.bbr.phase, Phase::ProbeBw);
        fixture
    }

    /// Processes one ACK, a round trip later, for `delivered` packets sent after the previous ACK.
    fn round(&mut self, delivered: u32) {
        self.ack(Ack { delivered, rtt_us: Some(RTT_US), ..Ack::default() });
    }

    fn ack(&mut self, ack: Ack) {
        let prior_delivered = self.flow.delivered;
        self.flow.now += Time::from_us(RTT_US.into());
        self.flow.delivered_at_us = self.flow.now.us();
        self.flow.delivered += ack.delivered;
        self.flow.lost += ack.lost;
        let rate = RateSample {
            delivered: Some(ack.delivered),
            interval_us: RTT_US.into(),
            prior_delivered,
            limit: if self.flow.limit == Limit::Application { self.flow.limit } else { ack.rate.limit },
            prior_in_flight: self.flow.in_flight(),
            ..RateSample::default()
        };
        self.flow.limit = Limit::Network;
        self.bbr.on_ack(&Ack { rate, ..ack }, &self.flow, &mut self.control);
        if self.control.take_application_limit() {
            self.flow.limit = Limit::Application;
        }
    }

    /// Processes a round trip of ten ACKs, each for 100 packets.
    fn smooth_round(&mut self) {
        for _ in 0..10 {
            self.flow.now += Time::from_us(u64::from(RTT_US) / 10);
            self.flow.delivered_at_us = self.flow.now.us();
            self.flow.delivered += 100;
            let rate = RateSample {
                delivered: Some(1000),
                interval_us: RTT_US.into(),
                prior_delivered: self.flow.delivered - 1000,
                ..RateSample::default()
            };
            let ack = Ack { delivered: 100, rtt_us: Some(RTT_US), rate, ..Ack::default() };
            self.bbr.on_ack(&ack, &self.flow, &mut self.control);
        }
    }

    fn enter(&mut self, next: State) {
        self.bbr.on_state(next, &self.flow, &mut self.control);
        self.flow.state = next;
    }

    fn in_flight(&mut self, packets: u32) {
        self.flow.nxt = self.flow.una + packets;
    }

    fn packets_per_round(&self) -> u32 {
        self.bbr.max_bw.get().packets_in(RTT_US.into()) + 1
    }
}

/// 10 packets in 100 ms are 1677/2²⁴ packets/µs, rounded down. At gain 739/256, less 1 %:
/// 1677/2²⁴ × 10⁶ × 1448 × 2.8867 × 0.99 = 413.6 kB/s.
#[test]
fn the_first_rate_is_the_initial_window_over_the_rtt_at_high_gain() {
    let rate = Fixture::new().control.pacing_bit_per_s.expect("BBR paces") / 8;
    assert_eq!(rate, 413_638);
}

/// A.1: 1000 packets per round trip, then three round trips with a growth below 25 %.
#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    let mut fixture = Fixture::new();
    fixture.in_flight(2000);
    for delivered in [10, 100, 800, 1000, 1100, 1200] {
        fixture.round(delivered);
        assert_eq!(fixture.bbr.phase, Phase::Startup);
    }
    fixture.round(1240);
    assert_eq!(fixture.bbr.phase, Phase::Drain);
    assert!(fixture.control.has_ssthresh());
}

/// A growth from 1000 to 1250 packets per round trip resets the counter.
#[test]
fn a_quarter_more_keeps_startup_going() {
    let mut fixture = Fixture::new();
    fixture.in_flight(2000);
    for delivered in [10, 100, 1000, 1100, 1200, 1260, 1300, 1300] {
        fixture.round(delivered);
    }
    assert_eq!(fixture.bbr.phase, Phase::Startup);
}

/// A.7: samples limited by the application do not count.
#[test]
fn startup_does_not_end_while_the_application_limits() {
    let mut fixture = Fixture::new();
    fixture.round(10);
    let rate = RateSample { limit: Limit::Application, ..RateSample::default() };
    for _ in 0..20 {
        fixture.ack(Ack { delivered: 10, rtt_us: Some(RTT_US), rate, ..Ack::default() });
    }
    assert_eq!(fixture.bbr.phase, Phase::Startup);
}

/// A.3: drain ends at the BDP of 1000 packets plus three bursts: at gain 2.887, 14.48 MB/s are 41 kB/ms, 25
/// packets per burst.
#[test]
fn drain_ends_when_the_data_in_flight_is_one_bdp() {
    let mut fixture = Fixture::new();
    fixture.in_flight(2000);
    for delivered in [10, 30, 80, 250, 1000, 1000, 1000, 1000] {
        fixture.round(delivered);
    }
    assert_eq!(fixture.bbr.phase, Phase::Drain);
    assert_eq!(fixture.bbr.pacing_gain, DRAIN_GAIN);
    fixture.in_flight(1200);
    fixture.round(1000);
    assert_eq!(fixture.bbr.phase, Phase::Drain);
    fixture.in_flight(1000);
    fixture.round(1000);
    assert_eq!(fixture.bbr.phase, Phase::ProbeBw);
}

/// A cycle has the gains 1.25, 0.75 and six times 1, and never starts with the draining phase.
#[test]
fn a_cycle_probes_once_drains_once_and_cruises_six_times() {
    let mut starts = [0; 8];
    for seed in 0..200 {
        let mut fixture = Fixture { bbr: Bbr::new(seed), ..Fixture::new() };
        fixture.bbr.enter(Phase::Drain);
        fixture.bbr.enter_probe_bw(&fixture.flow);
        starts[usize::from(fixture.bbr.cycle.index)] += 1;
        let mut gains: Vec<_> = (0..8)
            .map(|_| {
                fixture.bbr.cycle.advance(&fixture.flow);
                fixture.bbr.cycle.gain().0
            })
            .collect();
        gains.sort_unstable();
        assert_eq!(gains, [192, 256, 256, 256, 256, 256, 256, 320]);
    }
    assert_eq!(starts[1], 0);
    assert!(starts.iter().filter(|&&count| count > 10).count() == 7, "{starts:?}");
}

/// A.5, A.8: a probe ends after one RTT with 1.25 BDP in flight; the draining phase ends as soon as one BDP
/// is in flight.
#[test]
fn a_probe_lasts_until_a_quarter_more_is_in_flight() {
    let mut fixture = Fixture::steady();
    fixture.bbr.cycle.index = 0;
    fixture.bbr.cycle.began_us = fixture.flow.now.us();
    fixture.bbr.update_gains();
    fixture.in_flight(1000);
    fixture.round(1000);
    fixture.round(1000);
    assert_eq!(fixture.bbr.cycle.index, 0);
    fixture.in_flight(1400);
    fixture.round(1000);
    assert_eq!(fixture.bbr.cycle.index, 1);
    fixture.in_flight(900);
    fixture.round(1000);
    assert_eq!(fixture.bbr.cycle.index, 2);
}

/// A.6: a loss ends the probe.
#[test]
fn a_loss_ends_a_probe_after_one_rtt() {
    let mut fixture = Fixture::steady();
    fixture.bbr.cycle.index = 0;
    fixture.bbr.cycle.began_us = fixture.flow.now.us();
    fixture.bbr.update_gains();
    fixture.in_flight(1000);
    fixture.round(1000);
    fixture.ack(Ack { delivered: 1000, lost: 1, rtt_us: Some(RTT_US), ..Ack::default() });
    assert_eq!(fixture.bbr.cycle.index, 1);
}

/// A.10: the window is 4 packets for at least 200 ms and a round trip, and is then restored.
#[test]
fn every_ten_seconds_the_window_falls_to_four_packets_for_200_ms() {
    let mut fixture = Fixture::steady();
    // RTTs 0.1 ms above the smallest RTT, for ten seconds.
    while fixture.bbr.phase == Phase::ProbeBw {
        fixture.ack(Ack { delivered: 1000, rtt_us: Some(RTT_US + 100), ..Ack::default() });
    }
    assert!(fixture.flow.now > Time::from_secs(10) && fixture.flow.now < Time::from_ms(10_300));
    assert_eq!((fixture.control.cwnd, fixture.flow.limit), (CWND_MIN, Limit::Application));
    fixture.in_flight(4);
    let began = fixture.flow.now;
    while fixture.bbr.phase == Phase::ProbeRtt {
        assert_eq!(fixture.control.cwnd, CWND_MIN);
        fixture.round(4);
    }
    let lasted = fixture.flow.now.since(began);
    assert!(lasted > Time::from_ms(200) && lasted <= Time::from_ms(400), "{lasted}");
    assert!(fixture.control.cwnd > 2000, "{}", fixture.control.cwnd);
}

/// A.11: the queue of an idle flow is empty, so that its next RTT is a valid sample.
#[test]
fn idle_time_replaces_an_rtt_probe() {
    let mut fixture = Fixture::steady();
    fixture.flow.now += Time::from_secs(11);
    fixture.flow.limit = Limit::Application;
    fixture.bbr.on_tx_start(&fixture.flow, &mut fixture.control);
    fixture.round(10);
    assert_eq!(fixture.bbr.phase, Phase::ProbeBw);
}

/// 5.4.1 of the draft: the flow restarts at the bandwidth, less 1 %: 1000 × 1448 × 10 × 0.99 = 14.34 MB/s.
#[test]
fn after_idle_time_the_flow_sends_at_the_bandwidth() {
    let mut fixture = Fixture::steady();
    fixture.flow.limit = Limit::Application;
    fixture.bbr.cycle.index = 0;
    fixture.bbr.on_tx_start(&fixture.flow, &mut fixture.control);
    let rate = fixture.control.pacing_bit_per_s.expect("BBR paces") / 8;
    assert!((14_330_000..14_336_000).contains(&rate), "{rate} bytes/s");
}

/// A.13: 1000 packets are acknowledged at once per round trip, and the allowance covers 100 ms of silence:
/// 999 packets in addition to the 2000 of the gain. With ACKs for 100 packets each, the allowance is about
/// 100.
#[test]
fn ack_aggregation_enlarges_the_window() {
    let mut fixture = Fixture::steady();
    (0..6).for_each(|_| fixture.round(1000));
    assert_eq!(fixture.bbr.aggregation_allowance(), 999);
    assert!((2999..=3040).contains(&fixture.control.cwnd), "{}", fixture.control.cwnd);
    // ACKs fall behind the bandwidth: the burst is over.
    fixture.flow.now += Time::from_ms(200);
    (0..12).for_each(|_| fixture.smooth_round());
    let allowance = fixture.bbr.aggregation_allowance();
    assert!((100..=120).contains(&allowance), "{allowance}");
    assert!((2100..=2160).contains(&fixture.control.cwnd), "{}", fixture.control.cwnd);
}

/// A.14: one packet per 10 s and an RTT of 100 ms: the BDP is 0.01 packets.
#[test]
fn the_window_is_four_packets_if_the_bdp_is_below_one() {
    let mut fixture = Fixture::new();
    fixture.bbr.full_pipe.reached = true;
    fixture.bbr.policer.reset(&fixture.flow);
    fixture.bbr.max_bw = WindowedMax::new(Bandwidth::new(1, 10_000_000), 0);
    fixture.bbr.pacing.bytes_per_s = 140;
    for _ in 0..40 {
        fixture.flow.now += Time::from_secs(1);
        let rate = RateSample { delivered: Some(1), interval_us: 10_000_000, ..RateSample::default() };
        let ack = Ack { delivered: 1, rtt_us: Some(RTT_US), rate, ..Ack::default() };
        fixture.bbr.on_ack(&ack, &fixture.flow, &mut fixture.control);
        assert!(fixture.control.cwnd >= CWND_MIN);
    }
    // 2 × 0.01 rounded up, plus the aggregation allowance, plus three bursts of one packet, rounded up to
    // even.
    assert!(fixture.control.cwnd <= 10, "{}", fixture.control.cwnd);
}

/// A.15: each probe finds up to 25 % more bandwidth, so that a tenfold bandwidth takes ln 10 / ln 1.25 = 10.3
/// probes, at most one per eight round trips.
#[test]
fn ten_times_the_bandwidth_is_found_by_probing() {
    let mut fixture = Fixture::steady();
    let mut rounds = 0;
    while fixture.packets_per_round() < 10_000 {
        let sent = fixture.control.pacing_bit_per_s.expect("BBR paces") / 8 / 1448 / 10;
        fixture.in_flight(u32::try_from(sent).expect("small"));
        fixture.round(u32::try_from(sent).expect("small").min(10_000));
        rounds += 1;
    }
    assert!((11..=100).contains(&rounds), "{rounds} round trips");
}

/// A.16: the maximum filter forgets the old bandwidth.
#[test]
fn a_tenth_of_the_bandwidth_is_found_after_ten_rounds() {
    let mut fixture = Fixture::steady();
    for _ in 0..9 {
        fixture.round(100);
    }
    assert_eq!(fixture.packets_per_round(), 1000);
    fixture.round(100);
    fixture.round(100);
    assert_eq!(fixture.packets_per_round(), 100);
}

/// A.17: two intervals of at least four round trips, each with 600 delivered packets per round trip and a
/// loss above 20 %.
#[test]
fn a_policer_is_detected_and_forgotten_after_48_rounds() {
    let mut fixture = Fixture::steady();
    let mut rounds = 0;
    while fixture.bbr.policer.bandwidth().is_none() {
        fixture.ack(Ack { delivered: 600, lost: 200, rtt_us: Some(RTT_US), ..Ack::default() });
        rounds += 1;
        assert!(rounds <= 10, "no policer was detected");
    }
    let policed = fixture.bbr.bandwidth().packets_in(RTT_US.into());
    assert!((598..=600).contains(&policed), "{policed} packets a round trip");
    assert_eq!(fixture.bbr.pacing_gain, Gain::ONE);
    let mut rounds = 0;
    while fixture.bbr.policer.bandwidth().is_some() {
        fixture.round(600);
        rounds += 1;
    }
    assert_eq!(rounds, 48);
}

/// One lost packet in ten is below the threshold.
#[test]
fn losses_below_a_fifth_do_not_indicate_a_policer() {
    let mut fixture = Fixture::steady();
    for _ in 0..40 {
        fixture.ack(Ack { delivered: 600, lost: 60, rtt_us: Some(RTT_US), ..Ack::default() });
    }
    assert_eq!(fixture.bbr.policer.bandwidth(), None);
}

/// 900 packets are in flight after the loss; for a round trip, each delivered packet permits one new packet.
#[test]
fn the_first_round_of_recovery_conserves_packets() {
    let mut fixture = Fixture::steady();
    let before = fixture.control.cwnd;
    fixture.in_flight(900);
    fixture.control.ssthresh = fixture.bbr.on_congestion(Cause::Loss, &fixture.flow, &fixture.control);
    fixture.enter(State::Recovery);
    fixture.ack(Ack { delivered: 2, lost: 1, rtt_us: Some(RTT_US), ..Ack::default() });
    assert_eq!(fixture.control.cwnd, 902);
    fixture.enter(State::Open);
    fixture.round(2);
    assert!(fixture.control.cwnd >= before.min(2000), "{before} → {}", fixture.control.cwnd);
}

/// A.18: the burst allowance, up to 12 packets per burst, follows the rate.
#[test]
fn an_undo_restores_the_window() {
    let mut fixture = Fixture::steady();
    fixture.round(1000);
    let before = fixture.control.cwnd;
    fixture.in_flight(900);
    fixture.control.ssthresh = fixture.bbr.on_congestion(Cause::Loss, &fixture.flow, &fixture.control);
    fixture.enter(State::Recovery);
    fixture.ack(Ack { delivered: 2, lost: 1, rtt_us: Some(RTT_US), ..Ack::default() });
    fixture.control.cwnd = fixture.bbr.on_undo(&fixture.flow, &fixture.control);
    assert_eq!(fixture.bbr.full_pipe.rounds, 0);
    fixture.enter(State::Open);
    fixture.round(2);
    assert!(fixture.control.cwnd.abs_diff(before) <= 3 * 12, "{before} → {}", fixture.control.cwnd);
}

/// A.19: the sender reduces the window to one packet; the first ACK after the spurious timeout restores it.
#[test]
fn a_spurious_timeout_restores_the_window() {
    let mut fixture = Fixture::steady();
    fixture.round(1000);
    let before = fixture.control.cwnd;
    fixture.control.ssthresh = fixture.bbr.on_congestion(Cause::Timeout, &fixture.flow, &fixture.control);
    fixture.control.cwnd = 1;
    fixture.enter(State::Loss);
    fixture.control.cwnd = fixture.bbr.on_undo(&fixture.flow, &fixture.control);
    assert_eq!(fixture.control.cwnd, 1);
    fixture.enter(State::Open);
    fixture.round(2);
    assert!(fixture.control.cwnd.abs_diff(before) <= 3 * 12, "{before} → {}", fixture.control.cwnd);
}

/// A.20: an RTT probe before the pipe was full.
#[test]
fn an_rtt_probe_in_startup_returns_to_startup() {
    let mut fixture = Fixture::new();
    fixture.round(10);
    fixture.in_flight(4);
    fixture.flow.now += Time::from_secs(11);
    let mut phases = Vec::new();
    for _ in 0..5 {
        fixture.round(4);
        phases.push(fixture.bbr.phase);
    }
    assert_eq!(phases[0], Phase::ProbeRtt);
    assert_eq!(phases[4], Phase::Startup);
}

/// The permitted successors of each phase.
#[test]
fn phases_follow_each_other_as_in_the_draft() {
    let phases = [Phase::Startup, Phase::Drain, Phase::ProbeBw, Phase::ProbeRtt];
    let found: Vec<String> = phases
        .iter()
        .map(|&phase| {
            let next = phases.iter().filter(|&&next| phase.may_precede(next));
            format!("{phase:?}: {:?}", next.collect::<Vec<_>>())
        })
        .collect();
    let expected = [
        "Startup: [Drain, ProbeRtt]",
        "Drain: [ProbeBw, ProbeRtt]",
        "ProbeBw: [ProbeBw, ProbeRtt]",
        "ProbeRtt: [Startup, ProbeBw]",
    ];
    assert_eq!(found, expected);
}

#[test]
#[should_panic(expected = "ProbeBw must not follow Startup")]
fn a_forbidden_change_of_phase_panics() {
    Fixture::new().bbr.enter(Phase::ProbeBw);
}
