//! Changes of stored bytes: of single bytes, and of the fields they are made of.

use firstcome_core::wire::{Field, Reader, Write};
use proptest::prelude::*;
use proptest::sample::Index;
use xxhash_rust::xxh3::xxh3_64;

/// Numbers at which something may end.
const EXTREMES: [u64; 12] = [
    0,
    1,
    2,
    u16::MAX as u64,
    u16::MAX as u64 + 1,
    i32::MAX as u64,
    u32::MAX as u64 - 1,
    u32::MAX as u64,
    u32::MAX as u64 + 1,
    i64::MAX as u64,
    u64::MAX - 1,
    u64::MAX,
];

/// One change.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A bit is turned.
    Flip(Index, u8),
    /// The end is gone.
    Cut(Index),
    /// Bytes are put in.
    Insert(Index, Vec<u8>),
    /// A byte becomes a length, or another number, that is far too large.
    Inflate(Index, Index),
    /// A number in a field becomes another one.
    Number(Index, Index),
    /// A field comes twice.
    Twice(Index),
    /// A field is gone.
    Without(Index),
    /// A field has another number.
    Renumber(Index, u32),
    /// What a field holds is cut, and its length fits.
    Shorten(Index, Index),
}

impl Arbitrary for Change {
    type Parameters = ();
    type Strategy = BoxedStrategy<Self>;

    fn arbitrary_with((): ()) -> BoxedStrategy<Self> {
        let index = any::<Index>;
        prop_oneof![
            2 => (index(), any::<u8>()).prop_map(|(at, bit)| Self::Flip(at, bit % 8)),
            1 => index().prop_map(Self::Cut),
            1 => (index(), proptest::collection::vec(any::<u8>(), 1..12))
                .prop_map(|(at, bytes)| Self::Insert(at, bytes)),
            2 => (index(), index()).prop_map(|(at, to)| Self::Inflate(at, to)),
            4 => (index(), index()).prop_map(|(at, to)| Self::Number(at, to)),
            2 => index().prop_map(Self::Twice),
            1 => index().prop_map(Self::Without),
            1 => (index(), 1..20_u32).prop_map(|(at, to)| Self::Renumber(at, to)),
            2 => (index(), index()).prop_map(|(at, to)| Self::Shorten(at, to)),
        ]
        .boxed()
    }
}

/// Returns bytes with the checksum that a body and a manifest end with.
pub(crate) fn resealed(content: &[u8]) -> Vec<u8> {
    let mut whole = content.to_vec();
    whole.extend(xxh3_64(content).to_le_bytes());
    whole
}

/// Makes changes one after the other.
pub(crate) fn changed(bytes: &[u8], changes: &[Change]) -> Vec<u8> {
    changes.iter().fold(bytes.to_vec(), once)
}

fn once(mut bytes: Vec<u8>, change: &Change) -> Vec<u8> {
    if bytes.is_empty() {
        return bytes;
    }
    let length = bytes.len();
    match change {
        Change::Flip(at, bit) => bytes[at.index(length)] ^= 1 << bit,
        Change::Cut(at) => bytes.truncate(at.index(length)),
        Change::Insert(at, more) => {
            let at = at.index(length);
            bytes.splice(at..at, more.iter().copied());
        }
        Change::Inflate(at, to) => {
            let mut number = Vec::new();
            number.varint(*to.get(&EXTREMES));
            let at = at.index(length);
            bytes.splice(at..=at, number);
        }
        Change::Number(..)
        | Change::Twice(_)
        | Change::Without(_)
        | Change::Renumber(..)
        | Change::Shorten(..) => {
            let Some(mut fields) = read(&bytes, 0) else { return bytes };
            change_field(&mut fields, change);
            bytes.clear();
            write(&mut bytes, &fields);
        }
    }
    bytes
}

#[derive(Clone, Debug)]
struct Node(u32, Held);

#[derive(Clone, Debug)]
enum Held {
    Number(u64),
    Bytes(Vec<u8>),
    Fields(Vec<Node>),
}

/// Reads fields, and those inside them, as far as they look like fields.
fn read(bytes: &[u8], depth: u32) -> Option<Vec<Node>> {
    let (mut reader, mut fields) = (Reader::new(bytes), Vec::new());
    while let Some((number, field)) = reader.field().ok()? {
        let held = match field {
            Field::Number(value) => Held::Number(value),
            Field::Bytes(bytes) if depth < 6 && !bytes.is_empty() => match read(bytes, depth + 1) {
                Some(fields) => Held::Fields(fields),
                None => Held::Bytes(bytes.to_vec()),
            },
            Field::Bytes(bytes) => Held::Bytes(bytes.to_vec()),
        };
        fields.push(Node(number, held));
    }
    Some(fields)
}

fn write(out: &mut Vec<u8>, fields: &[Node]) {
    for Node(number, held) in fields {
        match held {
            Held::Number(value) => out.number(*number, *value),
            Held::Bytes(bytes) => out.bytes(*number, bytes),
            Held::Fields(fields) => out.nested(*number, |out| write(out, fields)),
        }
    }
}

fn count(fields: &[Node]) -> usize {
    let inside = |node: &Node| if let Held::Fields(fields) = &node.1 { count(fields) } else { 0 };
    fields.iter().map(|node| 1 + inside(node)).sum()
}

fn change_field(fields: &mut Vec<Node>, change: &Change) {
    let all = count(fields);
    let (Change::Number(at, _)
    | Change::Twice(at)
    | Change::Without(at)
    | Change::Renumber(at, _)
    | Change::Shorten(at, _)) = change
    else {
        return;
    };
    if all > 0 {
        let mut left = at.index(all);
        visit(fields, &mut left, change);
    }
}

/// Goes to the field that is `left` fields ahead and changes it; `false` if it is not in here.
fn visit(fields: &mut Vec<Node>, left: &mut usize, change: &Change) -> bool {
    for at in 0..fields.len() {
        if *left == 0 {
            match (change, &mut fields[at].1) {
                (Change::Number(_, to), held) => *held = Held::Number(*to.get(&EXTREMES)),
                (Change::Twice(_), _) => {
                    let again = fields[at].clone();
                    fields.insert(at, again);
                }
                (Change::Without(_), _) => drop(fields.remove(at)),
                (Change::Renumber(_, to), _) => fields[at].0 = *to,
                (Change::Shorten(_, to), Held::Bytes(bytes)) if !bytes.is_empty() => {
                    bytes.truncate(to.index(bytes.len()));
                }
                _ => {}
            }
            return true;
        }
        *left -= 1;
        if let Held::Fields(inside) = &mut fields[at].1
            && visit(inside, left, change)
        {
            return true;
        }
    }
    false
}
