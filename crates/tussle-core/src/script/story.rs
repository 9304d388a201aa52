//! Stories that nobody chose: a sender of the simulator on a path of dice, written down as a script.
//!
//! Where another implementation ends a story otherwise, one of the two has a cause worth a script of its own.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::judge::Player;
use super::simulated::{SimulatedReceiver, SimulatedSender};
use super::{Expect, Host, Role, Script, ScriptError, Step, Transmission, words};
use crate::Time;
use crate::net::packet::{Ecn, Packet};
use crate::run::MAX_WINDOW_PACKETS;
use crate::util::rng::{Probability, Rng};

/// What happens to the sender happens at odd multiples of half of that: no timer tick is one, and a host whose clock
/// is a little late sees the same order.
const GRAIN: Time = Time::from_us(100);
/// Packets that follow each other are so far apart.
const GAP: Time = Time::from_us(20);
const MOST_STEPS: usize = 400;
const END: Time = Time::from_secs(30);
/// Packets of an application that writes now and then, at most.
const MOST_WRITES: usize = 300;

/// Chosen so that a quarter of it is no multiple of the grain: a wait that long is over or is not.
const RTTS_MS: [u32; 9] = [11, 15, 43, 45, 101, 103, 107, 241, 243];
const LOSSES: [f64; 4] = [0.0, 0.005, 0.02, 0.1];
const ACK_LOSSES: [f64; 4] = [0.0, 0.0, 0.05, 0.3];
const LATE: [f64; 4] = [0.0, 0.0, 0.01, 0.1];
const LATE_BY_MS: [u64; 4] = [1, 5, 30, 200];
const MARKS: [f64; 2] = [0.005, 0.05];
const OUTAGES_MS: [u64; 6] = [0, 0, 0, 150, 400, 1500];

/// What a path does to packets.
#[derive(Clone, Copy, Debug)]
struct Path {
    one_way: Time,
    loss: Probability,
    ack_loss: Probability,
    late: Probability,
    late_by: Time,
    mark: Probability,
    /// From when until when nothing passes.
    outage: (Time, Time),
    /// What becomes of packets then.
    then: Outage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outage {
    Loses,
    Delays,
}

/// What is to happen. Packets are numbered as they were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Write(u32),
    Data(usize),
    Ack(usize),
}

/// A story of a sender with `algorithm`, told by `seed`.
///
/// # Errors
/// [`ScriptError::Nonsense`] if there is no such algorithm.
pub fn story(algorithm: &str, seed: u64) -> Result<Script, ScriptError> {
    let mut rng = Rng::new(seed, "story");
    let handshake_ms = pick(&mut rng, &RTTS_MS);
    let ecn = rng.below(4) == 0;
    let script = Script {
        claim: format!("{algorithm}, story {seed}"),
        source: "the simulator".to_owned(),
        role: Role::Sender,
        algorithm: algorithm.to_owned(),
        parameters: BTreeMap::new(),
        handshake_ms,
        ecn,
        pacing: false,
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
        then: if rng.below(2) == 0 { Outage::Delays } else { Outage::Loses },
    };
    let mut sender = SimulatedSender::new(&script)?;
    let mut world = World::new(path, (SimulatedReceiver::new(&script)?, rng));
    world.tell(&mut Player::new(&script, &mut sender))?;
    Ok(Script { steps: world.steps, ..script })
}

fn pick<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(u32::try_from(of.len()).expect("short")) as usize]
}

fn probability(rng: &mut Rng, of: &[f64]) -> Probability {
    Probability::new(pick(rng, of)).expect("a probability")
}

/// The next instant at which something may happen to the sender.
fn grained(at: Time) -> Time {
    Time::from_ns(at.ns().div_ceil(GRAIN.ns()) * GRAIN.ns() + GRAIN.ns() / 2)
}

/// The path, the receiver and the application. Times count from when the connection was established.
struct World {
    path: Path,
    rng: Rng,
    receiver: SimulatedReceiver,
    packets: Vec<Packet>,
    events: BinaryHeap<Reverse<(Time, usize, Event)>>,
    /// Events so far: of those of one instant, the first comes first.
    count: usize,
    steps: Vec<Step>,
    last_step: Time,
    last_arrival: Time,
}

impl World {
    fn new(path: Path, (receiver, rng): (SimulatedReceiver, Rng)) -> World {
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
            let at = world.write_singly(10, grained(Time::ZERO));
            let packets = 100 + world.rng.below(1000);
            world.plan(at, Event::Write(packets));
            return world;
        }
        let mut at = grained(Time::ZERO);
        while world.count < MOST_WRITES {
            let packets = 1 + world.rng.below(40);
            at = world.write_singly(packets, at);
            let most = if world.rng.below(4) == 0 { 20_000 } else { 1_500 };
            at += Time::from_ns(GRAIN.ns() * u64::from(world.rng.below(most)));
        }
        world
    }

    fn plan(&mut self, at: Time, event: Event) {
        self.events.push(Reverse((at, self.count, event)));
        self.count += 1;
    }

    /// One packet after the other, so that they leave at different times on a host whose clock goes on meanwhile, too.
    fn write_singly(&mut self, packets: u32, from: Time) -> Time {
        let mut at = from;
        for _ in 0..packets {
            self.plan(at, Event::Write(1));
            at += GRAIN;
        }
        at
    }

    fn tell(&mut self, player: &mut Player<'_, SimulatedSender>) -> Result<(), ScriptError> {
        while self.steps.len() < MOST_STEPS {
            let planned = self.events.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at);
            let (sender, receiver) = (player.host.wake(), self.receiver.wake());
            let now = planned.min(receiver).min(sender);
            if now > END {
                break;
            }
            if sender == now {
                self.step(player, (Step::default(), now))?;
            } else if receiver == now {
                self.receiver.wait(now)?;
                self.send_acks(now)?;
            } else if let Some(Reverse((_, _, event))) = self.events.pop() {
                self.happen(player, (event, now))?;
            }
        }
        Ok(())
    }

    fn happen(
        &mut self,
        player: &mut Player<'_, SimulatedSender>,
        (event, now): (Event, Time),
    ) -> Result<(), ScriptError> {
        if let Event::Data(index) = event {
            self.receiver.wait(now)?;
            self.receiver.receive(&self.packets[index])?;
            return self.send_acks(now);
        }
        if now <= self.last_step {
            self.plan(grained(self.last_step + GAP), event);
            return Ok(());
        }
        self.last_step = now;
        let step = match event {
            Event::Write(packets) => Step { write: Some(packets), ..Step::default() },
            Event::Data(index) | Event::Ack(index) => player.step_of(&self.packets[index]),
        };
        self.step(player, (step, now))
    }

    /// What the receiver has sent goes back, if it is not lost.
    fn send_acks(&mut self, now: Time) -> Result<(), ScriptError> {
        for packet in self.receiver.sent()? {
            if self.rng.sample_bool(self.path.ack_loss) {
                continue;
            }
            let is_late = self.rng.sample_bool(self.path.late);
            let delay = if is_late { self.path.one_way + self.path.late_by } else { self.path.one_way };
            self.packets.push(packet);
            self.plan(grained(now + delay), Event::Ack(self.packets.len() - 1));
        }
        Ok(())
    }

    /// A step happens to the sender; what follows is written down.
    fn step(
        &mut self,
        player: &mut Player<'_, SimulatedSender>,
        (mut step, at): (Step, Time),
    ) -> Result<(), ScriptError> {
        step.at_ms = ms(at);
        let sent = player.pass((self.steps.len(), &step), at)?;
        if sent.is_empty() && !step.acts() {
            return Ok(());
        }
        let left = words::data(&sent);
        if left != "nothing" {
            step.sends = left.split(' ').map(str::to_owned).collect();
        }
        step.expect = Expect::all_of(&player.host.standing()?);
        self.steps.push(step);
        for packet in sent {
            self.carry(packet, at);
        }
        Ok(())
    }

    /// A packet of the sender goes over the path.
    fn carry(&mut self, mut packet: Packet, at: Time) {
        let Path { one_way, loss, late, late_by, mark, outage, then, .. } = self.path;
        let [is_lost, is_late, is_marked] =
            [loss, late, mark].map(|probability| self.rng.sample_bool(probability));
        let is_stuck = at >= outage.0 && at < outage.1;
        if is_lost || (is_stuck && then == Outage::Loses) {
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
        self.plan(arrives, Event::Data(self.packets.len() - 1));
    }
}

#[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days")]
fn ms(at: Time) -> f64 {
    at.ns() as f64 / 1e6
}

impl Player<'_, SimulatedSender> {
    /// The step in which the peer sends `ack`.
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
    fn a_story_is_a_script_that_the_simulator_follows() {
        for seed in 0..20 {
            let script = story("cubic", seed).unwrap();
            assert!(script.steps.len() > 10, "story {seed} has {} steps", script.steps.len());
            assert_eq!(play(&script), Ok(()), "story {seed}");
        }
    }

    #[test]
    fn stories_have_losses_timeouts_and_false_alarms() {
        let last: Vec<_> =
            (0..40).map(|seed| story("reno", seed).unwrap().steps.pop().unwrap().expect).collect();
        let count = |of: fn(&Expect) -> Option<u32>| last.iter().filter(|each| of(each) > Some(0)).count();
        assert!(count(|expect| expect.timeouts) > 5);
        assert!(count(|expect| expect.undone) > 5);
        assert!(count(|expect| expect.probes) > 5);
    }
}
