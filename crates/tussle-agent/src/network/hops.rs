//! Hops of each element: one or two, each a queue discipline on a device of its own.

use tussle_core::net::path::{ElementKind, LinkSpec};

use super::losses::{LossProgram, in_bursts, independent};
use super::qdisc::{Qdisc, netem_delay, netem_serialiser, shaper};

/// A device of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    /// Index of the element.
    pub(crate) element: usize,
    /// Whether packets wait here: the queue of a link, served at its rate.
    pub(crate) is_queue: bool,
    /// Treatment of the packets.
    pub(crate) handling: Handling,
}

/// Treatment of packets by Linux.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Handling {
    /// A queue discipline.
    Discipline(Qdisc),
    /// A classifier that drops packets, and queues none.
    Classifier(LossProgram),
}

impl Handling {
    /// Kinds of the required queue disciplines.
    pub(crate) fn kinds(&self) -> Vec<&str> {
        match self {
            Handling::Discipline(qdisc) => qdisc.kinds().collect(),
            Handling::Classifier(_) => vec!["clsact"],
        }
    }

    /// Lines of `tc` that add or change the treatment at a device.
    pub(crate) fn lines(&self, verb: &str, device: &str) -> Vec<String> {
        match self {
            Handling::Discipline(qdisc) => qdisc.lines(verb, device),
            Handling::Classifier(_) => Vec::new(),
        }
    }
}

/// An element, and the packets that it receives.
#[derive(Clone, Copy, Debug)]
pub(super) struct ElementContext {
    /// Index of the element.
    pub(super) element: usize,
    /// Seed of the element's random numbers.
    pub(super) seed: u64,
    /// The largest packet of the run.
    pub(super) packet_bytes: u32,
}

/// Hops of an element. The error is a sentence on what Linux cannot do.
pub(super) fn hops(context: ElementContext, kind: &ElementKind) -> Result<Vec<Hop>, String> {
    let rest = |handling| vec![Hop { element: context.element, is_queue: false, handling }];
    Ok(match kind {
        ElementKind::Link(link) => {
            // Linux must be able to honour later rates, too.
            for rate in link.changes.iter().filter_map(|change| change.rate_bit_per_s) {
                link_hops(context, link, rate, 0)?;
            }
            link_hops(context, link, link.rate_bit_per_s, link.delay_ns)?
        }
        ElementKind::Delay(delay) => rest(Handling::Discipline(netem_delay(delay.delay_ns))),
        ElementKind::Loss(loss) => rest(Handling::Classifier(independent(loss, context.seed)?)),
        ElementKind::GilbertElliott(model) => rest(Handling::Classifier(in_bursts(model, context.seed)?)),
        _ => return Err(no_hop(kind)),
    })
}

/// Hops of a link with a rate and a delay.
///
/// `tbf` releases a packet when its transmission *begins*. A second hop, `netem` with the same rate, holds
/// the packet until its transmission ends, and for the propagation delay. No queue builds up there, since
/// packets arrive at that rate at most.
pub(super) fn link_hops(
    context: ElementContext,
    link: &LinkSpec,
    rate: u64,
    delay_ns: u64,
) -> Result<Vec<Hop>, String> {
    let queue =
        shaper(rate, &link.queue, context.packet_bytes).map_err(|problem| format!("queue.{problem}"))?;
    let element = context.element;
    Ok(vec![
        Hop { element, is_queue: true, handling: Handling::Discipline(queue) },
        Hop { element, is_queue: false, handling: Handling::Discipline(netem_serialiser(rate, delay_ns)) },
    ])
}

/// Refusal of an element, by its name in a run.
fn no_hop(kind: &ElementKind) -> String {
    let kind =
        serde_json::to_value(kind).ok().and_then(|value| Some(value.get("kind")?.as_str()?.to_owned()));
    format!(
        "Linux has no {}; it has link, delay, loss and gilbert_elliott",
        kind.unwrap_or_else(|| "such element".to_owned())
    )
}
