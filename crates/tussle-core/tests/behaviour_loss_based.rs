//! Behaviour of loss-based algorithms, compared with their papers.

use std::collections::BTreeMap;

use tussle_core::Outcome;
use tussle_core::run::{FlowSpec, Sampling};

use crate::common::network::{Dumbbell, MSS_BYTES, NS_PER_MS, NS_PER_S, delay, flow, loss, run, simulate};
use crate::common::tables::{counts, labels, maybe_quantities, quantities};

#[expect(clippy::cast_precision_loss, reason = "counts of a test are far below 2^53")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// A path of 50 ms with a buffer of 1 BDP, which is 42, 167 or 667 packets.
fn duel_path(rate_bit_per_s: u64) -> Dumbbell {
    Dumbbell::with_buffer_percent(rate_bit_per_s, 50, 100)
}

const DUEL_RATES: [u64; 3] = [10_000_000, 40_000_000, 160_000_000];

/// Goodput of an algorithm divided by that of a competing Reno flow, which starts half a second later.
fn over_reno(algorithm: &str, rate_bit_per_s: u64) -> f64 {
    let late = FlowSpec { start_ns: NS_PER_S / 2, ..flow("reno") };
    let outcome = simulate(&duel_path(rate_bit_per_s).run(vec![flow(algorithm), late], 30..90));
    let bytes = counts(&outcome.flows, "steady_delivered_bytes");
    ratio(bytes[0], bytes[1])
}

/// Scalable recovers the window of the loss within 13.4 round trips, whatever the window. If both flows lose
/// at the same time, Reno has grown by 13.4 packets by then, so that it halves its window at about 27
/// packets, whatever the BDP. Source of the 13.4: Kelly, CCR 33(2), 2003.
#[test]
fn the_window_of_reno_against_scalable_does_not_depend_on_the_bdp() {
    let ratios = DUEL_RATES.map(|rate| over_reno("scalable", rate));
    assert!(ratios.is_sorted(), "{ratios:?}");
    // Below 100 packets Scalable grows like Reno.
    for (rate, found) in DUEL_RATES.into_iter().zip(ratios).skip(1) {
        let theory = ratio(2 * duel_path(rate).bdp_packets() - 27, 27);
        assert!((0.5 * theory..2.0 * theory).contains(&found), "{rate} bit/s: {found}, theory {theory}");
    }
}

/// If both flows lose at the same time, each has a window of a / b times the round trips between losses: 1 /
/// 0.5 for Reno, a(w) / b(w) for `highspeed`, where delayed ACKs halve a. At 31 packets that is 0.5 / 0.5, at
/// 230 it is 4 / 2 / 0.385 = 5.2, and at 1150 it is 9 / 2 / 0.317 = 14: 0.5, 2.6 and 7 times the window of
/// Reno.
#[test]
fn the_advantage_of_highspeed_over_reno_grows_with_the_bdp() {
    let ratios = DUEL_RATES.map(|rate| over_reno("highspeed", rate));
    for (found, theory) in ratios.into_iter().zip([0.5, 2.6, 7.0]) {
        assert!((0.5 * theory..2.0 * theory).contains(&found), "{ratios:?}");
    }
}

/// BIC searches for the last window of loss in steps of up to 16 packets a round trip, so that its recovery
/// time grows with the logarithm of the window, whereas Reno's grows linearly: the larger the BDP, the
/// greater BIC's advantage before Reno has recovered. Source: Xu, Harfoush and Rhee, INFOCOM 2004, where
/// BIC's share grows with the bandwidth. At 31 packets its steps are already larger than Reno's step of one
/// packet.
#[test]
fn the_advantage_of_bic_over_reno_grows_with_the_bdp() {
    let ratios = DUEL_RATES.map(|rate| over_reno("bic", rate));
    assert!(ratios.is_sorted(), "{ratios:?}");
    assert!(ratios[0] > 1.0 && ratios[2] > 2.0 * ratios[0], "{ratios:?}");
}

/// Goodput, in packets/s, of a single flow over a path with random loss and without a queue.
fn packets_per_s(algorithm: &str, rtt_ms: u64, probability: f64) -> f64 {
    let half_ns = rtt_ms * NS_PER_MS / 2;
    let elements = vec![delay("forward", half_ns), delay("back", half_ns), loss("loss", probability)];
    let flow = FlowSpec {
        forward: vec!["loss".to_owned(), "forward".to_owned()],
        reverse: vec!["back".to_owned()],
        ..flow(algorithm)
    };
    let seconds = 300;
    let mut run = run(elements, vec![flow], 10 * NS_PER_S..(10 + seconds) * NS_PER_S);
    let mut bytes = 0;
    for seed in 1..=3 {
        run.seed = seed;
        bytes += counts(&simulate(&run).flows, "steady_delivered_bytes")[0];
    }
    ratio(bytes, 3 * seconds * u64::from(MSS_BYTES))
}

/// Reno adds one packet per round trip: at equal loss the window is equal, and with 16 times the RTT the
/// goodput is a sixteenth. Hybla adds ρ² packets: the window is ρ times as large, and the goodput is equal.
#[test]
fn goodput_of_hybla_depends_less_on_the_rtt_than_that_of_reno() {
    let over_long_rtt =
        |algorithm| packets_per_s(algorithm, 25, 0.001) / packets_per_s(algorithm, 400, 0.001);
    let (hybla, reno) = (over_long_rtt("hybla"), over_long_rtt("reno"));
    assert!((1.0 / 1.3..1.3).contains(&hybla), "{hybla}");
    assert!((12.0..22.0).contains(&reno), "{reno}");
}

/// With a growth of one packet per round trip and a reduction by b at each loss, the mean window is sqrt((2 -
/// b) / (2 b p)): with b = 1/5 instead of 1/2 it is sqrt(3) = 1.73 times as large. Timeouts and recovery,
/// equal for both, lower the ratio.
#[test]
fn veno_beats_reno_under_random_loss_on_an_idle_link() {
    for rtt_ms in [25, 100] {
        let found = packets_per_s("veno", rtt_ms, 0.01) / packets_per_s("reno", rtt_ms, 0.01);
        assert!((1.3..1.9).contains(&found), "{rtt_ms} ms: {found}");
    }
}

/// A single flow, sampled every 100 ms.
fn sampled(algorithm: FlowSpec, path: Dumbbell) -> Outcome {
    let mut run = path.run(vec![algorithm], 0..60);
    run.record.sampling = Sampling::EveryNs(100 * NS_PER_MS);
    run.record.events = true;
    simulate(&run)
}

/// The queueing delay is up to 50 ms. The paper's α(d) = κ₁ / (κ₂ + d) is 1.14 packets at a quarter of the
/// longest delay, and 0.39 at three quarters; it follows the delay of the last round trip.
#[test]
fn alpha_of_illinois_shrinks_as_the_queue_fills() {
    let outcome = sampled(flow("illinois"), Dumbbell::with_buffer_percent(50_000_000, 50, 100));
    let states = labels(&outcome.samples, "state");
    let alphas = maybe_quantities(&outcome.samples, "illinois.alpha_packets");
    let rtts = maybe_quantities(&outcome.samples, "rtt_ms");
    let (mut low, mut high) = (Vec::new(), Vec::new());
    // Without the first 10 s, which include slow start, and only after 300 ms, three round trips, without
    // recovery.
    for i in (100..states.len()).filter(|&i| states[i - 3..=i].iter().all(|state| state == "open")) {
        let alpha = alphas[i].expect("α has a value from the start");
        match rtts[i].expect("a flow of 10 s has measured an RTT") {
            ..62.5 => low.push(alpha),
            87.5.. => high.push(alpha),
            _ => {}
        }
    }
    assert!(low.len() > 10 && high.len() > 10, "{} and {} samples", low.len(), high.len());
    assert!(low.iter().all(|&alpha| alpha > 1.0), "{low:?}");
    assert!(high.iter().all(|&alpha| alpha < 0.45), "{high:?}");
}

/// Samples of H-TCP: time since the end of the last recovery, in s, α / (2 (1 - β)), and window, in packets.
fn htcp_growth(rate_bit_per_s: u64) -> Vec<(f64, f64, u64)> {
    let parameters = BTreeMap::from([("use_rtt_scaling".to_owned(), 0)]);
    let path = Dumbbell::with_buffer_percent(rate_bit_per_s, 100, 100);
    let outcome = sampled(FlowSpec { parameters, ..flow("htcp") }, path);
    let recovered: Vec<f64> = quantities(&outcome.events, "time_s")
        .into_iter()
        .zip(labels(&outcome.events, "kind"))
        .filter_map(|(time, kind)| (kind == "recovered").then_some(time))
        .collect();
    let alphas = maybe_quantities(&outcome.samples, "htcp.alpha_packets");
    let betas = maybe_quantities(&outcome.samples, "htcp.beta");
    let (windows, states) = (counts(&outcome.samples, "cwnd_packets"), labels(&outcome.samples, "state"));
    let mut rows = Vec::new();
    for (i, now) in quantities(&outcome.samples, "time_s").into_iter().enumerate() {
        let Some(last) = recovered.iter().rfind(|&&time| time <= now) else { continue };
        if let (Some(alpha), Some(beta), "open") = (alphas[i], betas[i], states[i].as_str()) {
            rows.push((now - last, alpha / (2.0 * (1.0 - beta)), windows[i]));
        }
    }
    rows
}

/// 1 + 10 (Δ - 1) + ((Δ - 1) / 2)² packets a round trip, Δ seconds after the last loss: 11.25 after 2 s,
/// whether the window is 200 or 2000 packets. α is updated when the window grows by one packet: it lags by at
/// most 0.1 s, which is one packet at 10 per second, and rounding down adds another.
#[test]
fn growth_of_htcp_depends_on_the_time_since_the_loss_not_on_the_window() {
    let growth = [20_000_000, 200_000_000].map(htcp_growth);
    for rows in &growth {
        let late: Vec<_> = rows.iter().filter(|(delta_s, ..)| (1.5..2.5).contains(delta_s)).collect();
        assert!(late.len() >= 20, "{} samples", late.len());
        for (delta_s, found, cwnd) in late {
            let theory = 1.0 + 10.0 * (delta_s - 1.0) + ((delta_s - 1.0) / 2.0).powi(2);
            let behind = theory - found;
            assert!((-0.5..2.5).contains(&behind), "{delta_s} s, {cwnd} packets: {found}, not {theory}");
        }
    }
    let largest = |rows: &[(f64, f64, u64)]| rows.iter().map(|row| row.2).max().unwrap_or(0);
    assert!(largest(&growth[1]) > 8 * largest(&growth[0]));
}
