//! What scripts say about waitlists.

use crate::play::{cut, target, within};
use firstcome_core::campaign::OnList;
use firstcome_core::command::Wish;
use firstcome_core::{Command, State};

/// Reads `hall/main 2 grade=R channel=web area=GA adjacent within 4`.
pub(crate) fn join<'a>(subject: &'a str, said: &'a str) -> Command<'a> {
    let (said, limit) = within(said);
    let (place, said) = cut(said);
    let (campaign, pool) = target(place);
    let mut wish = Wish::units(1);
    for word in said.split_whitespace() {
        match word.split_once('=') {
            Some(("grade", grade)) => wish.grade = Some(grade),
            Some(("channel", channel)) => wish.channel = Some(channel),
            Some(("area", area)) => wish.area = Some(area),
            Some(_) => panic!("nobody waits for {word}"),
            None if word == "adjacent" => wish.adjacent = true,
            None => wish.quantity = word.parse().unwrap(),
        }
    }
    Command::Join { campaign, pool, subject, wish, limit }
}

/// Tells how somebody stands with a waitlist: `place ann drop/main`.
pub(crate) fn place(state: &State, what: &str) -> String {
    let (subject, place) = cut(what);
    let (campaign, pool) = target(place);
    match state.campaign(campaign).unwrap().waiting(pool, subject) {
        Err(refusal) => refusal.as_str().into(),
        Ok(None) => "nobody".into(),
        Ok(Some(OnList::Offered(hold))) => hold.id().into(),
        Ok(Some(OnList::Waits(place))) => {
            let over = if place.passed_over { ", passed over" } else { "" };
            let (ahead, quantity) = (place.ahead, place.wish.quantity);
            format!("{ahead} ahead for {quantity}, {} missed{over}", place.missed)
        }
    }
}
