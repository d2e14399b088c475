//! The address a request came from, also through proxies.
//!
//! Anybody can write a header. So headers are read only when the
//! connection comes from a proxy that is trusted, from the right, where that proxy wrote, and no
//! further than the first address that is not a trusted proxy itself.

mod forwarded;

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A range of addresses, such as `10.0.0.0/8`; a single one is a range, too.
///
/// An IPv4 range that is written as IPv6 (`::ffff:10.0.0.0/104`) is kept as IPv4: peers are compared in that form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(IpNet);

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("must be addresses such as `10.0.0.7` or `10.0.0.0/8`, not `{text}`");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        // Read by the standard library: `ipnet` takes `010.0.0.1`, which some programs read as 8.0.0.1.
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let whole = IpNet::from(address);
        let bits = bits.unwrap_or(whole.max_prefix_len());
        let network = IpNet::new(address, bits).map_err(|_| wrong())?;
        let canonical = address.to_canonical();
        if canonical.is_ipv4() && address.is_ipv6() {
            let bits = bits.checked_sub(96).ok_or_else(wrong)?;
            return IpNet::new(canonical, bits).map(Self).map_err(|_| wrong());
        }
        Ok(Self(network))
    }
}

impl From<Network> for IpNet {
    fn from(network: Network) -> Self {
        network.0
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(network) = self;
        if network.prefix_len() == network.max_prefix_len() {
            write!(f, "{}", network.addr())
        } else {
            write!(f, "{network}")
        }
    }
}

/// The header in which proxies say whom they speak for. One is believed, never both: a proxy
/// passes on the one it does not write as it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// `X-Forwarded-For`.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

impl Header {
    /// Returns the word the configuration uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::XForwardedFor => "x-forwarded-for",
            Self::Forwarded => "forwarded",
        }
    }
}

impl FromStr for Header {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::XForwardedFor, Self::Forwarded]
            .into_iter()
            .find(|header| header.as_str() == text)
            .ok_or_else(|| format!("must be x-forwarded-for or forwarded, not `{text}`"))
    }
}

/// The proxies whose word is believed.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    /// Where they connect from.
    pub trusted: Vec<Network>,
    /// What they write.
    pub header: Header,
}

impl Proxies {
    /// Returns the address a request came from.
    ///
    /// With trusted proxies it is the right-most one in the header that is none of them; where the
    /// header ends before that, or says something else than an address, it is the last proxy known.
    pub fn origin(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut origin = peer.to_canonical();
        if !self.trusts(origin) {
            return origin;
        }
        let name = HeaderName::from_static(self.header.as_str());
        for line in headers.get_all(name).iter().rev() {
            let line = String::from_utf8_lossy(line.as_bytes());
            let goes_on = match self.header {
                Header::XForwardedFor => {
                    let hops = line.rsplit(',').map(|hop| address(hop.trim()));
                    self.follow(hops, &mut origin)
                }
                Header::Forwarded => {
                    let hops = forwarded::senders(&line).unwrap_or_else(|| vec![None]);
                    self.follow(hops.into_iter().rev(), &mut origin)
                }
            };
            if !goes_on {
                break;
            }
        }
        origin
    }

    /// Follows hops as long as each is a trusted proxy; says whether all of them are.
    fn follow(&self, hops: impl Iterator<Item = Option<IpAddr>>, origin: &mut IpAddr) -> bool {
        for hop in hops {
            let Some(address) = hop else { return false };
            *origin = address;
            if !self.trusts(address) {
                return false;
            }
        }
        true
    }

    /// Says whether an address is that of a trusted proxy.
    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.trusted.iter().any(|Network(network)| network.contains(&address))
    }
}

/// Reads an address, with or without a port.
fn address(node: &str) -> Option<IpAddr> {
    let address: IpAddr = if let Some(v6) = node.strip_prefix('[') {
        v6.split_once(']')?.0.parse().ok()?
    } else if let Ok(address) = node.parse() {
        address
    } else {
        node.rsplit_once(':')?.0.parse().ok()?
    };
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn origin(proxies: &str, header: Header, peer: &str, lines: &[&str]) -> String {
        let trusted = proxies.split(' ').filter(|p| !p.is_empty()).map(|p| p.parse().unwrap());
        let proxies = Proxies { trusted: trusted.collect(), header };
        let mut headers = HeaderMap::new();
        for line in lines {
            let value = HeaderValue::from_bytes(line.as_bytes()).unwrap();
            headers.append(header.as_str(), value);
        }
        proxies.origin(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn a_network_reads_back_as_it_is_printed_and_knows_its_own() {
        for text in ["10.0.0.0/8", "10.1.2.3", "::1", "fd00::/8", "0.0.0.0/0", "::/0", "10.1.2.3/8"]
        {
            assert_eq!(text.parse::<Network>().unwrap().to_string(), text);
        }
        for bad in [
            "",
            "10.0.0.0/33",
            "::/129",
            "10.0.0",
            "host",
            "10.0.0.0/-1",
            "10.0.0.0/",
            "010.0.0.1",
            "10.0.0.010/8",
            "10.0.0.0/8/8",
            " 10.0.0.0/8",
            "10.0.0.0/256",
        ] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
        let has = |network: &str, address: &str| {
            let address: IpAddr = address.parse().unwrap();
            network.parse::<Network>().unwrap().0.contains(&address)
        };
        assert!(has("10.0.0.0/8", "10.255.0.1") && !has("10.0.0.0/8", "11.0.0.1"));
        assert!(has("0.0.0.0/0", "255.1.2.3") && !has("0.0.0.0/0", "::1"));
        assert!(has("fd00::/8", "fdff::1") && !has("fd00::/8", "fc00::1"));
        assert!(has("10.1.2.3/8", "10.9.9.9") && !has("10.1.2.3/8", "11.1.2.3"));
        assert!(has("10.1.2.3", "10.1.2.3") && !has("10.1.2.3", "10.1.2.2"));
    }

    #[test]
    fn an_ipv4_network_may_be_written_as_ipv6() {
        for (written, read) in [
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("::ffff:0:0/96", "0.0.0.0/0"),
        ] {
            assert_eq!(written.parse::<Network>().unwrap().to_string(), read);
        }
        // It would be a part of IPv6 and all of IPv4.
        assert!("::ffff:0:0/95".parse::<Network>().is_err());
        let x = |proxies| origin(proxies, Header::XForwardedFor, "10.0.0.1", &["1.1.1.1"]);
        assert_eq!(x("::ffff:10.0.0.1"), "1.1.1.1");
        assert_eq!(x("::ffff:10.0.0.0/104"), "1.1.1.1");
    }

    #[test]
    fn only_a_trusted_proxy_is_believed_and_only_what_it_wrote_itself() {
        let x = |proxies: &str, peer: &str, lines: &[&str]| {
            origin(proxies, Header::XForwardedFor, peer, lines)
        };
        // Nobody is trusted: whatever the header says is the caller's own invention.
        assert_eq!(x("", "9.9.9.9", &["1.1.1.1"]), "9.9.9.9");
        assert_eq!(x("10.0.0.0/8", "9.9.9.9", &["1.1.1.1"]), "9.9.9.9");
        // The proxy wrote what is on the right; what stands left of it came with the request.
        assert_eq!(x("10.0.0.0/8", "10.0.0.1", &["6.6.6.6, 1.1.1.1"]), "1.1.1.1");
        assert_eq!(x("10.0.0.0/8", "10.0.0.1", &["6.6.6.6, 1.1.1.1, 10.0.0.2"]), "1.1.1.1");
        assert_eq!(x("10.0.0.0/8", "10.0.0.1", &["6.6.6.6", "1.1.1.1", "10.0.0.2"]), "1.1.1.1");
        // Nothing, or nonsense, from the right on: the last one that is known.
        assert_eq!(x("10.0.0.0/8", "10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(x("10.0.0.0/8", "10.0.0.1", &["1.1.1.1, unknown"]), "10.0.0.1");
        assert_eq!(x("10.0.0.0/8", "10.0.0.1", &["unknown, 10.0.0.2"]), "10.0.0.2");
        assert_eq!(x("10.0.0.0/8", "10.0.0.1", &["10.0.0.3,10.0.0.2"]), "10.0.0.3");
        // With ports, with brackets, and an IPv4 address mapped into IPv6.
        assert_eq!(x("10.0.0.0/8", "::ffff:10.0.0.1", &["1.1.1.1:4711"]), "1.1.1.1");
        assert_eq!(x("::1", "::1", &["[2001:db8::7]:4711"]), "2001:db8::7");
        assert_eq!(x("::1", "::1", &["2001:db8::7"]), "2001:db8::7");
        assert_eq!(x("::1", "::1", &["::ffff:1.1.1.1"]), "1.1.1.1");
    }

    #[test]
    fn the_other_header_says_the_same_with_more_words() {
        let f = |lines: &[&str]| origin("10.0.0.0/8", Header::Forwarded, "10.0.0.1", lines);
        assert_eq!(f(&["for=6.6.6.6, for=1.1.1.1;proto=https;by=10.0.0.1"]), "1.1.1.1");
        assert_eq!(f(&["proto=https; For=\"[2001:db8::7]:4711\""]), "2001:db8::7");
        assert_eq!(f(&["for=1.1.1.1, for=_hidden"]), "10.0.0.1");
        assert_eq!(f(&["1.1.1.1"]), "10.0.0.1");
        assert_eq!(f(&["for=1.1.1.1:4711;;host=a.example:80 , for=10.0.0.2"]), "1.1.1.1");
        assert_eq!(f(&["for=1.1.1.1", "for=\"10.0.0.2\""]), "1.1.1.1");
    }

    #[test]
    fn what_a_client_has_a_proxy_put_in_quotes_is_not_where_it_came_from() {
        let f = |lines: &[&str]| origin("10.0.0.0/8", Header::Forwarded, "10.0.0.1", lines);
        // The client's Host, passed on in quotes.
        assert_eq!(f(&["proto=http;host=\"x;for=6.6.6.6\";for=2.2.2.2"]), "2.2.2.2");
        assert_eq!(f(&["for=3.3.3.3;host=\"x,for=7.7.7.7\""]), "3.3.3.3");
        assert_eq!(f(&["for=3.3.3.3;host=\"x\\\",for=7.7.7.7\""]), "3.3.3.3");
        // Not in quotes: two that say where it came from, one of them is the client's.
        assert_eq!(f(&["for=3.3.3.3;host=x;for=7.7.7.7"]), "10.0.0.1");
        // A quote that the client opens in its own part of the line is never closed to its advantage.
        for line in [
            "for=\"6.6.6.6, for=2.2.2.2",
            "for=6.6.6.6;x=\", for=\"[2001:db8::7]:80\"",
            "x=\", for=2.2.2.2;host=\",for=7.7.7.7;q=\"",
            "x=\", for=2.2.2.2;host=\",for=7.7.7.7\"",
            "for=2.2.2.2;host=\"x\\\"",
            "for=\"2.2.2.2\"x",
            "for = 2.2.2.2",
            "for=2.2.2.2 for=7.7.7.7",
            "=2.2.2.2",
            "",
        ] {
            assert_eq!(f(&[line]), "10.0.0.1", "{line}");
        }
        // Nor does it reach the line that the proxy wrote.
        assert_eq!(f(&["for=\"6.6.6.6", "for=2.2.2.2"]), "2.2.2.2");
    }
}
