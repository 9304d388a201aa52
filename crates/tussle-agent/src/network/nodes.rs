//! Nodes, which connect elements and hosts.

use std::collections::HashMap;

use tussle_core::Run;

/// Assignment of the ends of elements and of hosts to nodes, which are numbered in the order of the elements
/// and flows that touch them.
#[derive(Debug)]
pub(crate) struct Nodes {
    elements: HashMap<String, usize>,
    flows: usize,
    /// Node of each end: entry and exit of each element, then sender and receiver of each flow.
    of_end: Vec<usize>,
    count: usize,
}

impl Nodes {
    /// Finds the nodes of a run that [`Run::check`] accepts.
    pub(crate) fn of(run: &Run) -> Nodes {
        let elements: HashMap<_, _> =
            run.elements.iter().enumerate().map(|(index, element)| (element.name.clone(), index)).collect();
        let first_host = 2 * run.elements.len();
        let mut union = Union((0..first_host + 2 * run.flows.len()).collect());
        for (index, flow) in run.flows.iter().enumerate() {
            let sender = first_host + 2 * index;
            for (path, from, to) in [(&flow.forward, sender, sender + 1), (&flow.reverse, sender + 1, sender)]
            {
                let mut at = from;
                for name in path {
                    union.join(at, 2 * elements[name]);
                    at = 2 * elements[name] + 1;
                }
                union.join(at, to);
            }
        }
        let mut numbers = HashMap::new();
        let of_end = (0..union.0.len())
            .map(|end| {
                let next = numbers.len();
                *numbers.entry(union.root(end)).or_insert(next)
            })
            .collect();
        Nodes { flows: run.flows.len(), count: numbers.len(), elements, of_end }
    }

    /// Number of nodes.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Index of the element with a name.
    pub(crate) fn index(&self, name: &str) -> usize {
        self.elements[name]
    }

    /// Nodes where packets enter and leave an element.
    pub(crate) fn of_element(&self, index: usize) -> (usize, usize) {
        (self.of_end[2 * index], self.of_end[2 * index + 1])
    }

    /// Nodes of the sender and the receiver of a flow.
    pub(crate) fn of_flow(&self, index: usize) -> (usize, usize) {
        let sender = self.of_end.len() - 2 * (self.flows - index);
        (self.of_end[sender], self.of_end[sender + 1])
    }
}

/// Union-find, with the smallest member as the root.
struct Union(Vec<usize>);

impl Union {
    fn root(&mut self, mut of: usize) -> usize {
        while self.0[of] != of {
            self.0[of] = self.0[self.0[of]];
            of = self.0[of];
        }
        of
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}
