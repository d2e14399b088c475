//! How many connections may be open: in all, and from one address; a few more are kept for `/livez` and `/readyz`.

use ipnet::Ipv6Net;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Connections kept for `/livez` and `/readyz` where they have no address of their own: an orchestrator that gets no
/// answer ends a server that only has much to do. Beyond them `too_many_connections`.
pub const KEPT_CONNECTIONS: usize = 32;

/// Connections of `ops_listen`: programs that monitor a server are few. Beyond them `too_many_connections`.
pub const OPS_CONNECTIONS: usize = 32;

/// One address has this part of all connections, and of the kept ones: a fourth. Beyond it `too_many_connections`.
pub const ADDRESS_PART: usize = 4;

/// How long a reserved connection lives, so that a silent client frees it soon; then it is closed.
pub const KEPT_LIFE: Duration = Duration::from_secs(2);

/// Refused connections that get an answer at one time: each is a task for up to 1 s. Beyond them a connection is
/// closed without a word.
pub const REFUSALS: usize = 64;

/// What a connection is admitted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Everything the listener serves.
    Everything,
    /// `/livez` and `/readyz`, for one request: there are too many others.
    Probes(Full),
    Refusal(Full),
}

/// What there are too many connections of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// All together.
    Server,
    /// Those of one address.
    Address(IpAddr, usize),
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server => {
                f.write_str("as many connections are open as this server takes (connections)")
            }
            Self::Address(address, most) => write!(
                f,
                "address {address} has {most} connections open, as many as one may have (a quarter of connections, \
                 but for trusted_proxies)"
            ),
        }
    }
}

/// The connections of one listener.
#[derive(Debug)]
pub(crate) struct Slots {
    most: usize,
    kept: usize,
    of_address: usize,
    taken: Mutex<TakenSlot>,
}

#[derive(Debug, Default)]
struct TakenSlot {
    all: usize,
    kept: usize,
    refusals: usize,
    /// Those of each address that has any and is no trusted proxy: among all, and among the kept ones.
    addresses: BTreeMap<IpAddr, (usize, usize)>,
}

/// The place of one connection, given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    /// Whom it counts for; nobody for a trusted proxy.
    address: Option<IpAddr>,
    pub(crate) admission: Admission,
}

impl Slots {
    /// Begins with none taken; one address may have `of_address` of them.
    pub(crate) fn new(most: usize, of_address: usize, kept: usize) -> Arc<Self> {
        Arc::new(Self { most, of_address, kept, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, TakenSlot> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a connection from an address, `None` for a trusted proxy; nothing if it is not even to be told of
    /// its refusal.
    pub(crate) fn admit(self: &Arc<Self>, address: Option<IpAddr>) -> Option<Slot> {
        let address = address.map(network);
        let mut taken = self.taken();
        let (own, own_kept) =
            address.and_then(|address| taken.addresses.get(&address)).copied().unwrap_or_default();
        let full = match address {
            _ if taken.all >= self.most => Some(Full::Server),
            Some(address) if own >= self.of_address => Some(Full::Address(address, own)),
            Some(_) | None => None,
        };
        let kept_of_one =
            if address.is_some() { self.kept.div_ceil(ADDRESS_PART) } else { self.kept };
        let admission = match full {
            None => Admission::Everything,
            Some(full) if taken.kept < self.kept && own_kept < kept_of_one => {
                Admission::Probes(full)
            }
            Some(full) if taken.refusals < REFUSALS => Admission::Refusal(full),
            Some(_) => return None,
        };
        taken.count(address, admission, |count| *count += 1);
        drop(taken);
        Some(Slot { slots: Arc::clone(self), address, admission })
    }
}

impl TakenSlot {
    fn count(
        &mut self,
        address: Option<IpAddr>,
        admission: Admission,
        change: impl Fn(&mut usize),
    ) {
        let own = |addresses: &mut BTreeMap<IpAddr, (usize, usize)>, kept: bool| {
            let Some(address) = address else { return };
            let counts = addresses.entry(address).or_default();
            change(if kept { &mut counts.1 } else { &mut counts.0 });
            if *counts == (0, 0) {
                addresses.remove(&address);
            }
        };
        match admission {
            Admission::Everything => {
                change(&mut self.all);
                own(&mut self.addresses, false);
            }
            Admission::Probes(_) => {
                change(&mut self.kept);
                own(&mut self.addresses, true);
            }
            Admission::Refusal(_) => change(&mut self.refusals),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.taken().count(self.address, self.admission, |count| *count -= 1);
    }
}

/// What counts as one address: a caller that has one address of an IPv6 network of 64 bits has all of them.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => Ipv6Net::new_assert(v6, 64).network().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn an_address_has_its_share_and_everybody_all_there_are() {
        let slots = Slots::new(8, 2, 0);
        let admit = |text: &str| slots.admit(address(text)).unwrap();
        let one = admit("10.0.0.1");
        let _mapped = admit("::ffff:10.0.0.1");
        let full = Full::Address("10.0.0.1".parse().unwrap(), 2);
        assert_eq!(admit("10.0.0.1").admission, Admission::Refusal(full));
        drop(one);
        let _again = admit("10.0.0.1");
        // Neighbours of a /64 are one.
        let _v6 = [admit("2001:db8::1"), admit("2001:db8::2")];
        assert!(matches!(admit("2001:db8::3").admission, Admission::Refusal(Full::Address(..))));
        // A trusted proxy may have all that are left.
        let _proxy: Vec<Slot> = (0..4).map(|_| slots.admit(None).unwrap()).collect();
        assert_eq!(slots.admit(None).unwrap().admission, Admission::Refusal(Full::Server));
        assert_eq!(admit("10.0.0.9").admission, Admission::Refusal(Full::Server));
    }

    #[test]
    fn who_is_beyond_gets_a_kept_one_a_refusal_or_nothing() {
        let slots = Slots::new(1, 1, 8);
        let all = slots.admit(None).unwrap();
        let admit = |text: &str| slots.admit(address(text));
        let own: Vec<_> = (0..3).map(|_| admit("10.0.0.1").unwrap()).collect();
        let kinds: Vec<_> = own.iter().map(|slot| slot.admission).collect();
        let (probes, refusal) = (Admission::Probes(Full::Server), Admission::Refusal(Full::Server));
        assert_eq!(kinds, [probes, probes, refusal], "a fourth of the kept ones");
        assert_eq!(admit("10.0.0.2").unwrap().admission, probes);
        let told: Vec<_> = (1..REFUSALS).map(|_| admit("10.0.0.1").unwrap()).collect();
        assert!(told.iter().all(|slot| slot.admission == refusal));
        assert!(admit("10.0.0.1").is_none(), "closed without a word");
        drop((own, told, all));
        assert_eq!(admit("10.0.0.1").unwrap().admission, Admission::Everything);
        assert!(slots.taken().addresses.is_empty(), "who has no connection is forgotten");
    }
}
