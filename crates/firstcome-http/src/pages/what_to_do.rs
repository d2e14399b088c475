//! What to do about each answer that is not a yes, for the page that explains it.

mod codes;

/// Returns what the one who got this outcome can do.
pub(super) fn about(outcome: &str) -> &'static str {
    let row = rows().find(|(known, _)| *known == outcome);
    row.map_or("Read `detail` in the answer.", |(_, cure)| cure)
}

fn rows() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    ROWS.iter().chain(codes::ROWS)
}

#[rustfmt::skip]
const ROWS: &[(&str, &str)] = &[
    ("not_found",              "Check the names in the address. `GET /v1/campaigns` lists the campaigns that your key may see."),
    ("archived",               "Nothing more can be done in this campaign. Its results are in the ledger."),
    ("pool_required",          "Add `pool` to the request. `GET` of the campaign lists its pools."),
    ("already_cancelled",      "Tell the customer that the place was given back. The operator can allow a new claim with `claim_again` before the campaign opens."),
    ("barred",                 "Tell the customer to ask the shop. An operator can remove the bar: `DELETE …/bars/{subject}`."),
    ("too_many_bars",          "Remove bars that are not needed any more. `GET …/bars` lists them."),
    ("no_waitlist",            "Claim or hold as usual. An operator can give the pool a waitlist."),
    ("waitlist_full",          "Try again later: somebody may have left. An operator can raise `waitlist` of the pool."),
    ("too_many_wishes",        "Wish for one unit, or for as many, of the same price category and channel, as others wait for already."),
    ("not_on_waitlist",        "Look at the subject's claims and at the results: it was served, left, or is off the list. It can join with a claim that waits."),
    ("is_offer",               "Confirm or release the offer. Hold other units with a hold of their own."),
    ("has_results",            "Close the campaign and archive it. Its name is never used again."),
    ("paused",                 "Try again later. An operator resumes the campaign."),
    ("not_open",               "Try again at `opens_at`. Without `opens_at` the campaign is a draft: an operator gives it an opening time."),
    ("closed",                 "Tell the customer that the campaign is over."),
    ("limit_reached",          "Take fewer units, or give some back first. The limits are in the campaign."),
    ("sold_out",               "Tell the customer. Units come back when a hold ends or a claim is cancelled, so a later request may win."),
    ("no_such_claim",          "Check the subject, the pool and the rank. `GET …/claims/{subject}` lists the claims."),
    ("id_reused",              "Use a new id for a new command. To repeat a command, send exactly the same content."),
    ("version_mismatch",       "Read the campaign, look at what changed, and send your change again with its `ETag`."),
    ("not_changeable",         "Leave that field as it is, or create another campaign. `field` names it."),
    ("closes_too_early",       "Give a closing time after the opening time and after now."),
    ("not_closed",             "Close the campaign first: `POST …/close`. That is final."),
    ("level_too_low",          "Ask an admin to raise the level of the space, after a backup: `firstcome nodes raise-level`."),
    ("space_moved",            "Send the same request to a server on the new store. An operator stops this one."),
    ("level_not_read",         "Update the servers and the ledger that cannot read the level, then try again."),
    ("nothing_lost",           "Do nothing: the store has its data."),
    ("unsettled",              "Wait until the ledger has all results (`GET /v1/settling`), or drop them with `drop_unsettled`."),
    ("beyond_results",         "Report it as a bug: only servers send commands that get this answer."),
    ("hold_required",          "Hold the seats first (`POST …/holds`), then confirm the hold."),
    ("has_hold",               "Use the existing hold: add to it, release it, or wait until it ends. `hold` names it."),
    ("no_such_unit",           "Check the names in `units` against the seat map."),
    ("not_for_sale",           "Choose other seats. A seat may need a `channel`, or its whole group."),
    ("too_many_holds",         "Wait as long as `Retry-After` says."),
    ("too_many_units",         "Ask for fewer units in one hold."),
    ("unit_taken",             "Choose other seats, or try again with `wait_ms`. `units` names the taken ones."),
    ("orphan_left",            "Choose seats so that no single free seat is left between taken ones. `units` names it."),
    ("no_such_hold",           "Check the id. A hold is forgotten 24 h after it ended."),
    ("not_yours",              "Send the owner of the hold, or of the code, as subject."),
    ("hold_expired",           "Hold the seats again if they are free. After a payment, confirm with `late: retake`."),
    ("hold_released",          "Hold the seats again if they are free."),
    ("refund_due",             "Give the money back. It is in the results, so it cannot be forgotten."),
    ("already_confirmed",      "Do nothing: the units belong to the subject."),
    ("not_held",               "Read the hold: it does not hold these units."),
    ("not_seated",             "Use `quantity` for a counted pool, or name a pool with seats."),
    ("bad_seat",               "Correct the lines in `errors`, and send all seats again. Nothing was added."),
    ("busy",                   "Wait as long as `Retry-After` says, and send the same request again."),
    ("outbox_full",            "Wait and send the same request again. The operator must check the ledger: it does not accept results."),
    ("store_full",             "Send the same request again later. The operator must make space in the store."),
    ("unavailable",            "Send the same request again, to another server if there is one."),
    ("unknown",                "Send the same request again. It happens once, and the answer says what happened."),
    ("stale_position",         "Leave out `min_position`: it is from before a failover. Read again."),
    ("invalid_request",        "Correct the error in `detail`. The page of the operation shows a request that works."),
    ("invalid_subject",        "Send a subject of 1 to 255 bytes without control characters."),
    ("invalid_settings",       "Correct the setting in `detail`."),
    ("too_big_for_memory",     "Use fewer units, or give the server more memory (`memory_limit_mib`)."),
    ("unsupported_media_type", "Send `Content-Type: application/json`."),
    ("not_acceptable",         "Send an `Accept` with a type of this route, or none."),
    ("too_large",              "Send less in one request. `detail` names the limit."),
    ("timeout",                "Send the request again over a faster connection."),
    ("unauthorized",           "Send `Authorization: Bearer KEY` with a key or a token that this server knows."),
    ("not_eligible",           "Tell the customer the `reason`. It is the answer of the team's own service."),
    ("eligibility_unknown",    "Send the same request again in a moment. The operator must check the team's own service."),
    ("token_expired",          "Get a new token from the shop's back end."),
    ("forbidden",              "Use a key with a higher role, or for this campaign. `detail` names the missing right."),
    ("origin_not_allowed",     "Add the page's origin to `cors_origins` of the server, for example `https://shop.example`."),
    ("no_such_route",          "Check the address. `/docs` lists all routes."),
    ("method_not_allowed",     "Use a method of the route. `/docs` lists them."),
    ("too_many_connections",   "Try again in a second. Keep connections open and use them again."),
    ("too_many_requests",      "Wait as long as `Retry-After` says."),
    ("no_ledger",              "Ask a server that has a ledger (`ledger`)."),
    ("no_such_webhook",        "List the webhooks: the id is another one, or it was removed."),
    ("too_many_webhooks",      "Remove one that nobody needs."),
    ("too_many_streams",       "Close a stream, for example a tab of the page, or read the map without one."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Code;

    #[test]
    fn every_answer_that_is_not_a_yes_says_what_to_do() {
        let known: Vec<&str> = rows().map(|(outcome, _)| *outcome).collect();
        for code in Code::all() {
            let outcome = code.row().outcome;
            let rows = known.iter().filter(|known| **known == outcome).count();
            assert_eq!(rows, 1, "{outcome}");
        }
        let unknown = known.iter().find(|outcome| Code::of(outcome).is_none());
        assert_eq!(unknown, None);
    }
}
