//! Changes an honest history in one point, and names the promise that this breaks.

use crate::honest::sale;
use crate::story::{Story, cancel, claim, clock, is_broken, passes, put, steer, units_for_sale};
use firstcome_core::acts::{Act, Deed};
use firstcome_core::command::{Encoded, Mark, Steer};
use firstcome_core::names::Position;
use firstcome_core::{Command, Outcome, Refusal, Timestamp};
use firstcome_journal::Name;
use firstcome_node::CommandError;
use firstcome_sim::history::{ActRow, Asked, Cause, Durability, Exchange, History, Reply, Row};
use std::time::Duration;

/// Changes an honest sale and says what is then found broken.
fn breaks(promise: &str, change: impl FnOnce(&mut History)) -> String {
    let mut history = sale().ends();
    passes(&history);
    change(&mut history);
    is_broken(&history, promise)
}

/// Returns the exchange in which a caller heard that it won.
fn won<'h>(history: &'h mut History, who: &str) -> &'h mut Exchange {
    let mut exchanges = history.exchanges.iter_mut();
    let reply = exchanges.find(|exchange| {
        let won = matches!(exchange.reply, Reply::Answer { outcome: Outcome::Won { .. }, .. });
        won && matches!(&exchange.asked, Asked::Claim { subject, .. } if subject == who)
    });
    reply.unwrap()
}

#[test]
fn an_entry_under_a_name_that_is_not_its_own() {
    breaks("entries_readable", |history| history.stored.last_mut().unwrap().name.number = 77);
}

#[test]
fn an_entry_of_torn_bytes() {
    breaks("entries_readable", |history| history.stored[3].entry.body = vec![1; 20].into());
}

#[test]
fn an_entry_behind_one_that_never_was() {
    breaks("entries_chained", |history| {
        let mut stored = history.stored[5].clone();
        stored.entry.position += 1;
        stored.entry.before = Name { number: 99, ..stored.entry.before };
        history.stored.push(stored);
    });
}

#[test]
fn two_entries_of_one_name() {
    breaks("name_of_one_entry", |history| {
        let mut stored = history.stored[5].clone();
        stored.entry.at = Timestamp::from_micros(stored.entry.at.as_micros() + 1);
        history.stored.push(stored);
    });
}

#[test]
fn time_that_goes_back() {
    let said = breaks("time_never_goes_back", |history| {
        history.stored[4].entry.at = Timestamp::from_micros(0);
    });
    assert!(said.contains("entry 0.5 (01010101/5, stored at 11.000 s)"), "{said}");
}

#[test]
fn a_journal_that_left_an_entry_out() {
    breaks("journal_is_one_chain", |history| {
        history.end.journal.remove(4);
    });
}

#[test]
fn an_answer_without_an_entry() {
    breaks("answered_by_an_entry", |history| {
        let Reply::Answer { position, .. } = &mut won(history, "bob").reply else { panic!() };
        position.position = 100;
    });
    breaks("answered_by_an_entry", |history| {
        let Reply::Answer { position, .. } = &mut won(history, "bob").reply else { panic!() };
        position.position -= 1;
    });
}

#[test]
fn an_answer_of_an_entry_from_before_the_question_or_after_the_answer() {
    breaks("answered_by_an_entry", |history| {
        won(history, "bob").heard_at = Duration::from_secs(10);
    });
    // The command itself is then one that nobody had asked for yet.
    let mut history = sale().ends();
    won(&mut history, "bob").asked_at = Duration::from_secs(13);
    won(&mut history, "bob").heard_at = Duration::from_secs(14);
    let wrong = firstcome_sim::judge::judge(&history).unwrap_err();
    let promises: Vec<_> = wrong.iter().map(|broken| broken.promise).collect();
    assert_eq!(promises, ["answered_by_an_entry", "asked_for"], "{wrong:#?}");
}

#[test]
fn an_answer_the_rules_do_not_give() {
    let said = breaks("decided_by_the_rules", |history| {
        let Reply::Answer { outcome, .. } = &mut won(history, "bob").reply else { panic!() };
        *outcome = Outcome::Won { rank: 3, at: clock(11.0), pool: 0, code: None };
    });
    assert!(said.contains("\"bob\" claimed spring at 10.990 s"), "{said}");
    assert!(said.contains("rank: 3") && said.contains("the rules make Won { rank: 2"), "{said}");
    breaks("decided_by_the_rules", |history| {
        let Reply::Answer { outcome, .. } = &mut won(history, "bob").reply else { panic!() };
        *outcome = Outcome::Won { rank: 2, at: clock(11.5), pool: 0, code: None };
    });
}

#[test]
fn an_answer_of_a_copy() {
    breaks("decided_by_the_rules", |history| {
        let entry = history.stored[10].entry.clone();
        let exchange = history
            .exchanges
            .iter_mut()
            .rfind(|exchange| matches!(exchange.reply, Reply::Failure(CommandError::Unknown)));
        let exchange = exchange.unwrap();
        let position = Position { epoch: 0, position: entry.position };
        let by = firstcome_core::outcome::By::Subject;
        let outcome = Outcome::Cancelled { by, at: clock(14.0) };
        exchange.reply =
            Reply::Answer { outcome, position, decided: firstcome_node::Decided::Journal };
    });
}

#[test]
fn an_answer_from_before_the_position_brought() {
    let min = |position| Some(Position { epoch: 0, position });
    breaks("position_honoured", |history| won(history, "bob").min = min(5));
    let mut history = sale().ends();
    won(&mut history, "bob").min = min(4);
    passes(&history);
    let mut history = sale().ends();
    won(&mut history, "bob").min = Some(Position { epoch: 1, ..min(1).unwrap() });
    is_broken(&history, "position_honoured");
}

#[test]
fn a_position_called_stale_while_its_epoch_lasts() {
    let reply = |min, epoch| {
        let mut story = Story::opened(Durability::Memory, units_for_sale(3));
        story.epoch = epoch;
        story.wins("ann", 1);
        story.fails(claim("bob"), CommandError::StalePosition);
        story.last().min = min;
        story.ends()
    };
    let min = Some(Position { epoch: 0, position: 1 });
    passes(&reply(min, 1));
    is_broken(&reply(min, 0), "stale_only_if_over");
    is_broken(&reply(None, 1), "stale_only_if_over");
}

#[test]
fn a_claim_or_a_cancel_that_nobody_asked_for() {
    let mut story = sale();
    story.stores((2, 1), &[cancel("ann", 1)], &[(true, 1, "ann")]);
    let said = is_broken(&story.ends(), "asked_for");
    assert!(said.contains("Cancel") && said.contains("\"ann\""), "{said}");
    let mut story = sale();
    story.stores((2, 1), &[claim("zoe")], &[]);
    is_broken(&story.ends(), "asked_for");
}

#[test]
fn a_command_that_is_there_after_all() {
    for failure in [
        CommandError::Busy,
        CommandError::StoreFull,
        CommandError::OutboxFull,
        CommandError::Unavailable("later".into()),
    ] {
        let mut story = Story::opened(Durability::Memory, units_for_sale(3));
        story.fails(claim("ann"), failure);
        story.appends(&claim("ann"), &[(false, 1, "ann")]);
        let said = is_broken(&story.ends(), "no_changed_nothing");
        assert!(said.contains("but it is in entry 0.2"), "{said}");
    }
}

#[test]
fn one_command_for_two_questions_of_which_one_was_refused() {
    let twice = |reply: Reply| {
        let mut story = Story::opened(Durability::Memory, units_for_sale(3));
        story.wins("ann", 1);
        story.hears(claim("ann"), reply);
        story.decides(steer(Steer::Pause), Outcome::Changed { version: 2, clamped: Vec::new() });
        story.stores((2, 1), &[claim("ann")], &[]);
        story.ends()
    };
    passes(&twice(Reply::Nothing));
    is_broken(&twice(Reply::Failure(CommandError::Busy)), "no_changed_nothing");
}

#[test]
fn a_refusal_with_other_content() {
    let mut story = Story::new(Durability::Memory);
    story.at(1.0);
    story.decides(put(units_for_sale(1)), Outcome::Created { version: 1 });
    story.decides(claim("ann"), Refusal::NotOpen { opens_at: Some(clock(11.0)) }.into());
    is_broken(&story.ends(), "decided_by_the_rules");
}

#[test]
fn a_ledger_that_is_not_whole() {
    let change = |change: fn(&mut History)| breaks("ledger_whole", change);
    let said = change(|history| {
        history.end.ledger.as_mut().unwrap().remove(2);
    });
    assert!(said.contains("result 3 is missing"), "{said}");
    change(|history| {
        let rows = history.end.ledger.as_mut().unwrap();
        rows.insert(2, rows[1].clone());
    });
    let said = change(|history| {
        history.end.ledger.as_mut().unwrap()[1].subject = "eve".into();
    });
    assert!(said.contains("\"eve\"") && said.contains("\"bob\""), "{said}");
    change(|history| {
        history.end.ledger.as_mut().unwrap().pop();
        history.end.through -= 1;
    });
    change(|history| {
        history.end.ledger.as_mut().unwrap().pop();
    });
    change(|history| history.end.through -= 1);
    change(|history| {
        let rows = history.end.ledger.as_mut().unwrap();
        let mut more = rows.last().unwrap().clone();
        more.number += 1;
        rows.push(more);
        history.end.through += 1;
    });
}

#[test]
fn a_world_that_does_not_come_to_rest() {
    let change = |change: fn(&mut History)| breaks("quiet_at_the_end", change);
    change(|history| history.end.nodes[1].digest = 8);
    change(|history| history.end.nodes.clear());
    change(|history| history.end.nodes[1].trouble = Some("the journal does not answer".into()));
    let said = change(|history| history.end.nodes[1].applied = Some(3));
    assert!(said.contains("life 1 has applied 0.4, the journal ends with 0.12"), "{said}");
    change(|history| history.end.settle_trouble = Some("ledger_behind: …".into()));
    // Trouble that nothing explains.
    change(|history| history.end.settle_trouble = Some("ledger_other: …".into()));
}

/// The list of acts of the sale, the newest first.
fn acts_of_the_sale() -> Vec<ActRow> {
    let row = |number, seconds, deed, outcome: &str| {
        let (who, about, reason) = ("desk".into(), "".into(), "".into());
        let act = Act { at: clock(seconds), who, deed, about, reason, outcome: outcome.into() };
        ActRow { campaign: "spring".into(), number, act }
    };
    vec![row(2, 15.0, Deed::Pause, "changed"), row(1, 1.0, Deed::Put, "created")]
}

#[test]
fn a_list_of_acts_that_is_not_what_operators_did() {
    let change = |change: fn(&mut Vec<ActRow>)| {
        let mut history = sale().ends();
        history.end.nodes[1].acts = Some(acts_of_the_sale());
        passes(&history);
        change(history.end.nodes[1].acts.as_mut().unwrap());
        is_broken(&history, "acts_listed")
    };
    change(|acts| drop(acts.remove(0)));
    change(|acts| drop(acts.remove(1)));
    change(|acts| acts.reverse());
    change(|acts| acts.insert(0, acts[0].clone()));
    change(|acts| acts[0].act.who = "office".into());
    change(|acts| acts[0].act.outcome = "unchanged".into());
    let said = change(|acts| acts[1].act.at = clock(2.0));
    assert!(said.contains("life 1 lists of spring"), "{said}");
}

#[test]
fn a_ledger_nobody_has_is_not_looked_at() {
    let mut history = sale().ends();
    history.end.ledger = None;
    history.end.through = 0;
    passes(&history);
}

#[test]
fn the_ledger_takes_results_of_one_who_leads_no_more() {
    let mut story = Story::opened(Durability::Memory, units_for_sale(3));
    story.wins("ann", 1);
    let mut history = story.ends();
    history.settled_late.push(Duration::from_secs(12));
    is_broken(&history, "settled_in_order");
    // After a backup took the ledger's place, terms come again.
    history.ledger_restored.push(Duration::from_secs(11));
    passes(&history);
}

#[test]
fn the_journal_says_that_the_ledger_has_what_it_never_had() {
    let mut story = Story::opened(Durability::Memory, units_for_sale(3));
    story.wins("ann", 1);
    story.at(11.0);
    let mark = Mark { position: 0, digest: 0 };
    let settled = Encoded::new(&Command::Settled { through: 1, term: 1, mark }).unwrap();
    story.appends(&Asked::On { command: settled, wait: Duration::ZERO }, &[]);
    let ended = story.ends();
    let history = |had: &[(u64, &str)]| {
        let mut history = ended.clone();
        let row = history.end.ledger.as_ref().unwrap()[0].clone();
        let had = had.iter().map(|(seconds, subject)| {
            (Duration::from_secs(*seconds), Row { subject: (*subject).into(), ..row.clone() })
        });
        history.ledger_had.extend(had);
        history
    };
    passes(&history(&[(10, "ann")]));
    is_broken(&history(&[]), "settled_is_there");
    is_broken(&history(&[(12, "ann")]), "settled_is_there");
    is_broken(&history(&[(10, "bob")]), "settled_is_there");
}

#[test]
fn the_ledger_has_what_was_not_durable_yet() {
    let settled_by_then = |settled| {
        let mut story = Story::opened(Durability::Copies { wanted: 1, of: 1 }, units_for_sale(3));
        let ann = story.wins("ann", 1);
        let bob = story.wins("bob", 2);
        story.at(11.0);
        story.loses(Some(ann), Cause::Promotion);
        story.puts_back(bob);
        let mut history = story.ends();
        history.losses[0].settled = settled;
        history
    };
    passes(&settled_by_then(1));
    is_broken(&settled_by_then(2), "settled_when_durable");
}

#[test]
fn an_entry_comes_right_after_the_store_turned() {
    let appended_at = |seconds: f64| {
        let mut story = Story::opened(Durability::Memory, units_for_sale(3));
        story.wins("ann", 1);
        story.at(seconds);
        let bob = story.wins("bob", 2);
        let mut history = story.ends();
        let writer = history.stored[bob].name.node;
        history.node_runs.iter_mut().for_each(|node_run| node_run.node = writer);
        history.failovers.push((Duration::from_secs(11), 0));
        history
    };
    passes(&appended_at(11.6));
    is_broken(&appended_at(11.1), "waits_for_others");
}
