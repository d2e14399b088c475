//! The simulated people: they send requests, retry on another node with the position they heard last, and record the
//! replies.

use crate::environment::Environment;
use crate::history::{Asked, Exchange, Reply, ShownCode};
use crate::nodes::{CODE_KEY, Slots};
use crate::plan::{Ask, Codes, INSISTS, PlannedCampaign, Want};
use crate::wallet::{Wallet, shown, type_code};
use fastrand::Rng;
use firstcome_core::command::{Encoded, Expect, Steer};
use firstcome_core::names::Position;
use firstcome_core::outcome::{By, Confirmation, Missing, RankedUnit};
use firstcome_core::settings::{CodeSettings, CodeSource, Opens, PoolSettings};
use firstcome_core::{Command, Outcome, Refusal, Settings, Timestamp};
use firstcome_node::CommandError;
use firstcome_node::raise::CannotRaise;
use firstcome_node::{Answer, Intake};
use firstcome_virtual::store::BEGIN;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long a person waits for an answer.
const PATIENCE: Duration = Duration::from_secs(8);

/// By campaign, pool and subject.
type Ranks = HashMap<(usize, usize, u32), u32>;

/// All people, and what they know of one another's claims. Clones are the same people.
#[derive(Clone, Debug)]
pub(crate) struct People {
    environment: Environment,
    slots: Slots,
    /// The last rank that each subject heard.
    ranks: Arc<Mutex<Ranks>>,
    /// The codes that they were shown.
    wallet: Wallet,
}

impl People {
    pub(crate) fn new(environment: Environment, slots: Slots) -> Self {
        Self { environment, slots, ranks: Arc::default(), wallet: Wallet::default() }
    }

    /// Asks for something until it is answered, or given up.
    pub(crate) async fn ask(self, ask: Ask) {
        let mut random = Rng::with_seed(ask.seed);
        let mut slot = ask.slot;
        let mut heard: Option<Position> = None;
        let mut pause = 20;
        // Who asks again about a code asks the same.
        let mut coupon: Option<Asked> = None;
        for again in 0..=ask.retries {
            let asked = if let Want::Coupon(want) = &ask.want {
                let of = &self.environment.plan.campaigns[want.campaign];
                let server = self.slots.handle(slot);
                let asked = || self.wallet.asked(server.as_ref()?, of, want);
                coupon = coupon.take().or_else(asked);
                coupon.clone()
            } else {
                let Some(asked) = self.asked(&ask) else { return };
                Some(asked)
            };
            // Who raises a space cannot bring a position along: its route takes none.
            let takes_position = !matches!(ask.want, Want::Raise);
            let min = heard.filter(|_| ask.sends_position && takes_position);
            let seed = random.u64(..);
            let reply = match asked {
                Some(asked) => self.ask_once(slot, asked, min, seed).await,
                None => Reply::Nothing,
            };
            match reply {
                Reply::Answer { position, outcome, .. } => {
                    self.learn(&ask.want, &outcome);
                    let later = |known: Position| {
                        (known.epoch, known.position) < (position.epoch, position.position)
                    };
                    if heard.is_none_or(later) {
                        heard = Some(position);
                    }
                    // Some ask again what they know, to be sure; who insists, until there is such a campaign.
                    let insists = ask.retries >= INSISTS && is_nowhere(&outcome);
                    if !insists && (again > 0 || random.u32(0..3) > 0) {
                        return;
                    }
                }
                Reply::Failure(CommandError::StalePosition) => heard = None,
                Reply::Failure(_) | Reply::Nothing => {}
            }
            sleep(Duration::from_millis(random.u64(pause / 2..=pause))).await;
            pause = (pause * 2).min(2_000);
            slot = random.usize(..self.environment.plan.nodes);
        }
    }

    /// Puts what a person wants into the words of the moment; none if there is nothing to ask.
    fn asked(&self, ask: &Ask) -> Option<Asked> {
        let order = ask.order;
        let name = |campaign: &usize| self.environment.plan.campaigns[*campaign].name.clone();
        let who = |subject: &u32| format!("s{subject}");
        let steered = |campaign, steer| Asked::Steer { campaign: name(campaign), steer, order };
        Some(match &ask.want {
            Want::Claim { campaign, pool, subject } => Asked::Claim {
                campaign: name(campaign),
                pool: pool
                    .map(|pool| self.environment.plan.campaigns[*campaign].pool(pool).to_owned()),
                subject: who(subject),
            },
            Want::Nowhere(subject) => {
                Asked::Claim { campaign: "nowhere".to_owned(), pool: None, subject: who(subject) }
            }
            Want::Cancel { campaign, pool, names_pool, subject, operator } => {
                let known = self.ranks.lock().unwrap_or_else(PoisonError::into_inner);
                let of = &self.environment.plan.campaigns[*campaign];
                Asked::Cancel {
                    campaign: name(campaign),
                    pool: names_pool.then(|| of.pool(*pool).to_owned()),
                    subject: who(subject),
                    rank: *known.get(&(*campaign, *pool, *subject))?,
                    operator: *operator,
                }
            }
            Want::Put { campaign, capacity } => Asked::Put {
                campaign: name(campaign),
                settings: Box::new(settings(
                    &self.environment.plan.campaigns[*campaign],
                    *capacity,
                )),
                order,
            },
            Want::Pause(campaign) => steered(campaign, Steer::Pause),
            Want::Resume(campaign) => steered(campaign, Steer::Resume),
            Want::Close(campaign) => steered(campaign, Steer::Close),
            Want::Raise => Asked::Raise,
            Want::Coupon(_) => return None,
            Want::On { command, wait } => Asked::On { command: command.clone(), wait: *wait },
        })
    }

    /// Remembers the rank in a reply.
    fn learn(&self, want: &Want, outcome: &Outcome) {
        if let (Want::On { command, .. }, Outcome::Confirmed(confirmed)) = (want, outcome) {
            return self.learn_confirmed(command, confirmed);
        }
        let (
            Want::Claim { campaign, pool, subject },
            Outcome::Won { rank, .. } | Outcome::AlreadyWon { rank, .. },
        ) = (want, outcome)
        else {
            return;
        };
        let index = (*campaign, pool.unwrap_or_default(), *subject);
        self.ranks.lock().unwrap_or_else(PoisonError::into_inner).insert(index, *rank);
    }

    /// Remembers the last rank of those that were confirmed.
    fn learn_confirmed(&self, asked: &Encoded, confirmed: &Confirmation) {
        let Command::Confirm { step, .. } = asked.command() else { return };
        let campaigns = &self.environment.plan.campaigns;
        let campaign = campaigns.iter().position(|known| *known.name == *step.campaign);
        let subject = step.subject.strip_prefix('s').and_then(|number| number.parse().ok());
        let (Some(campaign), Some(subject)) = (campaign, subject) else { return };
        let mut ranks = self.ranks.lock().unwrap_or_else(PoisonError::into_inner);
        for RankedUnit { unit, rank } in &confirmed.units {
            let pools = &campaigns[campaign].pools;
            let counted = pools.iter().position(|(name, _)| **name == *unit.pool);
            ranks.insert((campaign, counted.unwrap_or(pools.len()), subject), *rank);
        }
    }

    /// Asks one node once.
    async fn ask_once(&self, slot: usize, asked: Asked, min: Option<Position>, seed: u64) -> Reply {
        let Some(server) = self.slots.handle(slot) else { return Reply::Nothing };
        let (asked_at, clock_at) = (self.environment.trace.now(), self.environment.store.clock());
        self.environment.trace.tell(format_args!("{} is asked: {asked:?}", server.name()));
        let number = self.environment.record.asked(Exchange {
            node_run: server.node_run(),
            asked_at,
            clock_at,
            asked: asked.clone(),
            min,
            heard_at: Duration::MAX,
            reply: Reply::Nothing,
        });
        let travel = Rng::with_seed(seed).u64(50..3_000);
        let (order, words) = (asked.clone(), server.clone());
        let recorder = WaitRecorder {
            environment: self.environment.clone(),
            exchange: number,
            asked: asked.clone(),
            wallet: self.wallet.clone(),
        };
        // A request that arrived is worked on, whether or not anybody still waits for its answer.
        let answer = tokio::spawn(async move {
            sleep(Duration::from_micros(travel)).await;
            words.gate().pass().await;
            let answer = serve(&words, order, min, &recorder).await;
            if let Ok(answer) = &answer {
                recorder.show(&words, &answer.outcome);
            }
            words.gate().pass().await;
            sleep(Duration::from_micros(travel / 2)).await;
            answer
        });
        let reply = tokio::select! {
            answer = timeout(PATIENCE, answer) => match answer {
                Ok(Ok(Ok(Answer { outcome, position, decided }))) => {
                    Reply::Answer { outcome, position, decided }
                }
                Ok(Ok(Err(failure))) => Reply::Failure(failure),
                Ok(Err(_)) | Err(_) => Reply::Nothing,
            },
            () = server.wait_for_death() => Reply::Nothing,
        };
        match &reply {
            Reply::Answer { outcome, position, decided } => {
                self.environment.trace.tell(format_args!(
                    "{} says {outcome:?} as of {position}, by {} to {asked:?}",
                    server.name(),
                    decided.as_str()
                ))
            }
            Reply::Failure(failure) => {
                self.environment
                    .trace
                    .tell(format_args!("{} says {failure:?} to {asked:?}", server.name()));
            }
            Reply::Nothing => {
                self.environment
                    .trace
                    .tell(format_args!("{} says nothing to {asked:?}", server.name()));
            }
        }
        self.environment.record.heard(number, self.environment.trace.now(), reply.clone());
        reply
    }
}

/// Has a node answer, as its HTTP server would.
async fn serve(
    server: &crate::nodes::NodeHandle,
    asked: Asked,
    min: Option<Position>,
    recorder: &WaitRecorder,
) -> Result<Answer, CommandError> {
    let intake = server.intake();
    match &asked {
        Asked::Claim { campaign, pool, subject } => {
            intake.claim(campaign, pool.as_deref(), subject, min).await
        }
        Asked::Cancel { campaign, pool, subject, rank, operator } => {
            let by = if *operator { By::Operator } else { By::Subject };
            let (reason, who) = if *operator { ("asked to", "desk") } else { ("", "") };
            let (rank, pool) = (*rank, pool.as_deref());
            let cancel = Command::Cancel { campaign, pool, subject, rank, by, reason, who };
            decide_at(intake, &cancel, min).await
        }
        Asked::Put { campaign, settings, order } => {
            let (settings, expect, order) = ((**settings).clone(), Expect::Anything, *order);
            decide_at(intake, &Command::Put { campaign, settings, expect, order }, min).await
        }
        Asked::Steer { campaign, steer, order } => {
            let (steer, order) = (*steer, *order);
            decide_at(intake, &Command::Steer { campaign, steer, order }, min).await
        }
        Asked::Raise => intake.raise_level("desk").await.map_err(|why| match why {
            CannotRaise::Failed(failure) => failure,
            CannotRaise::ServerReadsLess { .. } => CommandError::Unavailable(why.to_string()),
        }),
        Asked::Code { command, typed, .. } => type_code(intake, command, typed, min).await,
        Asked::On { command, wait } => {
            let command = command.command();
            if !matches!(command, Command::Hold { .. }) {
                return decide_at(intake, &command, min).await;
            }
            let early = intake.hold_early(&command, min).await.transpose();
            let taken = |answer: &Answer| answer.outcome.refusal() == Some(Refusal::UnitTaken);
            match early {
                // A caller that waits is not told that the seat is taken.
                Some(answer) if wait.is_zero() || !answer.as_ref().is_ok_and(taken) => answer,
                Some(_) | None => recorder.waits(intake, &command, *wait).await,
            }
        }
    }
}

async fn decide_at(
    intake: &Intake,
    command: &Command<'_>,
    min: Option<Position>,
) -> Result<Answer, CommandError> {
    intake.reach(min).await?;
    intake.decide(command).await
}

/// Says whether a person heard that there is no such campaign.
fn is_nowhere(outcome: &Outcome) -> bool {
    outcome.refusal() == Some(Refusal::NotFound(Missing::Campaign))
}

/// Records the wait of a request in the wait queue, and the code that its answer shows.
struct WaitRecorder {
    environment: Environment,
    exchange: usize,
    asked: Asked,
    wallet: Wallet,
}

impl WaitRecorder {
    /// Shows the code of a claim to who claimed, as a server does with its answer.
    fn show(&self, server: &crate::nodes::NodeHandle, outcome: &Outcome) {
        let (
            Asked::Claim { campaign, subject, .. },
            Outcome::Won { pool, code: Some(code), .. }
            | Outcome::AlreadyWon { pool, code: Some(code), .. },
        ) = (&self.asked, outcome)
        else {
            return;
        };
        let whose = (campaign.as_str(), subject.as_str());
        let Some(known) = shown(server.intake(), whose, *pool, *code) else { return };
        let (campaign, pool, subject) = (campaign.clone(), known.pool.clone(), subject.clone());
        let (exchange, code) = (self.exchange, known.code);
        self.wallet.put(&campaign, &subject, known);
        let shown = ShownCode { exchange, campaign, pool, subject, code };
        self.environment.record.shown(shown);
    }

    async fn waits(
        &self,
        intake: &Intake,
        hold: &Command<'_>,
        wait: Duration,
    ) -> Result<Answer, CommandError> {
        if wait.is_zero() {
            return intake.hold_in_line(hold, wait).await;
        }
        let (record, trace) = (&self.environment.record, &self.environment.trace);
        let index = record.wait_begins(self.exchange, trace.now());
        let answer = intake.hold_in_line(hold, wait).await;
        record.wait_ends(index, trace.now());
        answer
    }
}

/// Puts a campaign into the words of the rules.
pub(crate) fn settings(campaign: &PlannedCampaign, capacity: Option<u32>) -> Settings {
    let at = |after: Duration| {
        Timestamp::from_micros(BEGIN + i64::try_from(after.as_micros()).unwrap_or(0))
    };
    let pools = campaign.pools.iter().enumerate().map(|(index, (name, usual))| {
        let units = capacity.filter(|_| index == 0).unwrap_or(*usual);
        match campaign.codes.get(index).and_then(Option::as_ref) {
            None => PoolSettings::counted(name, units),
            Some(codes) => coded(name, units, codes),
        }
    });
    let hall = campaign.venue.as_ref().map(|venue| {
        let name = campaign.pool(campaign.pools.len());
        PoolSettings { limit: venue.limit, ..PoolSettings::seated(name) }
    });
    Settings {
        title: "".into(),
        opens: Opens::At(at(campaign.opens)),
        closes_at: campaign.closes.map(at),
        limit: campaign.limit,
        claim_again: campaign.claim_again,
        units_return: campaign.units_return,
        // Some changes of a public campaign make it private, and others public again.
        public: campaign.public && capacity.is_none_or(|units| units % 2 == 0),
        holding: campaign.holding.clone(),
        pools: pools.chain(hall).collect(),
    }
}

/// Puts a pool of codes into the words of the rules.
fn coded(name: &str, units: u32, codes: &Codes) -> PoolSettings {
    let micros = |after: Duration| i64::try_from(after.as_micros()).unwrap_or(0);
    let source = if codes.imported { CodeSource::Imported } else { CodeSource::Generated };
    let settings = CodeSettings {
        uses: codes.uses,
        uses_per_subject: codes.each,
        valid_until: codes.until.map(|after| Timestamp::from_micros(BEGIN + micros(after))),
        valid_for_us: codes.valid_for.map(micros),
        only_by_holder: codes.only_by_holder,
        ..CodeSettings::new(source, CODE_KEY)
    };
    let units = if codes.imported { 0 } else { units };
    PoolSettings { waitlist: codes.waitlist, ..PoolSettings::coded(name, units, settings) }
}
