//! Example cases of draft-ietf-ccwg-bbr-06, appendix A, that apply to version 1.

use super::*;
use crate::Time;
use crate::tcp::RateSample;

const RTT_US: u32 = 100_000;

/// A flow whose path delivers as a test specifies, with one ACK per round trip.
struct Story {
    bbr: Bbr,
    flow: Flow,
    control: Control,
}

impl Story {
    fn new() -> Story {
        let mut flow = Flow::new(1000, 1448);
        flow.rtt.update(RTT_US, 0, 0);
        flow.rtt.update_min(RTT_US, flow.now);
        flow.delivered = 1;
        let mut story = Story { bbr: Bbr::new(7), flow, control: Control::default() };
        story.bbr.on_start(&story.flow, &mut story.control);
        story
    }

    /// A flow in steady state at 1000 packets per round trip: 10 packets/ms.
    fn steady() -> Story {
        let mut story = Story::new();
        for delivered in [10, 30, 80, 250, 1000, 1000, 1000, 1000, 1000] {
            story.round(delivered);
        }
        assert_eq!(story.bbr.phase, Phase::ProbeBw);
        story
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
    let rate = Story::new().control.pacing_bit_per_s.expect("BBR paces") / 8;
    assert_eq!(rate, 413_638);
}

/// A.1: 1000, then three rounds of less than 25 % more.
#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    let mut story = Story::new();
    story.in_flight(2000);
    for delivered in [10, 100, 800, 1000, 1100, 1200] {
        story.round(delivered);
        assert_eq!(story.bbr.phase, Phase::Startup);
    }
    story.round(1240);
    assert_eq!(story.bbr.phase, Phase::Drain);
    assert!(story.control.has_ssthresh());
}

/// The counter starts again with 1250 after 1000.
#[test]
fn a_quarter_more_keeps_startup_going() {
    let mut story = Story::new();
    story.in_flight(2000);
    for delivered in [10, 100, 1000, 1100, 1200, 1260, 1300, 1300] {
        story.round(delivered);
    }
    assert_eq!(story.bbr.phase, Phase::Startup);
}

/// A.7: samples limited by the application do not count.
#[test]
fn startup_does_not_end_while_the_application_limits() {
    let mut story = Story::new();
    story.round(10);
    let rate = RateSample { limit: Limit::Application, ..RateSample::default() };
    for _ in 0..20 {
        story.ack(Ack { delivered: 10, rtt_us: Some(RTT_US), rate, ..Ack::default() });
    }
    assert_eq!(story.bbr.phase, Phase::Startup);
}

/// A.3: 1000 packets fit, and room for three bursts of 25: at gain 2.887 14.48 MB/s are 41 kB/ms.
#[test]
fn drain_ends_when_what_is_in_flight_fits_the_path() {
    let mut story = Story::new();
    story.in_flight(2000);
    for delivered in [10, 30, 80, 250, 1000, 1000, 1000, 1000] {
        story.round(delivered);
    }
    assert_eq!(story.bbr.phase, Phase::Drain);
    assert_eq!(story.bbr.pacing_gain, DRAIN_GAIN);
    story.in_flight(1200);
    story.round(1000);
    assert_eq!(story.bbr.phase, Phase::Drain);
    story.in_flight(1000);
    story.round(1000);
    assert_eq!(story.bbr.phase, Phase::ProbeBw);
}

/// Gains 1.25, 0.75, and six times 1: each once in a cycle, and never first the one that drains.
#[test]
fn a_cycle_probes_once_makes_up_once_and_cruises_six_times() {
    let mut starts = [0; 8];
    for seed in 0..200 {
        let mut story = Story { bbr: Bbr::new(seed), ..Story::new() };
        story.bbr.enter_probe_bw(&story.flow);
        starts[usize::from(story.bbr.cycle.index)] += 1;
        let mut gains: Vec<_> = (0..8)
            .map(|_| {
                story.bbr.cycle.advance(&story.flow);
                story.bbr.cycle.gain().0
            })
            .collect();
        gains.sort_unstable();
        assert_eq!(gains, [192, 256, 256, 256, 256, 256, 256, 320]);
    }
    assert_eq!(starts[1], 0);
    assert!(starts.iter().filter(|&&count| count > 10).count() == 7, "{starts:?}");
}

/// A.5, A.8: with a quarter more in flight a probe is over after one RTT; making up is over as soon as what
/// is in flight fits.
#[test]
fn a_probe_lasts_until_a_quarter_more_is_in_flight() {
    let mut story = Story::steady();
    story.bbr.cycle.index = 0;
    story.bbr.cycle.began_us = story.flow.now.us();
    story.bbr.update_gains();
    story.in_flight(1000);
    story.round(1000);
    story.round(1000);
    assert_eq!(story.bbr.cycle.index, 0);
    story.in_flight(1400);
    story.round(1000);
    assert_eq!(story.bbr.cycle.index, 1);
    story.in_flight(900);
    story.round(1000);
    assert_eq!(story.bbr.cycle.index, 2);
}

/// A.6: a loss ends the probe.
#[test]
fn a_loss_ends_a_probe_after_one_rtt() {
    let mut story = Story::steady();
    story.bbr.cycle.index = 0;
    story.bbr.cycle.began_us = story.flow.now.us();
    story.bbr.update_gains();
    story.in_flight(1000);
    story.round(1000);
    story.ack(Ack { delivered: 1000, lost: 1, rtt_us: Some(RTT_US), ..Ack::default() });
    assert_eq!(story.bbr.cycle.index, 1);
}

/// A.10: for at least 200 ms and a round trip 4 packets; then the window of before.
#[test]
fn every_ten_seconds_the_window_falls_to_four_packets_for_200_ms() {
    let mut story = Story::steady();
    // A tenth of a millisecond more than the smallest RTT, for ten seconds.
    while story.bbr.phase == Phase::ProbeBw {
        story.ack(Ack { delivered: 1000, rtt_us: Some(RTT_US + 100), ..Ack::default() });
    }
    assert!(story.flow.now > Time::from_secs(10) && story.flow.now < Time::from_ms(10_300));
    assert_eq!((story.control.cwnd, story.flow.limit), (CWND_MIN, Limit::Application));
    story.in_flight(4);
    let began = story.flow.now;
    while story.bbr.phase == Phase::ProbeRtt {
        assert_eq!(story.control.cwnd, CWND_MIN);
        story.round(4);
    }
    let lasted = story.flow.now.since(began);
    assert!(lasted > Time::from_ms(200) && lasted <= Time::from_ms(400), "{lasted}");
    assert!(story.control.cwnd > 2000, "{}", story.control.cwnd);
}

/// A.11: an idle flow has emptied its queue already.
#[test]
fn a_flow_that_was_idle_need_not_probe_the_rtt() {
    let mut story = Story::steady();
    story.flow.now += Time::from_secs(11);
    story.flow.limit = Limit::Application;
    story.bbr.on_tx_start(&story.flow, &mut story.control);
    story.round(10);
    assert_eq!(story.bbr.phase, Phase::ProbeBw);
}

/// 5.4.1 of the draft: at the bandwidth, less 1 %: 1000 × 1448 × 10 × 0.99 = 14.34 MB/s.
#[test]
fn a_flow_that_was_idle_starts_at_the_bandwidth() {
    let mut story = Story::steady();
    story.flow.limit = Limit::Application;
    story.bbr.cycle.index = 0;
    story.bbr.on_tx_start(&story.flow, &mut story.control);
    let rate = story.control.pacing_bit_per_s.expect("BBR paces") / 8;
    assert!((14_330_000..14_336_000).contains(&rate), "{rate} bytes/s");
}

/// A.13: 1000 packets come at once each round trip, and 100 ms of silence are provided for: 999 packets more
/// than the 2000 of the gain. With ACKs for 100 it is some 100 more.
#[test]
fn acks_in_bunches_make_the_window_larger() {
    let mut story = Story::steady();
    (0..6).for_each(|_| story.round(1000));
    assert_eq!(story.bbr.aggregation_allowance(), 999);
    assert!((2999..=3040).contains(&story.control.cwnd), "{}", story.control.cwnd);
    // ACKs fall behind the bandwidth: the burst is over.
    story.flow.now += Time::from_ms(200);
    (0..12).for_each(|_| story.smooth_round());
    let allowance = story.bbr.aggregation_allowance();
    assert!((100..=120).contains(&allowance), "{allowance}");
    assert!((2100..=2160).contains(&story.control.cwnd), "{}", story.control.cwnd);
}

/// A.14: one packet in 10 s and an RTT of 100 ms: 0.01 packets fit.
#[test]
fn the_window_is_four_packets_where_less_than_one_fits() {
    let mut story = Story::new();
    story.bbr.full_pipe.reached = true;
    story.bbr.policer.forget(&story.flow);
    story.bbr.max_bw = WindowedMax::new(Bandwidth::new(1, 10_000_000), 0);
    story.bbr.pacing.bytes_per_s = 140;
    for _ in 0..40 {
        story.flow.now += Time::from_secs(1);
        let rate = RateSample { delivered: Some(1), interval_us: 10_000_000, ..RateSample::default() };
        let ack = Ack { delivered: 1, rtt_us: Some(RTT_US), rate, ..Ack::default() };
        story.bbr.on_ack(&ack, &story.flow, &mut story.control);
        assert!(story.control.cwnd >= CWND_MIN);
    }
    // 2 × 0.01 rounded up, what came at once, room for three single packets, rounded to even.
    assert!(story.control.cwnd <= 10, "{}", story.control.cwnd);
}

/// A.15: a probe finds a quarter more; ten times as much takes ln 10 / ln 1.25 = 10.3 probes, one after the
/// other while each fills the path less than it hoped, and one in eight round trips at most.
#[test]
fn ten_times_the_bandwidth_is_found_by_probing() {
    let mut story = Story::steady();
    let mut rounds = 0;
    while story.packets_per_round() < 10_000 {
        let sent = story.control.pacing_bit_per_s.expect("BBR paces") / 8 / 1448 / 10;
        story.in_flight(u32::try_from(sent).expect("small"));
        story.round(u32::try_from(sent).expect("small").min(10_000));
        rounds += 1;
    }
    assert!((11..=100).contains(&rounds), "{rounds} round trips");
}

/// A.16: the maximum filter forgets the old bandwidth.
#[test]
fn a_tenth_of_the_bandwidth_is_believed_after_ten_rounds() {
    let mut story = Story::steady();
    for _ in 0..9 {
        story.round(100);
    }
    assert_eq!(story.packets_per_round(), 1000);
    story.round(100);
    story.round(100);
    assert_eq!(story.packets_per_round(), 100);
}

/// A.17: two intervals of at least four round trips at 600 packets each, with more than a fifth lost.
#[test]
fn a_policer_is_found_and_forgotten_after_48_rounds() {
    let mut story = Story::steady();
    let mut rounds = 0;
    while story.bbr.policer.bandwidth().is_none() {
        story.ack(Ack { delivered: 600, lost: 200, rtt_us: Some(RTT_US), ..Ack::default() });
        rounds += 1;
        assert!(rounds <= 10, "no policer found");
    }
    let policed = story.bbr.bandwidth().packets_in(RTT_US.into());
    assert!((598..=600).contains(&policed), "{policed} packets a round trip");
    assert_eq!(story.bbr.pacing_gain, Gain::ONE);
    let mut rounds = 0;
    while story.bbr.policer.bandwidth().is_some() {
        story.round(600);
        rounds += 1;
    }
    assert_eq!(rounds, 48);
}

/// One lost packet in ten is below the threshold.
#[test]
fn losses_below_a_fifth_are_no_policer() {
    let mut story = Story::steady();
    for _ in 0..40 {
        story.ack(Ack { delivered: 600, lost: 60, rtt_us: Some(RTT_US), ..Ack::default() });
    }
    assert_eq!(story.bbr.policer.bandwidth(), None);
}

/// In flight after the loss: 900; one packet delivered allows one more, and so on for a round trip.
#[test]
fn the_first_round_of_recovery_conserves_packets() {
    let mut story = Story::steady();
    let before = story.control.cwnd;
    story.in_flight(900);
    story.control.ssthresh = story.bbr.on_congestion(Cause::Loss, &story.flow, &story.control);
    story.enter(State::Recovery);
    story.ack(Ack { delivered: 2, lost: 1, rtt_us: Some(RTT_US), ..Ack::default() });
    assert_eq!(story.control.cwnd, 902);
    story.enter(State::Open);
    story.round(2);
    assert!(story.control.cwnd >= before.min(2000), "{before} → {}", story.control.cwnd);
}

/// A.18: the room for bursts, up to 12 packets each, follows the rate.
#[test]
fn a_false_alarm_gives_the_window_back() {
    let mut story = Story::steady();
    story.round(1000);
    let before = story.control.cwnd;
    story.in_flight(900);
    story.control.ssthresh = story.bbr.on_congestion(Cause::Loss, &story.flow, &story.control);
    story.enter(State::Recovery);
    story.ack(Ack { delivered: 2, lost: 1, rtt_us: Some(RTT_US), ..Ack::default() });
    story.control.cwnd = story.bbr.on_undo(&story.flow, &story.control);
    assert_eq!(story.bbr.full_pipe.rounds, 0);
    story.enter(State::Open);
    story.round(2);
    assert!(story.control.cwnd.abs_diff(before) <= 3 * 12, "{before} → {}", story.control.cwnd);
}

/// A.19: the sender cuts the window to one packet; the first ACK after the spurious timeout restores it.
#[test]
fn a_false_timeout_gives_the_window_back() {
    let mut story = Story::steady();
    story.round(1000);
    let before = story.control.cwnd;
    story.control.ssthresh = story.bbr.on_congestion(Cause::Timeout, &story.flow, &story.control);
    story.control.cwnd = 1;
    story.enter(State::Loss);
    story.control.cwnd = story.bbr.on_undo(&story.flow, &story.control);
    assert_eq!(story.control.cwnd, 1);
    story.enter(State::Open);
    story.round(2);
    assert!(story.control.cwnd.abs_diff(before) <= 3 * 12, "{before} → {}", story.control.cwnd);
}

/// A.20: the pipe was not full yet.
#[test]
fn a_probe_for_the_rtt_in_startup_goes_back_to_startup() {
    let mut story = Story::new();
    story.round(10);
    story.in_flight(4);
    story.flow.now += Time::from_secs(11);
    let mut phases = Vec::new();
    for _ in 0..5 {
        story.round(4);
        phases.push(story.bbr.phase);
    }
    assert_eq!(phases[0], Phase::ProbeRtt);
    assert_eq!(phases[4], Phase::Startup);
}

/// Every pair of phases of which the second may follow the first.
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
fn a_phase_that_must_not_follow_is_a_broken_invariant() {
    Story::new().bbr.enter(Phase::ProbeBw);
}
