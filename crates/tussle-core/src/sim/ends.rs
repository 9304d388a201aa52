//! The two ends of a flow, and its application.

use std::collections::VecDeque;

use crate::Time;
use crate::cc::CongestionControl;
use crate::record::FlowMeasures;
use crate::run::FlowSpec;
use crate::run::application::{Next, Schedule};
use crate::run::check::RunError;
use crate::tcp::{Receiver, ReceiverSetup, Sender, Setup, TimestampOffsets};

/// One flow: its ends, and when the application opens and stops.
#[derive(Debug)]
pub(super) struct FlowEnds {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) measures: FlowMeasures,
    pub(super) application: Application,
    /// What the application writes, if not all that is taken.
    pub(super) writer: Option<Box<Writer>>,
    /// The packet after the oldest message under way: with it as the next one missing, the message has arrived.
    pub(super) message_end: u32,
    /// Places in the table of hops where its packets start.
    pub(super) forward: u32,
    pub(super) reverse: u32,
    /// The times of its ends in the calendar.
    pub(super) sender_scheduled: Time,
    pub(super) receiver_scheduled: Time,
    pub(super) completed: bool,
}

/// An application that writes now and then.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) schedule: Schedule,
    pub(super) next: Next,
    /// Where the messages under way end, the oldest first.
    pub(super) message_ends: VecDeque<u32>,
}

/// What the application does next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Application {
    Open { at: Time },
    Write { at: Time },
    Stop { at: Time },
    Nothing,
}

impl Application {
    pub(super) fn at(self) -> Time {
        match self {
            Application::Open { at } | Application::Write { at } | Application::Stop { at } => at,
            Application::Nothing => Time::NEVER,
        }
    }
}

impl FlowEnds {
    /// The ends of a flow, not yet joined to the network; its receiver's window grows to `window_bytes`.
    pub(super) fn new(
        flow: u32,
        hz: u32,
        (window_bytes, offsets): (u64, TimestampOffsets),
        (spec, algorithm): (&FlowSpec, Box<dyn CongestionControl>),
    ) -> FlowEnds {
        let mss_bytes = spec.mss_bytes;
        let setup = Setup {
            flow,
            hz,
            mss_bytes,
            ecn: spec.ecn.into(),
            pacing: spec.pacing,
            timestamp_offset_ms: offsets.sender_ms,
        };
        let sender = Sender::new(setup, algorithm);
        let receiver = ReceiverSetup {
            flow,
            hz,
            mss_bytes,
            window_bytes,
            ecn: sender.ecn(),
            timestamp_offset_ms: offsets.receiver_ms,
        };
        FlowEnds {
            sender,
            receiver: Receiver::new(receiver),
            measures: FlowMeasures::default(),
            application: Application::Nothing,
            writer: None,
            message_end: u32::MAX,
            forward: 0,
            reverse: 0,
            sender_scheduled: Time::NEVER,
            receiver_scheduled: Time::NEVER,
            completed: false,
        }
    }

    /// What the application does next, if it stops at `stop_ns`.
    pub(super) fn next_action(&self, stop_ns: Option<u64>) -> Application {
        let stop = stop_ns.map_or(Time::NEVER, Time::from_ns);
        match self.writer.as_ref().map(|writer| writer.next) {
            Some(Next::Write { at, .. }) if at < stop => Application::Write { at },
            _ if stop < Time::NEVER => Application::Stop { at: stop },
            _ => Application::Nothing,
        }
    }
}

impl Writer {
    /// The application of a flow, if it does not write all that is taken.
    pub(super) fn of(spec: &FlowSpec, seed: u64) -> Result<Option<Box<Writer>>, RunError> {
        let schedule = Schedule::new(spec, seed).map_err(|problem| RunError::new("application", problem))?;
        let writer = |schedule| Writer { schedule, next: Next::Nothing, message_ends: VecDeque::new() };
        Ok(schedule.map(writer).map(Box::new))
    }
}

/// Whether the event of a host is to move in the calendar from `scheduled` to `wake`. One that moves away is left where
/// it is: the host is woken for nothing once, which is cheaper than moving its timer with every packet.
#[inline]
pub(super) fn is_to_move(scheduled: Time, wake: Time, now: Time) -> bool {
    wake < scheduled || scheduled <= now
}
