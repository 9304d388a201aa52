//! Random packet scripts: a sender of the simulator on a random path, recorded as a script.
//!
//! If another implementation behaves differently in such a script, the cause deserves a script of its own.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::expect::Player;
use super::simulated::{SimulatedReceiver, SimulatedSender};
use super::{Expect, Host, Role, Script, ScriptError, Step, Transmission, words};
use crate::Time;
use crate::net::packet::{Ecn, Packet};
use crate::run::{self, MAX_WINDOW_PACKETS};
use crate::util::rng::{Probability, Rng};

/// Time grid of the events at the sender. They happen at odd multiples of half the grain, where no timer tick
/// lies, so that a host whose clock is slightly late sees the same order.
const GRAIN: Time = Time::from_us(100);
/// Gap between consecutive packets.
const GAP: Time = Time::from_us(20);
const MOST_STEPS: usize = 400;
const END: Time = Time::from_secs(30);
/// Largest number of packets that an application writes one by one.
const MAX_WRITES: usize = 300;

/// Round-trip times, in ms. A quarter of each is not a multiple of the grain, so that no reordering wait ends
/// exactly when an event happens.
const RTTS_MS: [u32; 9] = [11, 15, 43, 45, 101, 103, 107, 241, 243];
const LOSSES: [f64; 4] = [0.0, 0.005, 0.02, 0.1];
const ACK_LOSSES: [f64; 4] = [0.0, 0.0, 0.05, 0.3];
const LATE: [f64; 4] = [0.0, 0.0, 0.01, 0.1];
const LATE_BY_MS: [u64; 4] = [1, 5, 30, 200];
const MARKS: [f64; 2] = [0.005, 0.05];
const OUTAGES_MS: [u64; 6] = [0, 0, 0, 150, 400, 1500];

/// Random properties of a path.
#[derive(Clone, Copy, Debug)]
struct Path {
    one_way: Time,
    loss: Probability,
    ack_loss: Probability,
    late: Probability,
    late_by: Time,
    mark: Probability,
    /// Interval in which no packet passes.
    outage: (Time, Time),
    /// Whether packets sent during the outage are lost; else they wait for its end.
    outage_loses: bool,
}

/// Scheduled event. Packets are numbered in order of transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Write(u32),
    Data(usize),
    Ack(usize),
}

/// Records the random script of a sender with `algorithm`, between hosts with those settings.
///
/// # Errors
/// [`ScriptError::Invalid`] if there is no such algorithm.
pub fn random_script(algorithm: &str, hosts: run::Host, seed: u64) -> Result<Script, ScriptError> {
    let mut rng = Rng::new(seed, "story");
    let handshake_ms = pick(&mut rng, &RTTS_MS);
    let ecn = rng.below(4) == 0;
    let script = Script {
        claim: format!("{algorithm}, random script {seed}"),
        source: "the simulator".to_owned(),
        role: Role::Sender,
        algorithm: algorithm.to_owned(),
        parameters: BTreeMap::new(),
        handshake_ms,
        ecn,
        pacing: false,
        hosts,
        window_packets: MAX_WINDOW_PACKETS,
        start_cwnd: None,
        skip: BTreeMap::new(),
        steps: Vec::new(),
    };
    let from = Time::from_ms(u64::from(rng.below(3000)));
    let path = Path {
        one_way: Time::from_us(u64::from(handshake_ms) * 500),
        loss: probability(&mut rng, &LOSSES),
        ack_loss: probability(&mut rng, &ACK_LOSSES),
        late: probability(&mut rng, &LATE),
        late_by: Time::from_ms(pick(&mut rng, &LATE_BY_MS)),
        mark: if ecn { probability(&mut rng, &MARKS) } else { probability(&mut rng, &[0.0]) },
        outage: (from, from + Time::from_ms(pick(&mut rng, &OUTAGES_MS))),
        outage_loses: rng.below(2) != 0,
    };
    let mut sender = SimulatedSender::new(&script)?;
    let mut world = World::new(path, SimulatedReceiver::new(&script)?, rng);
    world.run(&mut Player::new(&script, &mut sender))?;
    Ok(Script { steps: world.steps, ..script })
}

fn pick<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(u32::try_from(of.len()).expect("short")) as usize]
}

fn probability(rng: &mut Rng, of: &[f64]) -> Probability {
    Probability::new(pick(rng, of)).expect("a probability")
}

/// Rounds up to the next instant of the time grid.
fn on_grid(at: Time) -> Time {
    Time::from_ns(at.ns().div_ceil(GRAIN.ns()) * GRAIN.ns() + GRAIN.ns() / 2)
}

/// Path, receiver and application. Times count from the establishment of the connection.
struct World {
    path: Path,
    rng: Rng,
    receiver: SimulatedReceiver,
    packets: Vec<Packet>,
    events: BinaryHeap<Reverse<(Time, usize, Event)>>,
    /// Events scheduled so far; orders events of the same instant.
    count: usize,
    steps: Vec<Step>,
    last_step: Time,
    last_arrival: Time,
}

impl World {
    fn new(path: Path, receiver: SimulatedReceiver, rng: Rng) -> World {
        let mut world = World {
            path,
            rng,
            receiver,
            packets: Vec::new(),
            events: BinaryHeap::new(),
            count: 0,
            steps: Vec::new(),
            last_step: Time::ZERO,
            last_arrival: Time::ZERO,
        };
        if world.rng.below(2) == 0 {
            let at = world.write_singly(10, on_grid(Time::ZERO));
            let packets = 100 + world.rng.below(1000);
            world.schedule(at, Event::Write(packets));
            return world;
        }
        let mut at = on_grid(Time::ZERO);
        while world.count < MAX_WRITES {
            let packets = 1 + world.rng.below(40);
            at = world.write_singly(packets, at);
            let most = if world.rng.below(4) == 0 { 20_000 } else { 1_500 };
            at += Time::from_ns(GRAIN.ns() * u64::from(world.rng.below(most)));
        }
        world
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.events.push(Reverse((at, self.count, event)));
        self.count += 1;
    }

    /// Schedules writes of one packet each, so that the packets leave at different times on a host with a
    /// real clock, too.
    fn write_singly(&mut self, packets: u32, from: Time) -> Time {
        let mut at = from;
        for _ in 0..packets {
            self.schedule(at, Event::Write(1));
            at += GRAIN;
        }
        at
    }

    fn run(&mut self, player: &mut Player<'_, SimulatedSender>) -> Result<(), ScriptError> {
        while self.steps.len() < MOST_STEPS {
            let planned = self.events.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at);
            let (sender, receiver) = (player.host.wake(), self.receiver.wake());
            let now = planned.min(receiver).min(sender);
            if now > END {
                break;
            }
            if sender == now {
                self.step(player, Step::default(), now)?;
            } else if receiver == now {
                self.receiver.wait(now)?;
                self.send_acks(now)?;
            } else if let Some(Reverse((_, _, event))) = self.events.pop() {
                self.handle(player, event, now)?;
            }
        }
        Ok(())
    }

    fn handle(
        &mut self,
        player: &mut Player<'_, SimulatedSender>,
        event: Event,
        now: Time,
    ) -> Result<(), ScriptError> {
        if let Event::Data(index) = event {
            self.receiver.wait(now)?;
            self.receiver.receive(&self.packets[index])?;
            return self.send_acks(now);
        }
        if now <= self.last_step {
            self.schedule(on_grid(self.last_step + GAP), event);
            return Ok(());
        }
        self.last_step = now;
        let step = match event {
            Event::Write(packets) => Step { write: Some(packets), ..Step::default() },
            Event::Data(index) | Event::Ack(index) => player.step_of(&self.packets[index]),
        };
        self.step(player, step, now)
    }

    /// Puts the receiver's ACKs on the reverse path, where some are lost.
    fn send_acks(&mut self, now: Time) -> Result<(), ScriptError> {
        for packet in self.receiver.sent()? {
            if self.rng.sample_bool(self.path.ack_loss) {
                continue;
            }
            let is_late = self.rng.sample_bool(self.path.late);
            let delay = if is_late { self.path.one_way + self.path.late_by } else { self.path.one_way };
            self.packets.push(packet);
            self.schedule(on_grid(now + delay), Event::Ack(self.packets.len() - 1));
        }
        Ok(())
    }

    /// Performs a step and records the sender's response.
    fn step(
        &mut self,
        player: &mut Player<'_, SimulatedSender>,
        mut step: Step,
        at: Time,
    ) -> Result<(), ScriptError> {
        step.at_ms = ms(at);
        let sent = player.perform(self.steps.len(), &step, at)?;
        if sent.is_empty() && !step.acts() {
            return Ok(());
        }
        let left = words::data(&sent);
        if left != "nothing" {
            step.sends = left.split(' ').map(str::to_owned).collect();
        }
        step.expect = Expect::all_of(&player.host.sender_state()?);
        self.steps.push(step);
        for packet in sent {
            self.carry(packet, at);
        }
        Ok(())
    }

    /// Puts a data packet on the forward path.
    fn carry(&mut self, mut packet: Packet, at: Time) {
        let Path { one_way, loss, late, late_by, mark, outage, outage_loses, .. } = self.path;
        let [is_lost, is_late, is_marked] =
            [loss, late, mark].map(|probability| self.rng.sample_bool(probability));
        let is_stuck = at >= outage.0 && at < outage.1;
        if is_lost || (is_stuck && outage_loses) {
            return;
        }
        if is_marked && packet.ecn == Ecn::Ect0 {
            packet.ecn = Ecn::Ce;
        }
        let arrives = if is_late {
            at + one_way + late_by
        } else {
            let leaves = if is_stuck { outage.1 } else { at };
            self.last_arrival = (leaves + one_way).max(self.last_arrival) + GAP;
            self.last_arrival
        };
        self.packets.push(packet);
        self.schedule(arrives, Event::Data(self.packets.len() - 1));
    }
}

#[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days")]
fn ms(at: Time) -> f64 {
    at.ns() as f64 / 1e6
}

impl Player<'_, SimulatedSender> {
    /// Step in which the peer sends `ack`.
    fn step_of(&self, ack: &Packet) -> Step {
        let mut step = Step { ack: Some(ack.number), ..Step::default() };
        let text = words::acks(std::slice::from_ref(ack));
        let mut list = "";
        for word in text.split(' ').skip(1) {
            match word {
                "dsack" | "sack" => list = word,
                "ece" => step.ece = true,
                range if list == "dsack" => step.dsack = Some(range.to_owned()),
                range => step.sack.push(range.to_owned()),
            }
        }
        let (acknowledged, _) = self.last_ack;
        if let Some(&(first, last)) = self.timestamps.get(&acknowledged)
            && ack.ts_echo_ms == first
            && first != last
        {
            step.echo = Transmission::First;
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::play;

    #[test]
    fn the_simulator_follows_its_random_scripts() {
        for seed in 0..20 {
            let script = random_script("cubic", run::Host::default(), seed).unwrap();
            assert!(script.steps.len() > 10, "script {seed} has {} steps", script.steps.len());
            assert_eq!(play(&script), Ok(()), "script {seed}");
        }
    }

    #[test]
    fn random_scripts_have_timeouts_undone_reductions_and_probes() {
        let last: Vec<_> = (0..100)
            .map(|seed| {
                random_script("reno", run::Host::default(), seed).unwrap().steps.pop().unwrap().expect
            })
            .collect();
        let count = |of: fn(&Expect) -> Option<u32>| last.iter().filter(|each| of(each) > Some(0)).count();
        assert!(count(|expect| expect.timeouts) > 12);
        assert!(count(|expect| expect.spurious_timeouts) > 5);
        assert!(count(|expect| expect.undone_recoveries) > 12);
        assert!(count(|expect| expect.probes) > 12);
    }
}
