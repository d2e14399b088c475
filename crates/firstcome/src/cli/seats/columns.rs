//! The columns of a file of seats: what each holds, what is wrong with a cell, and which one may have been meant.

use crate::config::nearest;
use serde_json::{Map, Value};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Text,
    Number,
    Flag,
}

/// Every column there is.
const COLUMNS: [(&str, Column); 17] = [
    ("name", Column::Text),
    ("section", Column::Text),
    ("row", Column::Text),
    ("number", Column::Text),
    ("x", Column::Number),
    ("y", Column::Number),
    ("quality", Column::Number),
    ("grade", Column::Text),
    ("price_minor", Column::Number),
    ("currency", Column::Text),
    ("channel", Column::Text),
    ("accessible", Column::Flag),
    ("companion", Column::Flag),
    ("for_sale", Column::Flag),
    ("group", Column::Text),
    ("extra", Column::Text),
    ("capacity", Column::Number),
];

/// What others call these columns.
const OTHERS: [(&str, &str); 19] = [
    ("price", "price_minor"),
    ("amount", "price_minor"),
    ("cost", "price_minor"),
    ("seat", "name"),
    ("seat_name", "name"),
    ("label", "name"),
    ("id", "name"),
    ("block", "section"),
    ("sector", "section"),
    ("seat_number", "number"),
    ("category", "grade"),
    ("class", "grade"),
    ("wheelchair", "accessible"),
    ("places", "capacity"),
    ("seats", "capacity"),
    ("table", "group"),
    ("on_sale", "for_sale"),
    ("rank", "quality"),
    ("note", "extra"),
];

/// The currencies of ISO 4217.
const CURRENCIES: &str = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN \
    BWP BYN BZD CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP \
    GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD \
    KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD \
    OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL \
    THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF XCD XCG XOF XPF \
    YER ZAR ZMW ZWG";

fn column(name: &str) -> Option<Column> {
    COLUMNS.into_iter().find(|(known, _)| *known == name).map(|(_, column)| column)
}

/// Says which column may have been meant, if there is none of this name.
pub(super) fn unknown(name: &str) -> Option<String> {
    if column(name).is_some() {
        return None;
    }
    let plain = name.trim().to_lowercase().replace([' ', '-'], "_");
    let other = OTHERS.into_iter().find(|(other, _)| *other == plain).map(|(_, meant)| meant);
    let meant = other.or_else(|| nearest(&plain, COLUMNS.into_iter().map(|(known, _)| known)));
    Some(match meant {
        Some(meant) => format!("there is no column {name}: did you mean {meant}?"),
        None => format!("there is no column {name}"),
    })
}

/// Reads a cell of a table.
pub(super) fn value(name: &str, cell: &str) -> Result<Value, String> {
    match column(name) {
        Some(Column::Text) | None => Ok(cell.into()),
        Some(Column::Number) => {
            let number = cell.parse::<i64>();
            number.map(Into::into).map_err(|_| not_whole(name, cell))
        }
        Some(Column::Flag) => match cell.to_lowercase().as_str() {
            "true" | "yes" | "1" => Ok(true.into()),
            "false" | "no" | "0" => Ok(false.into()),
            _ => Err(format!("{name} {cell:?} is neither true nor false")),
        },
    }
}

/// Says what is wrong with a number as it was typed.
fn not_whole(name: &str, cell: &str) -> String {
    let parts = cell.split_once([',', '.']);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match parts {
        Some((whole, part)) if digits(whole) && digits(part) => {
            let mark = if cell.contains(',') { "comma" } else { "point" };
            let minor = if name == "price_minor" {
                format!(": a price is in the smallest unit of its currency, such as {whole}{part}")
            } else {
                String::new()
            };
            format!("{name} {cell:?} has a decimal {mark}, but must be a whole number{minor}")
        }
        Some(_) | None => format!("{name} {cell:?} is not a whole number"),
    }
}

/// Returns everything that is wrong with a seat.
pub(super) fn faults(seat: &Map<String, Value>) -> Vec<String> {
    let mut wrong: Vec<String> = seat.keys().filter_map(|name| unknown(name)).collect();
    for (name, value) in seat.iter().filter(|(_, value)| !value.is_null()) {
        let fits = match column(name) {
            None => true,
            Some(Column::Text) => value.is_string(),
            Some(Column::Flag) => value.is_boolean(),
            Some(Column::Number) => match value.as_i64() {
                Some(number) if number < 0 => {
                    wrong.push(format!("{name} {number} is below 0"));
                    true
                }
                number => number.is_some(),
            },
        };
        if !fits {
            wrong.push(format!("{name} cannot be {value}"));
        }
    }
    let given = |name: &str| seat.get(name).filter(|value| !value.is_null());
    match (given("price_minor"), given("currency").and_then(Value::as_str)) {
        (Some(_), None) => wrong.push("a price needs its currency, such as EUR".to_owned()),
        // One that cannot be read was told of.
        (None, Some(_)) if !seat.contains_key("price_minor") => {
            wrong.push("a currency needs its price_minor".to_owned())
        }
        (Some(_), Some(_)) | (None, _) => {}
    }
    if let Some(currency) = given("currency").and_then(Value::as_str)
        && !CURRENCIES.split_whitespace().any(|known| known == currency)
    {
        let letters = currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase());
        wrong.push(if letters {
            format!("currency {currency:?} is not in ISO 4217")
        } else {
            format!("currency {currency:?} is not three capital letters, such as EUR")
        });
    }
    if given("name").and_then(Value::as_str).is_none_or(str::is_empty) {
        wrong.push("it has no name".to_owned());
    }
    wrong
}
