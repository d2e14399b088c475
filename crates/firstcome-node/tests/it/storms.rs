//! Several nodes, a store that keeps losing what it had, and links that fail: drawn at random, checked by what people were told.
//!
//! No node dies here, so every entry that anybody saw is still known to somebody: no acknowledged claim
//! may be missing in the end. Ranks may have changed where the journal forked.

use crate::several::{Seat, agree, store};
use firstcome_core::{Outcome, State};
use firstcome_faults::faulty::{Fault, JournalCall};
use firstcome_journal::Journal;
use firstcome_node::Answer;
use firstcome_node::CommandError;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Storms in one run of the tests; `FIRSTCOME_STORMS` asks for more, `FIRSTCOME_STORM` for one.
const STORMS: u64 = 60;
const STEPS: u32 = 60;
const NODES: usize = 3;

struct Storm {
    random: fastrand::Rng,
    story: String,
    told: BTreeMap<String, u32>,
}

impl Storm {
    fn tell(&mut self, what: std::fmt::Arguments<'_>) {
        if std::env::var_os("FIRSTCOME_STORM").is_some() {
            eprintln!("{what}");
        }
        writeln!(self.story, "{what}").unwrap();
    }

    fn heard(&mut self, subject: String, answer: &Result<Answer, CommandError>) {
        match answer {
            Ok(Answer { outcome: Outcome::Won { rank, .. }, .. })
            | Ok(Answer { outcome: Outcome::AlreadyWon { rank, .. }, .. }) => {
                self.told.insert(subject, *rank);
            }
            Ok(other) => panic!("{subject}: {other:?}\n{}", self.story),
            Err(_) => {}
        }
    }
}

/// Lives through one storm; gives how many forks, put-backs and acknowledged claims it had.
async fn live_through(seed: u64) -> (u64, u64, usize) {
    let memory = store();
    let mut seats = Vec::new();
    for node in 0..NODES {
        let mut random = fastrand::Rng::with_seed(seed << 8 | node as u64);
        seats.push(Seat::drawing(&memory, move || random.u64(..)).await);
    }
    seats[0].opens("spring", 100_000).await;
    let mut storm = Storm {
        random: fastrand::Rng::with_seed(seed),
        story: format!("storm {seed}\n"),
        told: BTreeMap::new(),
    };
    for step in 0..STEPS {
        let which = storm.random.usize(..NODES);
        let journal = seats[which].journal.clone();
        match storm.random.u32(..12) {
            0 => {
                storm.tell(format_args!("{step}: node {which} hears nothing"));
                journal.hold();
            }
            1 | 2 => {
                storm.tell(format_args!("{step}: node {which} hears again"));
                journal.let_go();
            }
            3 => {
                let head = Journal::Memory(memory.clone()).head().await.unwrap().position;
                let lost = storm.random.u64(..6).min(head - 1);
                storm.tell(format_args!("{step}: the store loses {lost} of {head}"));
                memory.lose_tail(head - lost);
            }
            4 => {
                let fault = *storm
                    .random
                    .choice(&[
                        Fault::LoseAnswer,
                        Fault::LoseCall,
                        Fault::DeliverLate,
                        Fault::Refuse,
                    ])
                    .unwrap();
                storm.tell(format_args!("{step}: node {which}: {fault:?}"));
                journal.fault(JournalCall::Append, 1, fault);
            }
            5 => {
                let call = *storm
                    .random
                    .choice(&[
                        JournalCall::Read,
                        JournalCall::Head,
                        JournalCall::PutBack,
                        JournalCall::RaiseEpoch,
                        JournalCall::Follow,
                    ])
                    .unwrap();
                let fault = *storm.random.choice(&[Fault::LoseAnswer, Fault::LoseCall]).unwrap();
                storm.tell(format_args!("{step}: node {which}: {call:?} {fault:?}"));
                journal.fault(call, 1, fault);
            }
            6 => {
                let pause = storm.random.u64(..8_000);
                storm.tell(format_args!("{step}: {pause} ms pass"));
                sleep(Duration::from_millis(pause)).await;
            }
            _ => {
                // Several at once, on different nodes, some for the second time.
                let count = storm.random.usize(1..4);
                let mut asks = Vec::new();
                for i in 0..count {
                    let at = storm.random.usize(..NODES);
                    let subject = match storm.random.u32(..4) {
                        0 if step > 0 => format!("s{}-0", storm.random.u32(..step)),
                        _ => format!("s{step}-{i}"),
                    };
                    storm.tell(format_args!("{step}: node {at} is asked for {subject}"));
                    asks.push((at, subject));
                }
                let seats = &seats;
                let mut answers = Vec::new();
                let all = asks.iter().map(|(at, subject)| seats[*at].tries(subject, None));
                for answer in futures_in_order(all).await {
                    answers.push(answer);
                }
                for ((_, subject), answer) in asks.into_iter().zip(answers) {
                    storm.tell(format_args!("    {subject}: {answer:?}"));
                    storm.heard(subject, &answer);
                }
            }
        }
    }
    for seat in &seats {
        seat.journal.let_go();
        seat.journal.mend();
    }
    sleep(Duration::from_secs(30)).await;
    let all: Vec<&Seat> = seats.iter().collect();
    if timeout(Duration::from_secs(120), agree(&all)).await.is_err() {
        panic!("the nodes do not come to agree\n{}", storm.story);
    }
    check(&seats, &storm);
    let counted = |name: &str| seats.iter().map(|seat| seat.counted(name)).sum();
    let lived = (counted("forks"), counted("put_back"), storm.told.len());
    for seat in seats {
        seat.node.stop().await.unwrap();
    }
    lived
}

/// Polls all at once and gives what each came to.
async fn futures_in_order<F: Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut waiting: Vec<_> = all.map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        let mut pending = false;
        for (one, done) in &mut waiting {
            if done.is_none() {
                match one.as_mut().poll(context) {
                    std::task::Poll::Ready(output) => *done = Some(output),
                    std::task::Poll::Pending => pending = true,
                }
            }
        }
        if pending { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    waiting.into_iter().filter_map(|(_, done)| done).collect()
}

fn check(seats: &[Seat], storm: &Storm) {
    for (number, seat) in seats.iter().enumerate() {
        seat.node.replica.look(|state: &State| {
            let pool = state.campaign("spring").unwrap().pool("main").unwrap();
            for subject in storm.told.keys() {
                let claims: Vec<_> = pool.claims_of(subject).map(|claim| claim.rank).collect();
                assert!(
                    claims.len() == 1,
                    "node {number}: {subject} was told yes and has {claims:?}\n{}",
                    storm.story
                );
            }
            let mut subjects = std::collections::BTreeSet::new();
            for rank in 1..=pool.last_rank() {
                let claim = pool.claim(rank).unwrap_or_else(|| panic!("no rank {rank}"));
                assert!(subjects.insert(claim.subject.to_owned()), "{} twice", claim.subject);
            }
            assert_eq!(state.last_result(), u64::from(pool.last_rank()), "a result for each claim");
        });
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_who_was_told_yes_is_forgotten_however_the_store_forgets() {
    let asked = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seeds = match asked("FIRSTCOME_STORM") {
        Some(seed) => seed..seed + 1,
        None => 0..asked("FIRSTCOME_STORMS").unwrap_or(STORMS),
    };
    let (mut forks, mut put_back, mut told) = (0, 0, 0);
    for seed in seeds.clone() {
        if seed % 100 == 99 {
            eprintln!("{} storms", seed + 1);
        }
        let lived = live_through(seed).await;
        forks += lived.0;
        put_back += lived.1;
        told += lived.2;
    }
    eprintln!("{seeds:?}: {told} claims acknowledged, {forks} forks, {put_back} entries put back");
    if seeds.end - seeds.start >= STORMS {
        assert!(forks > 0 && put_back > 0 && told > 0, "the storms were no storms");
    }
}
