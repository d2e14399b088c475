//! The pages of the shop: plain HTML without a script.

use crate::Payment;
use firstcome_client::{HeldUnit, Hold};

/// Writes a text so that it can stand in HTML.
fn text(raw: &str) -> String {
    raw.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

pub(crate) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{title}</title><style>body {{ font: 1.1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 2rem auto; \
         padding: 0 1rem; color-scheme: light dark }} button, input, select {{ font: inherit; padding: .5rem 1rem; \
         margin: .3rem 0 }} form {{ margin: 1rem 0 }}</style><h1>{title}</h1>{body}\
         <p><a href=/>The shop</a> · <a href=/orders>Your payments</a></p></html>"
    )
}

pub(crate) fn sentence(words: &str) -> String {
    format!("<p>{}</p>", text(words))
}

/// Who are you, and what do you want?
pub(crate) fn front(name: &str, campaigns: &[String]) -> String {
    let choice: String =
        campaigns.iter().map(|name| format!("<option>{}</option>", text(name))).collect();
    let body = format!(
        "<form method=post action=/enter><p><label>Your name<br><input name=name required pattern=\"[A-Za-z0-9\\-]+\" \
         maxlength=32 value=\"{}\"></label></p><p><label>What you want<br><select name=campaign>{choice}</select></label></p>\
         <button>Go there</button></form>",
        text(name)
    );
    page("The shop", &body)
}

/// What is to be paid.
pub(crate) fn checkout(campaign: &str, hold: &Hold) -> String {
    let sum: i64 = hold
        .units
        .iter()
        .map(|unit| unit.price_minor.unwrap_or(0) * i64::from(unit.quantity.unwrap_or(1)))
        .sum();
    let currency = hold.units.iter().find_map(|unit| unit.currency.as_deref()).unwrap_or_default();
    let until = hold.expires_at.as_deref().unwrap_or("a moment ago");
    let (campaign, id) = (text(campaign), text(&hold.hold));
    let button = |when: &str, label: &str| {
        format!(
            "<form method=post action=/pay><input type=hidden name=campaign value=\"{campaign}\">\
             <input type=hidden name=hold value=\"{id}\"><input type=hidden name=when value={when}>\
             <button id={when}>{label}</button></form>"
        )
    };
    let body = format!(
        "<p>{}: {sum} {currency} (in minor units), reserved until {}.</p>{}{}",
        text(&names(&hold.units)),
        text(until),
        button("now", "Pay"),
        button("late", "Pay without having the seats kept meanwhile")
    );
    page("Payment", &body)
}

/// What came of a payment.
pub(crate) fn paid(payment: &Payment, back: &str) -> String {
    let words = match payment.became {
        "bought" => format!("Thank you. It is yours: {}", payment.what),
        _ => "That was too late, and somebody else has it. Your money goes back to you.".to_owned(),
    };
    let link = format!("<p><a id=back href=\"{}\">Back to the page</a></p>", text(back));
    page(&format!("Payment {}", payment.became), &(sentence(&words) + &link))
}

/// A customer's payments.
pub(crate) fn orders<'a>(payments: impl Iterator<Item = (&'a String, &'a Payment)>) -> String {
    let row = |(hold, payment): (&String, &Payment)| {
        format!("<li>{}: {} {}</li>", text(hold), payment.became, text(&payment.what))
    };
    page("Your payments", &format!("<ul>{}</ul>", payments.map(row).collect::<String>()))
}

/// Names units in a sentence.
pub(crate) fn names(units: &[HeldUnit]) -> String {
    let name = |unit: &HeldUnit| {
        let name = unit.unit.as_deref().or(unit.area.as_deref()).unwrap_or(&unit.pool);
        match unit.quantity {
            Some(quantity) if quantity > 1 => format!("{name} × {quantity}"),
            Some(_) | None => name.to_owned(),
        }
    };
    units.iter().map(name).collect::<Vec<_>>().join(", ")
}
