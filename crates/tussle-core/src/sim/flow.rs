//! A flow of a simulation: its endpoints, its application, and the first hops of its packets.

use std::collections::VecDeque;

use super::endpoints::Endpoints;
use crate::Time;
use crate::record::FlowMeasures;
use crate::run::FlowSpec;
use crate::run::application::{Next, Schedule};
use crate::run::check::RunError;

/// A flow of a simulation.
#[derive(Debug)]
pub(super) struct SimulatedFlow {
    /// Index of the flow in its run.
    pub(super) index: u32,
    pub(super) endpoints: Endpoints,
    pub(super) measures: FlowMeasures,
    /// The application's next action.
    pub(super) action: Action,
    /// Writer of an application that is not a bulk sender.
    pub(super) writer: Option<Box<Writer>>,
    /// First packet after the oldest message in flight. The message has arrived when this is the next packet
    /// that the receiver expects.
    pub(super) message_end: u32,
    /// Index in the table of hops of the first hop of the sender's packets.
    pub(super) forward_hop: u32,
    /// Index in the table of hops of the first hop of the receiver's packets.
    pub(super) reverse_hop: u32,
    /// Time of the sender's event in the calendar.
    pub(super) sender_scheduled: Time,
    /// Time of the receiver's event in the calendar.
    pub(super) receiver_scheduled: Time,
    pub(super) completed: bool,
}

/// Writer of an application that is not a bulk sender.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) schedule: Schedule,
    pub(super) next: Next,
    /// First packet after each message in flight, oldest message first.
    pub(super) message_ends: VecDeque<u32>,
}

/// The next action of an application.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    Open { at: Time },
    Write { at: Time },
    Stop { at: Time },
    Nothing,
}

impl Action {
    /// Time of the action.
    pub(super) fn at(self) -> Time {
        match self {
            Action::Open { at } | Action::Write { at } | Action::Stop { at } => at,
            Action::Nothing => Time::NEVER,
        }
    }
}

impl SimulatedFlow {
    /// The application's next action, given its stop time.
    pub(super) fn next_action(&self, stop_ns: Option<u64>) -> Action {
        let stop = stop_ns.map_or(Time::NEVER, Time::from_ns);
        match self.writer.as_ref().map(|writer| writer.next) {
            Some(Next::Write { at, .. }) if at < stop => Action::Write { at },
            _ if stop < Time::NEVER => Action::Stop { at: stop },
            _ => Action::Nothing,
        }
    }
}

impl Writer {
    /// The writer of a flow in a run with a seed; `None` for a bulk sender.
    pub(super) fn of(spec: &FlowSpec, seed: u64) -> Result<Option<Box<Writer>>, RunError> {
        let schedule = spec.schedule(seed).map_err(|problem| RunError::new("application", problem))?;
        let writer = |schedule| Writer { schedule, next: Next::Nothing, message_ends: VecDeque::new() };
        Ok(schedule.map(writer).map(Box::new))
    }
}

/// Whether the event of a host must move in the calendar from `scheduled` to `wake`. An event that would move
/// to a later time stays: one spurious event costs less than moving the timer with every packet.
#[inline]
pub(super) fn must_move(scheduled: Time, wake: Time, now: Time) -> bool {
    wake < scheduled || scheduled <= now
}
