//! Many nodes on one store, all of them real processes, under real faults.
//!
//! Each story is told to three servers on a Redis, a PostgreSQL or a MariaDB of their own, each behind a proxy of its own, while
//! a flood of claims holds every answer against all it heard before. What is drawn at random follows
//! from a seed, which is printed; `FIRSTCOME_SEED` draws the same again.

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set up fails its test")]
#![expect(clippy::print_stdout, reason = "figures and seeds are for people")]

mod backups;
mod clocks;
mod clusters;
mod codes;
mod codes_at_once;
mod databases;
mod failovers;
mod flood;
mod forks;
mod kills;
mod leaders;
mod ledgers;
mod less_durable;
mod links;
mod logs;
mod memory;
mod moves;
mod nats_proof;
mod newcomers;
mod pairs;
mod primary;
mod scene;
mod seats;
mod server;
mod skips;
mod space;
mod stores;
mod talk;
mod twins;
mod waitlists;
