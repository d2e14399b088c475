//! What the worst command of each kind costs that a server lets in: how long one entry with it holds the state's lock.
//!
//! `cargo run --release -p firstcome-core --example worst [CLAIMS]` prints one table; the hall has 200,000 seats, the large
//! campaign 10,000,000 claims unless told otherwise.

#![expect(clippy::disallowed_methods, reason = "this measures time; the rules do not")]
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

mod hall;
mod large;

fn main() {
    let claims = std::env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(10_000_000);
    println!("{:>44} {:>10} us", "one entry with", "worst");
    let show = |found: Vec<hall::Worst>| {
        for (what, took) in found {
            println!("{what:>44} {:>10.0} us", took.as_secs_f64() * 1e6);
        }
    };
    show(hall::worst());
    show(large::worst(claims));
}
