//! What Linux does for each element: one hop or two, each a queue discipline on a device of its own.

use tussle_core::path::EffectSpec;

use super::qdisc::{Qdisc, netem_delay, netem_loss, netem_serialiser, shaper};

/// A queue discipline, and what it is to the element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    /// Why it is there.
    pub(crate) role: Role,
    /// What packets pass through.
    pub(crate) qdisc: Qdisc,
}

/// What a hop is to its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The queue of a link, let out at its rate.
    Queue,
    /// All else.
    Rest,
}

/// The hops of an element; an error is a sentence on what Linux cannot do.
///
/// `tbf` lets a packet go when its transmission *begins*. A link's second hop, `netem` with the same rate, holds
/// it until it ends, and then over the wire; no queue builds up there, since packets come no faster.
pub(super) fn hops(effect: &EffectSpec) -> Result<Vec<Hop>, String> {
    let rest = |qdisc| Hop { role: Role::Rest, qdisc };
    Ok(match effect {
        EffectSpec::Link(link) => vec![
            Hop { role: Role::Queue, qdisc: shaper(link)? },
            rest(netem_serialiser(link.rate_bit_per_s, link.delay_ns)),
        ],
        EffectSpec::Delay(delay) => vec![rest(netem_delay(delay.delay_ns))],
        EffectSpec::Loss(loss) => vec![rest(netem_loss(loss.probability))],
    })
}
