//! The path under which a proxy shows a server to the world.

use axum::http::{Request, Uri, uri::PathAndQuery};
use std::fmt;
use std::str::FromStr;

/// The most characters of a base path.
const LENGTH: usize = 64;

/// First parts of the paths that a server has: a base path that began so could not be told from them.
const OWN: [&str; 10] =
    ["c", "console", "dev", "docs", "livez", "metrics", "openapi.json", "problems", "readyz", "v1"];

/// The path under which a proxy shows a server, such as `/queue`; empty if it has a host of its own.
///
/// Requests are answered with it and without it: whether the proxy removes it does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BasePath(String);

impl BasePath {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a target without it, if that begins with it and goes on as a path.
    pub(crate) fn without<'a>(&self, target: &'a str) -> &'a str {
        target.strip_prefix(&self.0).filter(|rest| rest.starts_with('/')).unwrap_or(target)
    }

    /// Removes it from the path of a request, if that begins with it.
    pub(crate) fn remove_from<B>(&self, request: &mut Request<B>) {
        if self.0.is_empty() {
            return;
        }
        let whole = request.uri().path_and_query().map_or("", PathAndQuery::as_str);
        let rest = match whole.strip_prefix(&self.0) {
            Some(rest) if rest.starts_with('/') => rest.to_owned(),
            Some(rest) if rest.is_empty() || rest.starts_with('?') => format!("/{rest}"),
            Some(_) | None => return,
        };
        let mut parts = request.uri().clone().into_parts();
        parts.path_and_query = rest.parse().ok();
        if let Ok(without) = Uri::from_parts(parts) {
            *request.uri_mut() = without;
        }
    }
}

impl FromStr for BasePath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = |c: u8| c.is_ascii_alphanumeric() || b"-._~".contains(&c);
        let is_part = |part: &str| !["", ".", ".."].contains(&part) && part.bytes().all(plain);
        let parts = text.strip_prefix('/').filter(|parts| parts.split('/').all(is_part));
        let Some(parts) = parts.filter(|_| text.len() <= LENGTH) else {
            return Err(format!(
                "must be a path like `/queue`: `/` and A-Z, a-z, 0-9, `-`, `.`, `_`, `~`, without `/` at its end, at most \
                 {LENGTH} characters, not `{text}`"
            ));
        };
        let first = parts.split('/').next().unwrap_or_default();
        if OWN.contains(&first) {
            return Err(format!(
                "may not begin with `/{first}`: the server itself has paths there"
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for BasePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::paths_and_methods;

    #[test]
    fn it_is_a_path_that_no_route_has() {
        for good in ["/queue", "/a/b.c/D-1_~", "/cc", "/v2"] {
            assert_eq!(good.parse::<BasePath>().as_ref().map(BasePath::as_str), Ok(good));
        }
        let long = format!("/{}", "a".repeat(LENGTH));
        for bad in [
            "", "/", "queue", "/queue/", "//queue", "/a//b", "/a/../b", "/.", "/a b", "/a%20b",
            "/a?b", "/ü", &long,
        ] {
            assert!(bad.parse::<BasePath>().is_err(), "{bad}");
        }
        let routes = paths_and_methods();
        let others = ["/docs", "/problems/x", "/c/x", "/console", "/dev/clock"];
        for path in routes.iter().map(|(path, _)| path.as_str()).chain(others) {
            let first = path.split('/').nth(1).unwrap_or_default();
            let said = format!("/{first}/more").parse::<BasePath>();
            assert!(said.is_err_and(|why| why.contains("may not begin")), "{path}");
        }
    }

    #[test]
    fn it_is_removed_where_it_stands_whole_at_the_beginning() {
        let base: BasePath = "/queue".parse().expect("a path");
        let without = |uri: &str| {
            let mut request = Request::builder().uri(uri).body(()).expect("a request");
            base.remove_from(&mut request);
            request.uri().to_string()
        };
        for (uri, is) in [
            ("/queue/v1/time?min_position=1.2", "/v1/time?min_position=1.2"),
            ("/queue/", "/"),
            ("/queue", "/"),
            ("/queue?a=b", "/?a=b"),
            ("/queue/queue", "/queue"),
            ("/queues/v1/time", "/queues/v1/time"),
            ("/v1/time", "/v1/time"),
            ("http://shop.example/queue/docs", "http://shop.example/docs"),
            ("*", "*"),
        ] {
            assert_eq!(without(uri), is, "{uri}");
        }
    }
}
