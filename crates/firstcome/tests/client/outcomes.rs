//! Every outcome of the server has its place in the client.

use firstcome_client::{Problem, Refusal};
use firstcome_http::answer::{Code, Effect};

/// Refusals of the rules that the methods of the client cannot have.
const NOT_ASKED: [&str; 2] = ["beyond_results", "tag_required"];
/// Other answers that a shop's customer is told, or that are about what stands: they are refusals to the client, too.
const TOLD: [&str; 9] = [
    "not_eligible",
    "refund_due",
    "level_too_low",
    "malformed",
    "bad_code",
    "too_many_wrong_codes",
    "no_code_key",
    "not_on_waitlist",
    "space_moved",
];

#[test]
fn every_outcome_of_the_server_is_known_to_the_client() {
    for code in Code::all() {
        let row = code.row();
        let document = format!(r#"{{"outcome":"{}","changed":"no"}}"#, row.outcome);
        let problem = Problem::read(row.status.as_u16(), document.as_bytes()).unwrap();
        let refusal = Refusal::of(&problem);
        assert!(!matches!(refusal, Some(Refusal::Other(_))), "{} is not known", row.outcome);
        let by_rules = matches!(code, Code::Refused(_)) && !NOT_ASKED.contains(&row.outcome);
        let expected = by_rules || TOLD.contains(&row.outcome);
        assert_eq!(refusal.is_some(), expected, "{}", row.outcome);
        if refusal.is_some() && row.outcome != "refund_due" {
            assert_eq!(row.effect, Effect::None, "{}", row.outcome);
        }
    }
}
