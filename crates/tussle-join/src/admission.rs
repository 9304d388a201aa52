//! Limits on the connections and handshakes of clients that have not shown the code yet.

use std::cmp::Reverse;
use std::collections::hash_map::{Entry, OccupiedEntry};
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};

/// Largest number of connections that have shown neither a ticket nor the code yet. A client's first bytes
/// arrive with its connection, at any RTT. If they are lost, they are retransmitted within 2 s at an RTT of 600 ms.
/// Until then, 250 other connections per second do not displace that of the client.
const MAX_WAITING: usize = 512;
/// Largest number of such connections from one address.
const MAX_WAITING_EACH: usize = 32;
/// Deadline for showing a ticket or the code, in ns.
const DEADLINE_NS: u64 = 5_000_000_000;
/// Handshakes that one address may start at once, and per second.
const ATTEMPTS_EACH: u64 = 10;
/// Handshakes that all addresses may start per second. They take some 20 ms of CPU time.
const ATTEMPTS_ALL: u64 = 200;
/// Handshakes that all addresses may start at once.
const ATTEMPTS_ALL_AT_ONCE: u64 = 2_000;
/// Tokens in the bucket of all addresses that an address must leave to others for each of its recent attempts.
const LEFT_FOR_OTHERS: u64 = 20;
/// Largest number of recent attempts that count against an address's next one. With this limit, an address that is alone
/// is always admitted.
const MAX_RECENT: u64 = 50;
/// Time after which an address's attempt is forgotten, in s.
const FORGOTTEN_IN_S: u64 = 10;
/// Largest number of addresses whose attempts are remembered.
const MAX_ADDRESSES: usize = 4096;
const SECOND_NS: u64 = 1_000_000_000;

/// Reason why a connection is closed before it is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refusal {
    /// The bytes do not follow Tussle's protocol.
    Malformed,
    /// The client does not have the code.
    WrongCode,
    /// The ticket is unknown, or has been used.
    WrongTicket,
    /// The address, or all addresses together, started too many handshakes.
    TooOften,
    /// The connection stayed silent beyond the deadline.
    TooSlow,
    /// The limit of waiting or joined connections is reached.
    Full,
}

impl Refusal {
    /// Every reason, with the words that follow its count.
    pub const ALL: [(Refusal, &str); 6] = [
        (Refusal::Malformed, "not of Tussle's protocol"),
        (Refusal::WrongCode, "with a wrong code"),
        (Refusal::WrongTicket, "with a wrong ticket"),
        (Refusal::TooOften, "too often"),
        (Refusal::TooSlow, "too slow"),
        (Refusal::Full, "too many at once"),
    ];
}

/// Number of refused connections, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused(BTreeMap<Refusal, u64>);

impl Refused {
    /// Number of connections refused for a reason.
    pub fn count(&self, refusal: Refusal) -> u64 {
        self.0.get(&refusal).copied().unwrap_or(0)
    }
}

/// Admission control for connections that are not authenticated yet. The caller numbers the connections.
#[derive(Debug)]
pub struct Admission {
    waiting: BTreeMap<u64, Waiting>,
    /// Number of waiting connections, by address.
    counts: HashMap<IpAddr, usize>,
    /// Number of clients that have joined, by address.
    members: HashMap<IpAddr, usize>,
    attempts: HashMap<IpAddr, Attempts>,
    all: Bucket,
    refused: Refused,
}

#[derive(Debug)]
struct Waiting {
    address: IpAddr,
    since_ns: u64,
    has_handshake: bool,
}

/// Recent handshake attempts of an address.
#[derive(Clone, Copy, Debug)]
struct Attempts {
    left: Bucket,
    /// Recent attempts, in parts of an attempt: one attempt is 10^9 parts.
    recent_parts: u64,
    at_ns: u64,
}

impl Attempts {
    fn none(now_ns: u64) -> Attempts {
        Attempts { left: Bucket::full(ATTEMPTS_EACH, now_ns), recent_parts: 0, at_ns: now_ns }
    }

    fn pass(&mut self, now_ns: u64) {
        self.left.fill(ATTEMPTS_EACH, ATTEMPTS_EACH, now_ns);
        let forgotten_parts = now_ns.saturating_sub(self.at_ns) / FORGOTTEN_IN_S;
        self.recent_parts = self.recent_parts.saturating_sub(forgotten_parts);
        self.at_ns = self.at_ns.max(now_ns);
    }

    fn count(&mut self) {
        self.left.take();
        self.recent_parts = (self.recent_parts + SECOND_NS).min(MAX_RECENT * SECOND_NS);
    }

    /// Tokens in the bucket of all addresses that this address must leave to others.
    fn left_for_others(&self) -> u64 {
        self.recent_parts.div_ceil(SECOND_NS) * LEFT_FOR_OTHERS
    }
}

/// Token bucket for handshake attempts, filled at a constant rate.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Fill level, in parts of an attempt: one attempt is 10^9 parts.
    parts: u64,
    at_ns: u64,
}

impl Bucket {
    fn full(size: u64, now_ns: u64) -> Bucket {
        Bucket { parts: size * SECOND_NS, at_ns: now_ns }
    }

    /// Fills the bucket up to now, at a rate per second.
    fn fill(&mut self, size: u64, rate: u64, now_ns: u64) {
        let since_ns = now_ns.saturating_sub(self.at_ns);
        self.parts = self.parts.saturating_add(since_ns.saturating_mul(rate)).min(size * SECOND_NS);
        self.at_ns = self.at_ns.max(now_ns);
    }

    fn has_one(&self) -> bool {
        self.has_one_beyond(0)
    }

    /// Whether the bucket holds one attempt more than a number of attempts.
    fn has_one_beyond(&self, attempts: u64) -> bool {
        self.parts >= (attempts + 1) * SECOND_NS
    }

    fn take(&mut self) {
        self.parts -= SECOND_NS;
    }
}

impl Admission {
    /// Admission control without any waiting connection.
    pub fn new(now_ns: u64) -> Admission {
        Admission {
            waiting: BTreeMap::new(),
            counts: HashMap::new(),
            members: HashMap::new(),
            attempts: HashMap::new(),
            all: Bucket::full(ATTEMPTS_ALL_AT_ONCE, now_ns),
            refused: Refused::default(),
        }
    }

    /// Adds a new connection. Returns a connection that has to be closed for it, if too many wait: the oldest
    /// of the address with most connections. Connections from addresses of joined clients are closed last, because
    /// joined clients open connections for their flows. Among equals, connections with a completed handshake are
    /// closed last, because only a client that has the code completes its handshake.
    pub fn add(&mut self, connection: u64, address: IpAddr, now_ns: u64) -> Option<u64> {
        let address = network_of(address);
        self.waiting.insert(connection, Waiting { address, since_ns: now_ns, has_handshake: false });
        let own = self.counts.entry(address).or_default();
        *own += 1;
        let is_own_limit = *own > MAX_WAITING_EACH;
        if !is_own_limit && self.waiting.len() <= MAX_WAITING {
            return None;
        }
        let first_to_close = self
            .waiting
            .iter()
            .filter(|(_, waiting)| !is_own_limit || waiting.address == address)
            .min_by_key(|(number, waiting)| {
                let is_member = self.members.contains_key(&waiting.address);
                let fewer = Reverse(self.counts[&waiting.address]);
                (is_member, fewer, waiting.has_handshake, waiting.since_ns, **number)
            })
            .map(|(number, _)| *number)?;
        self.refuse(first_to_close, Refusal::Full);
        Some(first_to_close)
    }

    /// Notes that a client at this address has joined. Its attempt does not count against the next one.
    pub fn join(&mut self, address: IpAddr) {
        let address = network_of(address);
        *self.members.entry(address).or_default() += 1;
        if let Some(attempts) = self.attempts.get_mut(&address) {
            attempts.recent_parts = attempts.recent_parts.saturating_sub(SECOND_NS);
        }
    }

    /// Notes that a client at this address has left.
    pub fn leave(&mut self, address: IpAddr) {
        if let Entry::Occupied(entry) = self.members.entry(network_of(address)) {
            decrement(entry);
        }
    }

    /// Notes that a connection has completed its handshake. It is closed after those that have not.
    pub fn handshake_done(&mut self, connection: u64) {
        if let Some(waiting) = self.waiting.get_mut(&connection) {
            waiting.has_handshake = true;
        }
    }

    /// Whether an address may start a handshake now. The tokens in the bucket of all addresses are reserved for
    /// those with few attempts: an address must leave some of them for each of its recent attempts.
    ///
    /// # Errors
    /// The limit of handshakes is reached: that of this address, or that of all addresses together.
    pub fn try_handshake(&mut self, address: IpAddr, now_ns: u64) -> Result<(), Refusal> {
        let address = network_of(address);
        self.all.fill(ATTEMPTS_ALL_AT_ONCE, ATTEMPTS_ALL, now_ns);
        if self.attempts.len() >= MAX_ADDRESSES && !self.attempts.contains_key(&address) {
            self.forget(now_ns);
        }
        let own = self.attempts.entry(address).or_insert_with(|| Attempts::none(now_ns));
        own.pass(now_ns);
        // Refused attempts of one address do not count against all addresses.
        if !own.left.has_one() || !self.all.has_one_beyond(own.left_for_others()) {
            return Err(Refusal::TooOften);
        }
        own.count();
        self.all.take();
        Ok(())
    }

    /// Forgets addresses without recent attempts; if there are none, the address with the fewest attempts.
    fn forget(&mut self, now_ns: u64) {
        self.attempts.retain(|_, own| {
            own.pass(now_ns);
            own.recent_parts > 0
        });
        if self.attempts.len() >= MAX_ADDRESSES {
            let least =
                self.attempts.iter().min_by_key(|(_, own)| own.recent_parts).map(|(address, _)| *address);
            least.map(|address| self.attempts.remove(&address));
        }
    }

    /// Removes a connection that is authenticated now.
    pub fn admit(&mut self, connection: u64) {
        self.forget_connection(connection);
    }

    fn forget_connection(&mut self, connection: u64) {
        if let Some(waiting) = self.waiting.remove(&connection)
            && let Entry::Occupied(entry) = self.counts.entry(waiting.address)
        {
            decrement(entry);
        }
    }

    /// Counts a connection that is refused, or that closed before it was authenticated.
    pub fn refuse(&mut self, connection: u64, refusal: Refusal) {
        self.forget_connection(connection);
        *self.refused.0.entry(refusal).or_default() += 1;
    }

    /// Refuses the connections whose deadline has passed, and returns them.
    pub fn overdue(&mut self, now_ns: u64) -> Vec<u64> {
        let is_overdue = |waiting: &Waiting| now_ns.saturating_sub(waiting.since_ns) >= DEADLINE_NS;
        let found: Vec<u64> =
            self.waiting.iter().filter(|(_, one)| is_overdue(one)).map(|(number, _)| *number).collect();
        for connection in &found {
            self.refuse(*connection, Refusal::TooSlow);
        }
        found
    }

    /// Number of refused connections so far.
    pub fn refused(&self) -> &Refused {
        &self.refused
    }
}

/// Decrements a count, and removes its entry at 0.
fn decrement(mut entry: OccupiedEntry<'_, IpAddr, usize>) {
    *entry.get_mut() -= 1;
    if *entry.get() == 0 {
        entry.remove();
    }
}

/// The address that attempts are counted by. For IPv6, it is the /64 network of one customer.
fn network_of(address: IpAddr) -> IpAddr {
    const NETWORK: u128 = u128::MAX << 64;
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK)),
        IpAddr::V4(address) => IpAddr::V4(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    /// One of many addresses.
    fn attacker(number: u64) -> IpAddr {
        IpAddr::from((0x0a00_0000 + u32::try_from(number).unwrap()).to_be_bytes())
    }

    #[test]
    fn the_oldest_of_many_connections_from_one_address_are_refused() {
        let mut admission = Admission::new(0);
        let gone: Vec<_> = (0..40).filter_map(|number| admission.add(number, address(1), number)).collect();
        assert_eq!(gone, (0..8).collect::<Vec<_>>());
        assert_eq!(admission.refused().count(Refusal::Full), 8);
        assert_eq!(admission.add(100, address(2), 100), None);
    }

    #[test]
    fn the_oldest_connection_is_refused_for_one_more() {
        let mut admission = Admission::new(0);
        for number in 0..512 {
            let from = u8::try_from(number / 16).unwrap();
            assert_eq!(admission.add(number, address(from), number), None);
        }
        assert_eq!(admission.add(512, address(7), 512), Some(112));
    }

    #[test]
    fn the_oldest_of_single_connections_is_refused() {
        let mut admission = Admission::new(0);
        for number in 0..512 {
            assert_eq!(admission.add(number, attacker(number), number), None);
        }
        assert_eq!(admission.add(512, address(255), 512), Some(0));
        assert_eq!(admission.add(513, attacker(0), 513), Some(1));
    }

    /// The first bytes of the client are lost. They are retransmitted after an RTO of RTT + 2 RTT = 1.8 s.
    #[test]
    fn a_client_on_a_long_path_that_loses_its_first_bytes_is_not_shut_out() {
        let mut admission = Admission::new(0);
        admission.add(0, address(1), 0);
        for number in 1..450 {
            assert_ne!(admission.add(number, attacker(number), number * 4_000_000), Some(0));
        }
    }

    #[test]
    fn a_connection_with_a_handshake_outlives_those_without() {
        let mut admission = Admission::new(0);
        admission.add(1_000, address(0), 0);
        admission.handshake_done(1_000);
        for number in 1..=2_000 {
            assert_ne!(
                admission.add(number + 1_000, address(u8::try_from(number % 200).unwrap()), number),
                Some(1_000)
            );
        }
    }

    #[test]
    fn connections_of_a_client_that_has_joined_are_refused_last() {
        let mut admission = Admission::new(0);
        admission.join(address(250));
        (0..4).for_each(|number| _ = admission.add(number, address(250), 0));
        for number in 4..2_000 {
            let closed = admission.add(number, address(u8::try_from(number % 200).unwrap()), number);
            assert!(closed.is_none_or(|closed| closed >= 4), "{closed:?}");
        }
        admission.leave(address(250));
        assert_eq!(admission.add(2_000, address(0), 2_000), Some(0));
    }

    /// Forty addresses try as often as they may for ten seconds. One more tries once per second.
    #[test]
    fn addresses_that_try_continuously_do_not_shut_out_another() {
        let mut admission = Admission::new(0);
        let mut joined = 0;
        for step in 0..40_u64 {
            let now_ns = step * SECOND_NS / 4;
            for _ in 0..10 {
                (0..40).for_each(|from| _ = admission.try_handshake(address(from), now_ns));
            }
            if step % 4 == 3 {
                joined += u32::from(admission.try_handshake(address(99), now_ns).is_ok());
            }
        }
        assert_eq!(joined, 10);
    }

    /// Five thousand addresses try once in ten seconds each.
    #[test]
    fn more_addresses_than_are_remembered_do_not_shut_out_another() {
        let mut admission = Admission::new(0);
        for number in 0..20_000_u32 {
            let now_ns = u64::from(number) * 2_000_000;
            _ = admission.try_handshake(IpAddr::from((number % 5_000 + 1).to_be_bytes()), now_ns);
        }
        assert_eq!(admission.try_handshake(address(1), 40 * SECOND_NS), Ok(()));
    }

    /// A thousand addresses try at once, and again every second. Twenty others try once each second.
    #[test]
    fn a_thousand_addresses_at_once_do_not_shut_out_others() {
        let mut admission = Admission::new(0);
        for second in 0..10_u8 {
            let now_ns = u64::from(second) * SECOND_NS;
            (0..1_000).for_each(|number| _ = admission.try_handshake(attacker(number), now_ns));
            for client in 0..20 {
                let tried = admission.try_handshake(address(second * 20 + client), now_ns);
                assert_eq!(tried, Ok(()), "client {client} in second {second}");
            }
        }
    }

    /// A thousand addresses try as often as they may for ten seconds. Another one tries in each second.
    #[test]
    fn a_thousand_addresses_that_try_continuously_do_not_shut_out_another() {
        let mut admission = Admission::new(0);
        for step in 0..100_u64 {
            let now_ns = step * SECOND_NS / 10;
            for number in 0..1_000 {
                _ = admission.try_handshake(attacker(number), now_ns);
            }
            if step % 10 == 9 {
                let client = address(u8::try_from(step).unwrap());
                assert_eq!(admission.try_handshake(client, now_ns), Ok(()), "step {step}");
            }
        }
    }

    /// A thousand addresses try once per second. Clients join from one address, one after the other.
    #[test]
    fn clients_of_one_address_join_beside_a_thousand_addresses() {
        let mut admission = Admission::new(0);
        for second in 0..10 {
            let now_ns = second * SECOND_NS;
            for number in 0..1_000 {
                _ = admission.try_handshake(attacker(number), now_ns);
            }
            for _ in 0..5 {
                assert_eq!(admission.try_handshake(address(1), now_ns), Ok(()), "second {second}");
                admission.join(address(1));
                admission.leave(address(1));
            }
        }
    }

    /// Ten attempts at once, then one in each tenth of a second.
    #[test]
    fn attempts_of_an_address_are_limited_by_rate() {
        let mut admission = Admission::new(0);
        let mut tries = |now_ns| admission.try_handshake(address(1), now_ns);
        assert!((0..10).all(|_| tries(0).is_ok()));
        assert_eq!(tries(0), Err(Refusal::TooOften));
        assert_eq!(tries(99_999_999), Err(Refusal::TooOften));
        assert_eq!(tries(100_000_000), Ok(()));
        assert_eq!(tries(100_000_000), Err(Refusal::TooOften));
    }

    #[test]
    fn addresses_of_one_network_share_their_attempts() {
        let mut admission = Admission::new(0);
        let of = |host: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, host]);
        assert!((0..10).all(|host| admission.try_handshake(of(host), 0).is_ok()));
        assert_eq!(admission.try_handshake(of(10), 0), Err(Refusal::TooOften));
        assert_eq!(admission.try_handshake(IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, 1]), 0), Ok(()));
    }

    #[test]
    fn the_number_of_remembered_addresses_is_limited() {
        let mut admission = Admission::new(0);
        for number in 0..100_000_u32 {
            _ = admission.try_handshake(IpAddr::from(number.to_be_bytes()), u64::from(number) * 5_000_000);
            assert!(admission.attempts.len() <= MAX_ADDRESSES);
        }
    }

    #[test]
    fn a_silent_connection_is_refused_after_five_seconds() {
        let mut admission = Admission::new(0);
        admission.add(1, address(1), 0);
        admission.add(2, address(1), 1);
        admission.add(3, address(1), 0);
        admission.admit(3);
        assert_eq!(admission.overdue(4_999_999_999), []);
        assert_eq!(admission.overdue(5_000_000_000), [1]);
        assert_eq!(admission.refused().count(Refusal::TooSlow), 1);
    }
}
