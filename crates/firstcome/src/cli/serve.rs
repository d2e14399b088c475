//! `serve`: flags as typed become overrides; what applies is resolved in one place.

pub(super) mod dev;
pub(super) mod health;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;

use super::complaint::{Complaint, Exit};
use super::terminal::out;
use crate::config::{ConfigError, Overrides, print, print_json, resolve_here};
use crate::serve::ConfigFile;

/// Options of `serve`, one for each setting that may be seen on a command line.
#[derive(Debug, Args)]
#[command(after_help = "\
Every setting can also be in the file of --config as NAME = VALUE, or in the environment as FIRSTCOME_NAME \
(upper case, `_` for `-`). A flag has priority over the environment, and the environment over the file.

The first admin key is FIRSTCOME_ADMIN_KEY (at least 16 characters). Without it a key is generated into \
DATA/admin-key, and the server then listens on loopback only. Other keys are [[keys]] entries of the file:
  [[keys]]
  name = \"shop\"
  sha256 = \"…\"            # printf %s KEY | sha256sum
  role = \"backend\"        # admin, operator, backend, redeem or read
  campaigns = \"spring-\"   # optional: only campaigns whose names begin so
  expires = \"2028-01-31T00:00:00Z\"   # optional: refused from then on
A running server takes [[keys]] and log_level from the file when it changes.

Coupon codes are made with a key. With the embedded store it is generated into DATA/code-key: keep a copy, without it no code \
can be read. Servers on one store have the same [[code_keys]] entries; the first makes the codes of new pools:
  [[code_keys]]
  id = \"2027-03\"
  secret = \"…\"            # openssl rand -base64 32

To run several servers on one store, start each with the same --store, --space and FIRSTCOME_ADMIN_KEY. Every server \
answers every request; an elected leader writes results to the ledger, and snapshots.

Examples:
  firstcome serve
  FIRSTCOME_ADMIN_KEY=a-long-enough-secret firstcome serve \\
    --data /var/lib/firstcome --listen 0.0.0.0:8080
  FIRSTCOME_ADMIN_KEY=a-long-enough-secret firstcome serve \\
    --store redis://10.0.0.5:6379 --listen 0.0.0.0:8080
  firstcome serve --config firstcome.toml --print-config")]
pub(super) struct ServeArgs {
    /// Configuration file (TOML); also FIRSTCOME_CONFIG.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the effective settings and where each came from, and end.
    #[arg(long)]
    print_config: bool,
    /// Log every request, too: the same as --log-level debug.
    #[arg(short, long, conflicts_with = "log_level")]
    verbose: bool,
    /// Folder of journal, ledger, archive and generated admin key [default: ./firstcome-data].
    #[arg(long, value_name = "FOLDER", help_heading = "Data and store")]
    data: Option<String>,
    /// URL of the Redis or Valkey that several servers share, instead of the embedded store. If it has a password, set it
    /// as FIRSTCOME_STORE: all users of the machine can read a command line.
    #[arg(long, value_name = "URL", help_heading = "Data and store")]
    store: Option<String>,
    /// PEM file with the certificate authorities for a rediss:// store [default: the system's].
    #[arg(long, value_name = "FILE", help_heading = "Data and store")]
    store_ca: Option<String>,
    /// Where an entry is stored before its answer is sent: auto, memory, copies=N or fsync [default: auto].
    #[arg(long, value_name = "LEVEL", help_heading = "Data and store")]
    durability: Option<String>,
    /// What happens to commands while the store's settings promise less than that: refuse, or warn and go on
    /// [default: refuse].
    #[arg(long, value_name = "WHAT", help_heading = "Data and store")]
    when_less_durable: Option<String>,
    /// A store that was emptied: wait for an operator, or reseed: the server that has the space furthest puts it back
    /// [default: wait].
    #[arg(long, value_name = "WHAT", help_heading = "Data and store")]
    on_emptied: Option<String>,
    /// Milliseconds until another server leads after the leader was killed [default: 3000].
    #[arg(long, value_name = "MS", help_heading = "Data and store")]
    leader_lease_ms: Option<String>,
    /// URL of this server for other servers [default: its listen address].
    #[arg(long, value_name = "URL", help_heading = "Addresses")]
    advertise: Option<String>,
    /// Name of this deployment in the store [default: main].
    #[arg(long, value_name = "NAME", help_heading = "Data and store")]
    space: Option<String>,
    /// Identity that the space in a shared store must have: no other one is entered or made [default: whichever is there].
    #[arg(long, value_name = "ID", help_heading = "Data and store")]
    space_id: Option<String>,
    /// Make a space at once where the shared store has none; else a server first looks for 3 s whether one that runs has it.
    #[arg(long, help_heading = "Data and store")]
    new_space: bool,
    /// Monitoring addresses of the store's NATS servers, http://HOST:PORT with commas between: fsync is used if they prove
    /// that each server syncs each write [default: none].
    #[arg(long, value_name = "URLS", help_heading = "Data and store")]
    nats_monitor: Option<String>,
    /// Time after which these addresses are asked again [default: 1m].
    #[arg(long, value_name = "TIME", help_heading = "Data and store")]
    nats_monitor_every: Option<String>,
    /// Address and port; port 0 picks a free one [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS", help_heading = "Addresses")]
    listen: Option<String>,
    /// A separate address and port for /livez, /readyz and /metrics, without a key [default: none].
    #[arg(long, value_name = "ADDRESS", help_heading = "Addresses")]
    ops_listen: Option<String>,
    /// PEM file with the certificate for TLS at both addresses, and those that lead to its authority; read again when it
    /// changes [default: none].
    #[arg(long, value_name = "FILE", help_heading = "Addresses")]
    tls_cert: Option<String>,
    /// PEM file with its private key [default: none].
    #[arg(long, value_name = "FILE", help_heading = "Addresses")]
    tls_key: Option<String>,
    /// PEM file with the authorities of which clients must show a certificate [default: none].
    #[arg(long, value_name = "FILE", help_heading = "Addresses")]
    tls_client_ca: Option<String>,
    /// Seconds for which browsers are told to come with TLS only [default: none].
    #[arg(long, value_name = "SECONDS", help_heading = "Addresses")]
    hsts_s: Option<String>,
    /// Path under which a proxy shows the server, such as /queue; the proxy may remove it or not [default: none].
    #[arg(long, value_name = "PATH", help_heading = "Addresses")]
    base_path: Option<String>,
    /// The ledger: sqlite, sqlite:FILE, none, postgres://… or mysql://…; if it has a password, set it as FIRSTCOME_LEDGER
    /// [default: sqlite; none with a store].
    #[arg(long, value_name = "KIND", help_heading = "Ledger and journal")]
    ledger: Option<String>,
    /// Commands that may wait for the journal; more get `busy` [default: 16384].
    #[arg(long, value_name = "COUNT", help_heading = "Limits")]
    queue: Option<String>,
    /// Milliseconds a command may wait for its answer [default: 5000].
    #[arg(long, value_name = "MS", help_heading = "Times")]
    command_wait_ms: Option<String>,
    /// Connections at one time [default: 10000].
    #[arg(long, value_name = "COUNT", help_heading = "Limits")]
    connections: Option<String>,
    /// Largest request body in bytes [default: 65536].
    #[arg(long, value_name = "BYTES", help_heading = "Limits")]
    body_bytes: Option<String>,
    /// Milliseconds a client may take to send a request's header [default: 10000].
    #[arg(long, value_name = "MS", help_heading = "Times")]
    header_ms: Option<String>,
    /// Milliseconds a connection may be idle, and an answer unread [default: 75000].
    #[arg(long, value_name = "MS", help_heading = "Times")]
    idle_ms: Option<String>,
    /// Milliseconds a stream of events may last [default: 600000].
    #[arg(long, value_name = "MS", help_heading = "Times")]
    stream_max_ms: Option<String>,
    /// Milliseconds a hold may wait for taken seats [default: 3000].
    #[arg(long, value_name = "MS", help_heading = "Times")]
    hold_wait_ms: Option<String>,
    /// Milliseconds for which the server still answers after SIGTERM, while /readyz is 503 [default: 5000].
    #[arg(long, value_name = "MS", help_heading = "Times")]
    leave_ms: Option<String>,
    /// Milliseconds for open requests when the server stops [default: 10000].
    #[arg(long, value_name = "MS", help_heading = "Times")]
    drain_ms: Option<String>,
    /// Milliseconds between two writes of results to the ledger [default: 200].
    #[arg(long, value_name = "MS", help_heading = "Ledger and journal")]
    settle_interval_ms: Option<String>,
    /// Milliseconds that results wait for the ledger while new ones keep coming [default: 2000].
    #[arg(long, value_name = "MS", help_heading = "Ledger and journal")]
    settle_delay_ms: Option<String>,
    /// Results that end this wait early [default: 100000].
    #[arg(long, value_name = "COUNT", help_heading = "Ledger and journal")]
    settle_delay_results: Option<String>,
    /// Time for which a closed campaign with all results in the ledger stays in memory, or `never` [default: 30d].
    #[arg(long, value_name = "TIME", help_heading = "Ledger and journal")]
    keep_for: Option<String>,
    /// MiB of journal after which a snapshot is due [default: 64].
    #[arg(long, value_name = "MIB", help_heading = "Ledger and journal")]
    snapshot_mib: Option<String>,
    /// Time after which a snapshot is due [default: 5m].
    #[arg(long, value_name = "TIME", help_heading = "Ledger and journal")]
    snapshot_every: Option<String>,
    /// Whether trimmed journal entries go to DATA/archive [default: true].
    #[arg(long, value_name = "BOOL", help_heading = "Ledger and journal")]
    archive: Option<String>,
    /// MiB that campaigns may take [default: half of the memory of the machine or its container].
    #[arg(long, value_name = "MIB", help_heading = "Limits")]
    memory_limit_mib: Option<String>,
    /// Results that may wait for the ledger [default: 10000000].
    #[arg(long, value_name = "COUNT", help_heading = "Ledger and journal")]
    outbox_max: Option<String>,
    /// Form of the log on standard error: text or json [default: text on a terminal, otherwise json].
    #[arg(long, value_name = "FORM", help_heading = "Log")]
    log_format: Option<String>,
    /// Lowest level of log lines: error, warn, info or debug [default: info].
    #[arg(long, value_name = "LEVEL", help_heading = "Log")]
    log_level: Option<String>,
    /// Requests of one subject, such as 5/s or "300/m burst 20", or none [default: none; 20/s burst 40 with subject
    /// tokens].
    #[arg(long, value_name = "RATE", help_heading = "Limits")]
    rate_subject: Option<String>,
    /// Requests of one key without its own rate, or none [default: none].
    #[arg(long, value_name = "RATE", help_heading = "Limits")]
    rate_key: Option<String>,
    /// Requests of one address, or none [default: none].
    #[arg(long, value_name = "RATE", help_heading = "Limits")]
    rate_address: Option<String>,
    /// Subjects, and addresses, whose request rate is remembered [default: 65536].
    #[arg(long, value_name = "COUNT", help_heading = "Limits")]
    rate_entries: Option<String>,
    /// Accepted subjects: any, or strict (no white space at the ends, no invisible characters) [default: any].
    #[arg(long, value_name = "WHICH", help_heading = "Limits")]
    subjects: Option<String>,
    /// Proxies whose client addresses are trusted, such as 10.0.0.0/8, separated by commas [default: none].
    #[arg(long, value_name = "ADDRESSES", help_heading = "Addresses")]
    trusted_proxies: Option<String>,
    /// The header with the client address: x-forwarded-for or forwarded [default: x-forwarded-for].
    #[arg(long, value_name = "NAME", help_heading = "Addresses")]
    proxy_header: Option<String>,
    /// Networks to which webhooks are sent although they are not public, such as 10.0.0.0/8, separated by commas [default: none].
    #[arg(long, value_name = "ADDRESSES", help_heading = "Addresses")]
    webhook_allow: Option<String>,
    /// Origins of pages that may call the server, separated by commas, or * [default: none].
    #[arg(long, value_name = "ORIGINS", help_heading = "Addresses")]
    cors_origins: Option<String>,
    /// Pages for people, /c/CAMPAIGN: on or off [default: on].
    #[arg(long, value_name = "ON", help_heading = "Pages")]
    pages: Option<String>,
    /// A folder whose files come before those that the pages have [default: none].
    #[arg(long, value_name = "FOLDER", help_heading = "Pages")]
    pages_dir: Option<String>,
    /// Where people log in and pay; the pages add ?campaign= and &hold= to it [default: none].
    #[arg(long, value_name = "URL", help_heading = "Pages")]
    pages_shop: Option<String>,
    /// Stop when standard input ends: for a parent process that must not leave the server running.
    #[arg(long, hide = true)]
    until_stdin_ends: bool,
}

impl ServeArgs {
    fn overrides(&self) -> Overrides {
        let given = [
            ("data", &self.data),
            ("store", &self.store),
            ("store_ca", &self.store_ca),
            ("durability", &self.durability),
            ("when_less_durable", &self.when_less_durable),
            ("on_emptied", &self.on_emptied),
            ("nats_monitor", &self.nats_monitor),
            ("nats_monitor_every", &self.nats_monitor_every),
            ("leader_lease_ms", &self.leader_lease_ms),
            ("advertise", &self.advertise),
            ("space", &self.space),
            ("space_id", &self.space_id),
            ("listen", &self.listen),
            ("ops_listen", &self.ops_listen),
            ("tls_cert", &self.tls_cert),
            ("tls_key", &self.tls_key),
            ("tls_client_ca", &self.tls_client_ca),
            ("hsts_s", &self.hsts_s),
            ("base_path", &self.base_path),
            ("ledger", &self.ledger),
            ("queue", &self.queue),
            ("command_wait_ms", &self.command_wait_ms),
            ("connections", &self.connections),
            ("body_bytes", &self.body_bytes),
            ("header_ms", &self.header_ms),
            ("idle_ms", &self.idle_ms),
            ("stream_max_ms", &self.stream_max_ms),
            ("hold_wait_ms", &self.hold_wait_ms),
            ("leave_ms", &self.leave_ms),
            ("drain_ms", &self.drain_ms),
            ("settle_interval_ms", &self.settle_interval_ms),
            ("settle_delay_ms", &self.settle_delay_ms),
            ("settle_delay_results", &self.settle_delay_results),
            ("keep_for", &self.keep_for),
            ("snapshot_mib", &self.snapshot_mib),
            ("snapshot_every", &self.snapshot_every),
            ("archive", &self.archive),
            ("memory_limit_mib", &self.memory_limit_mib),
            ("outbox_max", &self.outbox_max),
            ("log_format", &self.log_format),
            ("log_level", &self.log_level),
            ("rate_subject", &self.rate_subject),
            ("rate_key", &self.rate_key),
            ("rate_address", &self.rate_address),
            ("rate_entries", &self.rate_entries),
            ("subjects", &self.subjects),
            ("trusted_proxies", &self.trusted_proxies),
            ("proxy_header", &self.proxy_header),
            ("webhook_allow", &self.webhook_allow),
            ("cors_origins", &self.cors_origins),
            ("pages", &self.pages),
            ("pages_dir", &self.pages_dir),
            ("pages_shop", &self.pages_shop),
        ];
        let mut flags: BTreeMap<_, _> =
            given.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))).collect();
        if self.verbose {
            flags.insert("log_level", "debug".to_owned());
        }
        Overrides { file: self.config.clone(), flags }
    }
}

impl From<ConfigError> for Complaint {
    fn from(error: ConfigError) -> Self {
        Self::usage(error.to_string()).hint(error.hint())
    }
}

pub(super) fn run(args: ServeArgs, json: bool) -> Result<Exit, Complaint> {
    let overrides = args.overrides();
    let resolved = resolve_here(&overrides)?;
    if args.print_config {
        if json {
            out::json(&print_json(&resolved));
        } else {
            out::data(print(&resolved).trim_end());
        }
        return Ok(Exit::Yes);
    }
    if args.until_stdin_ends {
        stop_when_stdin_ends();
    }
    let file = ConfigFile::of(overrides, &resolved);
    let config = crate::config::Config { new_space: args.new_space, ..resolved.config };
    crate::serve::run(config, file, None, json)?;
    Ok(Exit::Yes)
}

/// Asks this process to stop, as a supervisor would, when the process at the other end of stdin has ended.
fn stop_when_stdin_ends() {
    // Detached on purpose: it ends with the process, which is what it waits for.
    std::thread::spawn(|| {
        drop(std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink()));
        use rustix::process::{Signal, getpid, kill_process};
        if kill_process(getpid(), Signal::TERM).is_err() {
            std::process::exit(1);
        }
    });
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::config::SETTINGS;

    #[derive(Debug, Parser)]
    struct Alone {
        #[command(flatten)]
        args: ServeArgs,
    }

    #[test]
    fn every_setting_has_its_flag_and_every_flag_its_setting() {
        let command = Alone::command();
        for setting in SETTINGS {
            let flag = setting.flag();
            let has_flag =
                command.get_arguments().any(|arg| arg.get_long() == flag.strip_prefix("--"));
            assert_eq!(has_flag, !setting.file_only && !setting.secret, "{flag}");
            if has_flag {
                let typed = Alone::parse_from(["serve", &flag, "x"]).args.overrides();
                assert_eq!(typed.flags.keys().collect::<Vec<_>>(), [&setting.key]);
            }
        }
    }
}
