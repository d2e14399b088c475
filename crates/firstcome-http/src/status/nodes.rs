//! The nodes of the space: who leads, what forks were found, and a store that lost everything.

use crate::answer::Code;
use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::clock_text;
use crate::request::call::Call;
use axum::http::StatusCode;
use firstcome_api::key::Role;
use firstcome_api::node::{Fork, Forks, Leader, Node, Nodes, Raised, Reseed};
use firstcome_core::{NodeId, State, Timestamp};
use firstcome_journal::cluster::{Membership, NodeStatus};
use firstcome_node::CommandError;
use firstcome_node::agreement::Announcement;
use firstcome_node::raise::CannotRaise;

/// How long a node has said nothing before it is called silent, in microseconds: three heartbeats.
const SILENT_AFTER: i64 = 3_000_000;

/// Returns the nodes of the space.
#[utoipa::path(get, path = "/v1/nodes", tag = "operation", operation_id = "list_nodes", responses((status = "2XX", body = Nodes)))]
pub(crate) async fn nodes(call: Call) -> HandlerResult {
    let app = &call.app;
    call.may_read_of_all().await?;
    let this = app.node.id.to_string();
    let leader = match app.leader.who() {
        Some(leads) => Some(Leader { node: leads.node, term: leads.term }),
        None if app.leader.leads() => {
            Some(Leader { node: this.clone(), term: app.leader.standing().term })
        }
        None => None,
    };
    let leads = |node: &str| leader.as_ref().is_some_and(|leader| leader.node == node);
    let differences = app.node.intake.agreement.differences();
    let view = |status: &NodeStatus, seen: Timestamp, head: (u64, Timestamp), is_gone: bool| {
        let said = Announcement::read(&status.words);
        let is_silent = head.1.micros_since(seen) >= SILENT_AFTER;
        let state = match &said {
            _ if is_gone => "gone",
            _ if is_silent => "silent",
            Some(said) if said.leaving => "leaving",
            Some(_) | None => "here",
        };
        let here = differences.iter().filter(|found| found.address == *status.address && !is_gone);
        Node {
            address: status.address.to_string(),
            since: clock_text::rfc3339(status.since),
            position: status.position,
            lag: head.0.saturating_sub(status.position),
            durable: status.durable,
            level: status.level,
            memory_limit: status.memory,
            seen: clock_text::rfc3339(seen),
            leader: !is_gone && leads(&status.node.to_string()),
            this: status.node == app.node.id,
            node: status.node.to_string(),
            state: state.into(),
            ledger: said.map_or("unknown".to_owned(), |said| said.ledger.to_string()).into(),
            differs: here.map(|found| found.setting.clone()).collect(),
        }
    };
    let (nodes, gone) = match app.node.intake.membership() {
        Some(Membership { head, nodes, gone }) => {
            let head = (head.position, head.now);
            let views = |of: &[(NodeStatus, Timestamp)], is_gone: bool| -> Vec<Node> {
                of.iter().map(|(node, seen)| view(node, *seen, head, is_gone)).collect()
            };
            (views(&nodes, false), views(&gone, true))
        }
        // The only node there can be, or one that has not heard of the others yet.
        None => {
            let (position, now) = (app.node.replica.look(State::position), app.node.intake.now());
            let own = app.node.intake.agreement.own();
            let node = Node {
                address: app.node.address.to_string(),
                since: clock_text::rfc3339(app.node.since),
                position,
                lag: 0,
                durable: position,
                level: firstcome_core::newest_level(),
                memory_limit: app.node.intake.memory_limit(),
                seen: clock_text::rfc3339(now),
                leader: leads(&this),
                this: true,
                node: this.clone(),
                state: if own.leaving { "leaving" } else { "here" }.into(),
                ledger: own.ledger.to_string().into(),
                differs: Vec::new(),
            };
            (vec![node], Vec::new())
        }
    };
    let stale = app.is_stale();
    let durability = app.options.durability.borrow().clone();
    let nodes = app.node.replica.look(|state| Nodes {
        space: state.space().to_string(),
        position: state.token().to_string(),
        digest: format!("{:016x}", state.digest()),
        leader,
        settle_term: app.leader.standing().term,
        settled: state.settled(),
        last_result: state.last_result(),
        durability: durability.promise,
        durability_trouble: durability.trouble,
        stale,
        shared: app.node.journal.is_shared(),
        level: state.level(),
        expected: (nodes.len() + gone.len()) as u64,
        nodes,
        gone,
    });
    Ok(json(StatusCode::OK, &nodes))
}

/// Raises the space permanently to the newest level that this server reads: make a backup first.
#[utoipa::path(post, path = "/v1/level", tag = "operation", operation_id = "raise_level", responses((status = "2XX", body = Raised)))]
pub(crate) async fn raise_level(call: Call) -> HandlerResult {
    let Call { app, headers, .. } = &call;
    let key = app.keys.know_for_all(headers, Role::Admin)?;
    let answer = match app.node.intake.raise_level(&key.name).await {
        Ok(answer) => answer,
        Err(CannotRaise::Failed(failure)) => return Err(Problem::failed(&failure)),
        Err(why @ CannotRaise::ServerReadsLess { .. }) => {
            return Err(Problem::new(Code::LevelNotRead, format!("{why}; nothing changed")));
        }
    };
    let raised = Raised {
        outcome: answer.outcome.as_str().into(),
        level: app.node.intake.level(),
        position: answer.position.to_string(),
    };
    Ok(json(StatusCode::OK, &raised))
}

/// Makes this server write its state into a store that has nothing of the space any more.
///
/// Entries that only other servers or only the store had are lost: use the server with the highest position.
#[utoipa::path(post, path = "/v1/reseed", tag = "operation", operation_id = "reseed",
    responses((status = "2XX", description = "accepted: it is done at the next check of the store", body = Reseed)))]
pub(crate) async fn reseed(call: Call) -> HandlerResult {
    let Call { app, headers, .. } = &call;
    app.keys.know(headers, Role::Admin)?;
    if !app.node.journal.is_shared() {
        let detail = "this server keeps its journal in its own data folder: there is no shared store to seed";
        return Err(Problem::new(Code::NothingLost, detail));
    }
    if !app.node.is_without_store() {
        let detail = "the store has a space: there is nothing to seed";
        return Err(Problem::new(Code::NothingLost, detail));
    }
    app.node.reseed();
    let position = app.node.replica.look(State::token).to_string();
    Ok(json(StatusCode::ACCEPTED, &Reseed { position, reseed: "accepted".into() }))
}

/// Bytes of the reports of one page: as many as one report may have.
pub const FORKS_PAGE_BYTES: usize = 1 << 20;

/// Returns the reports of servers about forks of the journal, the newest first.
#[utoipa::path(get, path = "/v1/forks", tag = "operation", operation_id = "list_forks",
    params(("after" = Option<String>, Query, description = "The `next` of the page before")),
    responses((status = "2XX", body = Forks)))]
pub(crate) async fn forks(call: Call) -> HandlerResult {
    let Call { app, headers, .. } = &call;
    app.keys.know_for_all(headers, Role::Read)?;
    let query = call.query(&["after"])?;
    app.reach(&query).await?;
    // A journal of one node cannot fork.
    let reports = if app.node.journal.is_shared() {
        app.node.journal.reports().await.map_err(|broken| {
            Problem::failed(&CommandError::Unavailable(format!(
                "the reports cannot be read: {broken}"
            )))
        })?
    } else {
        Vec::new()
    };
    let place = |epoch: u32, node: NodeId| format!("{epoch:010}-{node}");
    let behind = |of: &(u32, NodeId, String)| {
        query.get("after").is_none_or(|after| *place(of.0, of.1) < *after)
    };
    let mut left = FORKS_PAGE_BYTES;
    let mut page = Forks { forks: Vec::new(), next: None };
    let mut last = None;
    for (epoch, node, report) in reports.into_iter().rev().filter(behind) {
        if report.len() > left && last.is_some() {
            page.next = last;
            break;
        }
        left = left.saturating_sub(report.len());
        last = Some(place(epoch, node));
        page.forks.push(Fork { epoch, node: node.to_string(), report });
    }
    Ok(json(StatusCode::OK, &page))
}
