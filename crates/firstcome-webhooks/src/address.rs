//! Where nothing is sent: an address in a network of this machine or of the team, unless an operator allowed that network.
//!
//! Names are resolved once for each connection, all their addresses are checked, and one of those is connected to: a name
//! that leads elsewhere a moment later leads nobody there.

use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks to which webhooks may be sent although they are not public.
#[derive(Clone, Debug, Default)]
pub struct Allowed(pub Vec<IpNet>);

impl Allowed {
    /// Says whether an operator named a network with this address.
    pub(crate) fn names(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Says whether something may be sent to an address.
    pub(crate) fn may(&self, address: IpAddr) -> bool {
        is_public(address) || self.names(address)
    }
}

/// Says whether an address is one of the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_protocol = (a, b, c) == (192, 0, 0) || (a, b, c) == (192, 88, 99);
    let is_benchmark = a == 198 && (18..20).contains(&b);
    !(a == 0
        || a >= 224
        || is_shared
        || is_protocol
        || is_benchmark
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let words = address.segments();
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match words {
        // Of IPv4, mapped or as NAT64 has it: what stands in it decides.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        // 6to4.
        [0x2002, high, low, ..] => v4(high, low),
        // Teredo, benchmarks, ORCHID, documentation.
        [0x2001, 0 | 2 | 0x10..=0x2f | 0xdb8, ..] | [0x3fff, ..] => false,
        // Only this third of all is given out as public.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_public_is_refused_in_whatever_form() {
        let refused = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.1.2.3",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "3fff::1",
        ];
        for address in refused {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn an_operator_can_allow_a_network() {
        let allowed = Allowed(vec!["10.1.0.0/16".parse().unwrap(), "127.0.0.0/8".parse().unwrap()]);
        assert!(
            allowed.may("10.1.2.3".parse().unwrap())
                && allowed.may("::ffff:10.1.2.3".parse().unwrap())
        );
        assert!(
            allowed.may("127.0.0.1".parse().unwrap()) && allowed.may("1.1.1.1".parse().unwrap())
        );
        assert!(!allowed.may("10.2.0.1".parse().unwrap()) && !allowed.may("::1".parse().unwrap()));
        assert!(
            allowed.names("127.0.0.1".parse().unwrap())
                && !allowed.names("1.1.1.1".parse().unwrap())
        );
    }
}
