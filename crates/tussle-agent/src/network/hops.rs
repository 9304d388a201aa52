//! What Linux does for each element: one hop or two, each a queue discipline on a device of its own.

use tussle_core::net::path::{ElementKind, LinkSpec};

use super::losses::{LossProgram, in_bursts, independent};
use super::qdisc::{Qdisc, netem_delay, netem_serialiser, shaper};

/// A device's part in an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    /// Index of the element.
    pub(crate) element: usize,
    /// Whether packets wait here: the queue of a link, served at its rate.
    pub(crate) is_queue: bool,
    /// What packets pass through.
    pub(crate) handling: Handling,
}

/// By what Linux does its part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Handling {
    /// A queue discipline.
    Discipline(Qdisc),
    /// A classifier that drops some packets, and queues none.
    Classifier(LossProgram),
}

impl Handling {
    /// The kinds of queue disciplines that it takes.
    pub(crate) fn kinds(&self) -> Vec<&str> {
        match self {
            Handling::Discipline(qdisc) => qdisc.kinds().collect(),
            Handling::Classifier(_) => vec!["clsact"],
        }
    }

    /// What `tc` is told to add it to a device, or to change it there.
    pub(crate) fn lines(&self, verb: &str, device: &str) -> Vec<String> {
        match self {
            Handling::Discipline(qdisc) => qdisc.lines(verb, device),
            Handling::Classifier(_) => Vec::new(),
        }
    }
}

/// Which element, and what comes to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ElementContext {
    /// Its index.
    pub(super) element: usize,
    /// What its dice are seeded by.
    pub(super) seed: u64,
    /// The largest packet of the run.
    pub(super) packet_bytes: u32,
}

/// The hops of an element; an error is a sentence on what Linux cannot do.
pub(super) fn hops(context: ElementContext, kind: &ElementKind) -> Result<Vec<Hop>, String> {
    let rest = |handling| vec![Hop { element: context.element, is_queue: false, handling }];
    Ok(match kind {
        ElementKind::Link(link) => {
            // What it changes to must be possible, too.
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

/// The hops of a link with a rate and a delay.
///
/// `tbf` lets a packet go when its transmission *begins*. A second hop, `netem` with the same rate, holds it until
/// it ends, and then over the wire; no queue builds up there, since packets come no faster.
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

/// Elements are named as in a run.
fn no_hop(kind: &ElementKind) -> String {
    let kind =
        serde_json::to_value(kind).ok().and_then(|value| Some(value.get("kind")?.as_str()?.to_owned()));
    format!(
        "Linux has no {}; it has link, delay, loss and gilbert_elliott",
        kind.unwrap_or_else(|| "such element".to_owned())
    )
}
