//! One server process, from its settings to a clean end.

mod alike;
mod announce;
mod code_keys;
mod config_file;
mod dev;
mod entering;
mod files;
mod last;
mod listen;
mod nats_monitor;
mod serving;
mod settings;
mod shared;
mod signals;
mod store;

use crate::config::{Config, EligibilitySetting, GuardSettings};
use crate::logging::LogLevels;
use crate::{data_folder, logging};
use announce::announce;
use anyhow::{Context, bail};
use data_encoding::HEXLOWER;
use firstcome_api::key::Role;
use firstcome_core::{SpaceId, State};
use firstcome_http::guard::Guards;
use firstcome_http::guard::cors::Origins;
use firstcome_http::guard::eligibility::{Check, Checks};
use firstcome_http::guard::peer::Proxies;
use firstcome_http::guard::rate::{Limiter, Rate, RequestPace};
use firstcome_http::guard::wrong_codes::WrongCodes;
use firstcome_http::limits::{KEPT_CONNECTIONS, MISSES, OPS_CONNECTIONS, REFUSALS};
use firstcome_http::metrics::Metrics;
use firstcome_http::{
    App, BulkRequests, Durability, HttpOptions, Key, KeyTable, MissingKey, Pages, RareOptions,
    Runtimes, SeatMaps, Tls,
};
use firstcome_journal::folder::DataFolder;
use firstcome_node::leader::{self, Leadership};
use firstcome_node::ledger::Ledger;
use firstcome_node::ledger::choice::LedgerChoice;
use firstcome_node::{Core, Event, Given, Limits, Node, RuntimeThread, log};
use firstcome_webhooks::{Allowed, Dispatcher};
use listen::listen;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use serving::{Serving, none_panicked};
use sha2::{Digest, Sha256};
use signals::{StopSignals, stopped_while_starting};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use config_file::ConfigFile;
pub use dev::Dev;

/// The file a generated admin key is kept in.
pub const ADMIN_KEY_FILE: &str = "admin-key";

/// Processors up to which the thread that decides plain requests also answers them (measured with 2).
const FEW_CORES: usize = 2;

/// Serves until a stop signal, then drains. Says where it is on stdout, with `json` as JSON objects. With `dev` nothing outlives it,
/// and its clock may be moved. Keys and the level of the log are taken from `file` again when it changes.
///
/// # Errors
///
/// Anything that keeps the server from starting, or from ending cleanly.
pub fn run(
    config: Config,
    file: Option<ConfigFile>,
    dev: Option<Dev>,
    json: bool,
) -> anyhow::Result<()> {
    // The last to go: what ends a server is said by its caller, behind all that was logged.
    let logging = logging::start(config.log_format, config.log_level);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let (signals, serves) = (StopSignals::listen()?, CancellationToken::new());
        tokio::select! {
            biased;
            ended = serve(config, (file, logging.levels.clone()), dev, serves.clone(), json) => ended,
            () = stopped_while_starting(signals, serves) => {
                log!(Stopped, "stopped while starting: nobody was served");
                Ok(())
            }
        }
    })
}

async fn serve(
    config: Config,
    (file, levels): (Option<ConfigFile>, LogLevels),
    dev: Option<Dev>,
    serves: CancellationToken,
    json: bool,
) -> anyhow::Result<()> {
    log!(
        Starting,
        version = env!("CARGO_PKG_VERSION"),
        journal_level = firstcome_core::LEVEL,
        space = %config.space,
        store = config.store.as_ref().map(ToString::to_string),
        ledger = %config.ledger,
        durability = %config.durability,
        listen = %config.listen,
        log_level = %config.log_level,
        "starting"
    );
    let folder = if dev.is_some() || (config.store.is_some() && !config.has_data) {
        None
    } else {
        let warn = |why: &str| Event::FolderOpenToOthers.write(why);
        Some(data_folder::take(&config.data, warn)?)
    };
    if let Some(own) = config.pages_dir.as_ref().filter(|own| !own.is_dir()) {
        bail!("pages_dir: there is no folder {}", own.display());
    }
    let mut registry = Registry::with_prefix("firstcome");
    let counts = Arc::new(firstcome_node::Metrics::new(&mut registry));
    let metrics = Arc::new(Metrics::new(registry, firstcome_http::paths_and_methods()));
    let admin_key = admin_key(&config, folder.as_ref())?;
    let keys = keys(&config, &admin_key, &metrics)?;
    let codes = code_keys::code_keys(&config, folder.as_ref())?;
    let rare = rare(&config, dev.as_ref())?;
    let listener = listen("--listen", &config.listen).await?;
    let operations = match &config.ops_listen {
        Some(address) => Some(listen("--ops-listen", address).await?),
        None => None,
    };
    let beside = if operations.is_some() { OPS_CONNECTIONS } else { KEPT_CONNECTIONS } + REFUSALS;
    let connections = files::raise(config.connections, beside);
    let address = listener.local_addr()?;
    let url = format!("{}://{address}", config.scheme());
    may_be_reached(&config, address)?;

    // One thread appends and applies, one for each core serves connections, and this runtime does everything else.
    let core = RuntimeThread::start("core")?;
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let runtimes = Runtimes::start(cores)?;
    let store = if let Some(dev) = &dev {
        Store::in_memory(dev.clock.clock())
    } else {
        let (config, folder, fresh) = (config.clone(), folder.clone(), SpaceId(random_bytes()?));
        let main = Handle::current();
        // There, so that the journal's connections live where they are used.
        let opening = async move { Store::open(&config, folder.as_ref(), fresh, &main).await };
        core.handle().spawn(opening).await??
    };
    let of_node =
        Core { runtime: core.handle().clone(), serves: answers_where_decided(&store, cores) };
    let runtimes = runtimes.with_event_loop(of_node.serves.then(|| core.handle().clone()));
    let head = store.journal().head().await?;
    let ledger = ledger(&config, folder.as_ref(), head.space).await?;
    let given = Given {
        journal: store.journal(),
        clock: store.clock(),
        address: config.advertise.clone().unwrap_or_else(|| url.clone()).into(),
        random: Box::new(|| getrandom::u64().expect("the operating system has randomness")),
        limits: limits(&config),
        metrics: Arc::clone(&counts),
        says: firstcome_node::in_log(),
        core: Some(of_node),
        settings: alike::settings(&config, &admin_key, head.space),
        on_emptied: config.on_emptied,
        codes: Arc::new(codes),
    };
    let node = Node::start(given, progress()).await?;
    let election = store.election(&config, node.id).await?;
    let leader = Leadership::start(&node, ledger.clone(), pace(&config), election, &counts);

    let webhooks = webhooks(&config, ledger.clone(), &metrics, &node)?;
    let delivering = webhooks.clone().map(|dispatcher| send(dispatcher, &node, &leader));
    let app = Arc::new(App {
        webhooks,
        bulk: BulkRequests::default(),
        missing_key: MissingKey::default(),
        seat_maps: SeatMaps::default(),
        node,
        leader,
        ledger,
        keys: keys.into(),
        guards: guards(&config.guards, &metrics)?,
        metrics,
        options: options(&config, connections, rare, store.durability()),
        openapi: firstcome_http::openapi(),
        draining: CancellationToken::new(),
    });
    // Before anybody can ask whether it is ready.
    app.look_for_missing_keys();
    // Before the address is announced: a caller that knows it may stop this server.
    let mut signals = StopSignals::listen()?;
    serves.cancel();
    if let Some(folder) = &folder {
        folder.announce(&url)?;
    }
    let of_operations = operations.as_ref().map_or(Ok(address), TcpListener::local_addr)?;
    let promise = app.options.durability.borrow().promise.clone();
    let mut serving = Serving::start(Arc::clone(&app), (listener, operations), runtimes, &config);
    serving.take_changes(file, &config, admin_key, levels);
    if let (Some(dev), Some(key)) = (&dev, &config.admin_key) {
        dev.seed(address, key.clone()).await?;
    }
    announce(&config, folder.as_ref(), (address, of_operations), &promise, json);
    let (node, position) = (app.node.id, app.node.replica.look(State::position));
    log!(Serving, %address, %node, position, durability = promise, "serving");
    let asked = tokio::select! {
        by_manager = signals.stop() => by_manager,
        // Nobody can be answered, or no command decided: whoever supervises this server starts it again.
        () = serving.broke() => false,
    };
    app.node.intake.agreement.leave();
    leave(if asked { config.leave } else { Duration::ZERO }, &mut signals, &serving).await;
    drop(app);
    let drain_ms = config.drain.as_millis() as u64;
    log!(Draining, drain_ms, "draining: no new connections, open requests finish");
    let (app, cut) = serving.drain().await?;
    if cut > 0 {
        log!(DrainCut, cut, "{cut} connections did not finish in time and were cut");
    }
    let panics = app.node.panics.clone();
    drop(delivering);
    app.leader.stop().await;
    log!(HandedOver, "the leader's work is finished or handed over");
    last::stop(app.node, folder.as_ref()).await?;
    if let Some(ledger) = &app.ledger {
        ledger.close().await;
    }
    store.close().await;
    core.stop().await;
    none_panicked(&panics)?;
    log!(Stopped, "stopped cleanly");
    Ok(())
}

/// Says whether plain requests are answered on the thread that decides them: with few cores a change of thread costs more
/// than it brings.
fn answers_where_decided(store: &Store, cores: usize) -> bool {
    store.is_of_this_process() && cores <= FEW_CORES
}

/// Refuses to serve other machines with a key that nobody chose.
fn may_be_reached(config: &Config, address: SocketAddr) -> anyhow::Result<()> {
    if config.admin_key.is_none() && !address.ip().is_loopback() {
        bail!(
            "{address} is reachable from other machines, and the admin key was generated: \
             set FIRSTCOME_ADMIN_KEY to a key of your own (16 characters or more), \
             or listen on 127.0.0.1"
        );
    }
    Ok(())
}

/// Returns the webhooks, where there is a ledger.
fn webhooks(
    config: &Config,
    ledger: Option<Ledger>,
    metrics: &Metrics,
    node: &Node,
) -> anyhow::Result<Option<Arc<Dispatcher>>> {
    let allowed = config.guards.webhook_allow.iter().map(|network| (*network).into()).collect();
    let replica = Arc::clone(&node.replica);
    let settled = move || replica.look(State::settled);
    let counts = metrics.webhooks.clone();
    let dispatcher = |ledger| Dispatcher::new(ledger, Allowed(allowed), counts, settled);
    Ok(ledger.map(dispatcher).transpose()?)
}

/// Sends to webhooks while this server leads, until the task is dropped. What was sent and is not written is sent once more.
fn send(dispatcher: Arc<Dispatcher>, node: &Node, leader: &Leadership) -> firstcome_node::Task<()> {
    node.panics.spawn("webhooks", dispatcher.run(leader.leading()))
}

/// Answers on while whoever sends requests here hears that this server leaves.
async fn leave(time: Duration, signals: &mut StopSignals, serving: &Serving) {
    if time.is_zero() {
        return;
    }
    let leave_ms = time.as_millis() as u64;
    log!(
        Leaving,
        leave_ms,
        "leaving: /readyz answers 503 from now on, requests are answered for leave_ms; another signal ends the wait"
    );
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        _ = signals.stop() => {}
        () = serving.broke() => {}
    }
}

/// Returns the ledger, if there is to be one.
///
/// One that is out of reach for now stops no sale: results wait until it is there.
async fn ledger(
    config: &Config,
    folder: Option<&DataFolder>,
    space: SpaceId,
) -> anyhow::Result<Option<Ledger>> {
    let Some(ledger) = Ledger::named(&config.ledger, folder, &config.space, space).await? else {
        return Ok(None);
    };
    match ledger.ready().await {
        Err(why) if why.passes_by_itself() => {
            let ledger = ledger.kind();
            log!(
                LedgerUnavailable,
                ledger,
                "serving without the ledger for now, results wait for it: {why}"
            );
        }
        ready => ready?,
    }
    Ok(Some(ledger))
}

fn progress() -> impl FnMut(u64, u64) {
    let begun = std::time::Instant::now();
    let mut last = begun;
    move |applied, head| {
        if last.elapsed() >= std::time::Duration::from_secs(1) {
            last = std::time::Instant::now();
            log!(JournalReplaying, applied, head, "applying the journal");
        }
    }
}

fn limits(config: &Config) -> Limits {
    let outbox = match config.ledger {
        LedgerChoice::None => None,
        LedgerChoice::Sqlite
        | LedgerChoice::SqliteFile(_)
        | LedgerChoice::Postgres(_)
        | LedgerChoice::MySql(_) => Some(usize::try_from(config.outbox_max).unwrap_or(usize::MAX)),
    };
    Limits {
        queue: config.queue,
        queue_bytes: firstcome_node::intake::QUEUE_BYTES,
        wait: config.command_wait,
        memory: config.memory_limit_mib << 20,
        outbox,
    }
}

fn pace(config: &Config) -> leader::LeaderPace {
    leader::LeaderPace {
        settle_interval: config.settle_interval,
        settle_delay: leader::SettleDelay {
            time: config.settle_delay,
            // Long before claims are refused for it.
            results: usize::try_from(config.settle_delay_results.min(config.outbox_max / 2))
                .unwrap_or(usize::MAX),
        },
        keep_for: config.keep_for,
        snapshot_bytes: config.snapshot_mib << 20,
        snapshot_every: config.snapshot_every,
    }
}

fn options(
    config: &Config,
    connections: usize,
    rare: RareOptions,
    durability: watch::Receiver<Durability>,
) -> HttpOptions {
    HttpOptions {
        connections,
        body_bytes: config.body_bytes,
        header_time: config.header_wait,
        body_time: config.header_wait,
        idle_time: config.idle,
        hold_wait: config.hold_wait,
        stream_time: config.stream_max,
        strict_subjects: config.guards.strict_subjects,
        pages: config
            .pages
            .then(|| Pages { folder: config.pages_dir.clone(), shop: config.pages_shop.clone() }),
        rare,
        durability,
    }
}

fn rare(config: &Config, dev: Option<&Dev>) -> anyhow::Result<RareOptions> {
    Ok(RareOptions {
        base_path: config.base_path.clone(),
        tls: config.tls.clone().map(Tls::read).transpose().map_err(anyhow::Error::msg)?,
        hsts: config.hsts_s.map(|seconds| format!("max-age={seconds}").parse()).transpose()?,
        dev_clock: dev.map(|dev| dev.clock.clone()),
        hyper_only: false,
    })
}

fn guards(settings: &GuardSettings, metrics: &Metrics) -> anyhow::Result<Guards> {
    let check = |setting: &EligibilitySetting| {
        let counts = metrics.eligibility.of(setting.campaign());
        let check = setting.terms().and_then(|terms| Check::new(terms, counts));
        let of = || format!("the eligibility of {}", setting.campaign());
        check.map_err(anyhow::Error::msg).with_context(of)
    };
    let checks = settings.eligibility.iter().map(check).collect::<anyhow::Result<_>>()?;
    let limiter = |rate: Option<Rate>, refused: &Counter| {
        rate.map(|rate| Limiter::new(rate, settings.rate_entries, refused.clone()))
    };
    Ok(Guards {
        subjects: limiter(settings.rate_subject, &metrics.rate_limited.subject),
        addresses: limiter(settings.rate_address, &metrics.rate_limited.address),
        misses: limiter(Some(MISSES), &metrics.rate_limited.misses),
        origins: Origins::new(settings.cors_origins.clone()),
        tokens: settings.token_keys(),
        proxies: Proxies {
            trusted: settings.trusted_proxies.clone(),
            header: settings.proxy_header,
        },
        checks: Checks::new(checks),
        wrong_codes: WrongCodes::default(),
    })
}

fn admin_key(config: &Config, folder: Option<&DataFolder>) -> anyhow::Result<String> {
    match (&config.admin_key, folder) {
        (Some(key), _) => Ok(key.reveal().to_owned()),
        (None, Some(folder)) => generated_key(&folder.path().join(ADMIN_KEY_FILE)),
        (None, None) => bail!(
            "there is no admin key: set FIRSTCOME_ADMIN_KEY (16 characters or more), \
             the same for every server of the space"
        ),
    }
}

fn keys(config: &Config, admin: &str, metrics: &Metrics) -> anyhow::Result<KeyTable> {
    let mut keys = KeyTable::default();
    keys.add_text(admin, Key::new("admin", Role::Admin, None));
    let pace = |rate| RequestPace::new(rate, metrics.rate_limited.key.clone());
    let admin_hash = Sha256::digest(admin).into();
    if let Some(rate) = config.guards.rate_key {
        keys.pace(admin_hash, pace(rate));
    }
    let mut names = BTreeMap::from([(admin_hash, "admin")]);
    for setting in &config.keys {
        let hash = setting.sha256;
        if let Some(other) = names.insert(hash, &setting.name) {
            let other = if hash == admin_hash {
                "the admin key".to_owned()
            } else {
                format!("key {other:?}")
            };
            bail!(
                "key {:?} has the sha256 of {other}, and one key cannot have two roles: \
                 make a key of its own for it, or remove it",
                setting.name
            );
        }
        let campaigns = setting.campaigns.as_deref().map(Into::into);
        let expires = setting.expires;
        keys.add(hash, Key { expires, ..Key::new(&setting.name, setting.role, campaigns) });
        if let Some(rate) = setting.rate.unwrap_or(config.guards.rate_key) {
            keys.pace(hash, pace(rate));
        }
    }
    Ok(keys)
}

/// Returns the key in a file only its owner can read; makes one if there is none.
fn generated_key(file: &Path) -> anyhow::Result<String> {
    use std::os::unix::fs::OpenOptionsExt;
    match std::fs::read_to_string(file) {
        Ok(key) if key.trim().len() >= 16 => return Ok(key.trim().to_owned()),
        Ok(_) => bail!("{} holds no key of 16 characters or more: remove it", file.display()),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {}
        Err(why) => return Err(why).with_context(|| format!("cannot read {}", file.display())),
    }
    let bytes: [u8; 24] = random_bytes()?;
    let key = HEXLOWER.encode(&bytes);
    std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .and_then(|mut file| {
            file.write_all(key.as_bytes())?;
            file.sync_all()
        })
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(key)
}

fn random_bytes<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|why| anyhow::anyhow!("the operating system gives no randomness: {why}"))?;
    Ok(bytes)
}
