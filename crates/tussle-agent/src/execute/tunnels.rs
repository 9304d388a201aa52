//! Elements of the simulator between two TUN devices, under the guest's clock.
//!
//! One thread reads packets where they enter, moves them through consecutive elements, and writes them where
//! they leave.

use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::Context;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tussle_core::Time;
use tussle_core::net::packet::Packet;
use tussle_core::net::path::LinkView;
use tussle_datapath::{ByteSlots, Elements, Left, Loss, Tally, apply};

use super::clock::Clock;
use super::tun::Tun;
use super::{Environment, Execution};

/// The two ends of a tunnel.
#[derive(Debug)]
pub(crate) struct TunnelEnds {
    /// Index of the element between the ends.
    pub(crate) element: usize,
    /// The device where packets enter.
    pub(crate) entry: Tun,
    /// The device where packets leave.
    pub(crate) exit: Tun,
}

/// Handle of the tunnels of a run.
#[derive(Clone, Debug)]
pub(crate) struct Tunnels {
    elements: Arc<Mutex<Elements<ByteSlots>>>,
    problem: Arc<Mutex<Option<String>>>,
}

impl Tunnels {
    /// Starts the thread that carries packets. It ends with the process.
    pub(crate) fn start(execution: Execution, ends: Vec<TunnelEnds>) -> anyhow::Result<Tunnels> {
        let crossed: Vec<_> = ends.iter().map(|end| end.element).collect();
        let elements = Elements::between_devices(execution.run, &crossed, ByteSlots::default());
        let elements = elements.map_err(anyhow::Error::msg)?;
        let tunnels = Tunnels { elements: Arc::new(Mutex::new(elements)), problem: Arc::default() };
        if !ends.is_empty() {
            let carrier = Carrier::new(ends, execution, tunnels.clone())?;
            std::thread::spawn(move || carrier.carry());
        }
        Ok(tunnels)
    }

    /// The problem of the thread, if it failed.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().expect("no thread panics while it holds the lock").clone()
    }

    /// State of an element that is a link in a tunnel.
    pub(crate) fn observe(&self, element: usize, now_ns: u64) -> Option<LinkView> {
        self.elements().observe(element, Time::from_ns(now_ns))
    }

    /// Packets in tunnels, by outcome.
    pub(crate) fn tally(&self) -> Tally {
        self.elements().tally()
    }

    /// Packets dropped or damaged since the last call.
    pub(crate) fn take_losses(&self) -> Vec<Loss> {
        self.elements().take_losses()
    }

    /// Number of copies of a flow's data packets, made by elements.
    pub(crate) fn copies(&self, flow: u32) -> u64 {
        self.elements().copies(flow)
    }

    fn elements(&self) -> MutexGuard<'_, Elements<ByteSlots>> {
        self.elements.lock().expect("no thread panics while it holds the lock")
    }
}

/// State of the thread: devices and timer.
struct Carrier {
    tunnels: Tunnels,
    ends: Vec<TunnelEnds>,
    clock: Clock,
    environment: Environment,
    timer: TimerFd,
    /// Time at which the timer expires.
    due: Time,
    /// Buffer for the bytes to be written.
    written: Vec<u8>,
}

impl Carrier {
    fn new(ends: Vec<TunnelEnds>, execution: Execution, tunnels: Tunnels) -> anyhow::Result<Carrier> {
        let (clock, environment) = (execution.clock, execution.environment.clone());
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK).context("a timer")?;
        Ok(Carrier { tunnels, ends, clock, environment, timer, due: Time::NEVER, written: Vec::new() })
    }

    fn carry(mut self) {
        let mut outcome = self.environment.be_punctual().context("exact timers");
        while outcome.is_ok() {
            outcome = self.turn();
        }
        *self.tunnels.problem.lock().expect("no thread panics while it holds the lock") =
            outcome.err().map(|problem| format!("tunnels: {problem:#}"));
    }

    /// Waits until packets enter or leave, and moves them.
    fn turn(&mut self) -> anyhow::Result<()> {
        let (entered, is_due) = self.wait()?;
        if is_due {
            self.environment.note_slip(self.due.ns(), self.clock)?;
        }
        // If only the timer expired, its time is known without a system call.
        let now = if is_due && entered.is_empty() { self.due } else { Time::from_ns(self.clock.now_ns()?) };
        let mut elements = self.tunnels.elements.lock().expect("no thread panics while it holds the lock");
        // Departures precede arrivals of the same instant, as in the simulator.
        elements.release(now);
        for end in entered {
            let TunnelEnds { element, entry, .. } = &mut self.ends[end];
            while let Some(bytes) = entry.read().context("reading a packet")? {
                let size_bytes = u32::try_from(bytes.len()).expect("a packet is short");
                // Packets of no flow are ignored.
                if let Some(packet) = elements.packet(bytes, size_bytes, Some(*element)) {
                    let number = elements.slots().keep(bytes);
                    elements.enter(Packet { number, ..packet }, now);
                }
            }
        }
        elements.release(now);
        while let Some(Left { exit, packet }) = elements.take() {
            // A copy of the packet may need the original bytes.
            self.written.clear();
            self.written.extend_from_slice(elements.slots().take(packet.number));
            apply(&packet, &mut self.written);
            let mut ends = self.ends.iter_mut();
            let end = ends.find(|end| end.element == exit).expect("packets leave by a tunnel");
            end.exit.write(&self.written).context("writing a packet")?;
        }
        let next = elements.next();
        drop(elements);
        if is_due || next != self.due {
            self.set_timer(next)?;
        }
        Ok(())
    }

    /// Ends at which packets have entered, and whether the timer has expired.
    fn wait(&self) -> anyhow::Result<(Vec<usize>, bool)> {
        let entries = self.ends.iter().map(|end| end.entry.as_fd());
        let mut all: Vec<_> = std::iter::once(self.timer.as_fd())
            .chain(entries)
            .map(|each| PollFd::new(each, PollFlags::POLLIN))
            .collect();
        poll(&mut all, PollTimeout::NONE).context("waiting for packets")?;
        let has_come = |each: &PollFd| each.any().unwrap_or_default();
        let entered = (0..self.ends.len()).filter(|end| has_come(&all[end + 1])).collect();
        Ok((entered, has_come(&all[0])))
    }

    fn set_timer(&mut self, next: Time) -> anyhow::Result<()> {
        self.due = next;
        if next == Time::NEVER {
            return self.timer.unset().context("the timer");
        }
        let at = TimeSpec::from_duration(self.clock.monotonic(next.ns()));
        self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME).context("the timer")
    }
}
