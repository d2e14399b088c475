//! Texts that many seats share, each kept once.

use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Values with a small number each. Number 0 is the one it began with.
#[derive(Clone, Debug)]
pub(super) struct Interned<T> {
    values: Vec<T>,
    numbers: BTreeMap<T, u32>,
}

impl<T: Clone + Ord> Interned<T> {
    pub(super) fn new(zero: T) -> Self {
        Self { values: vec![zero.clone()], numbers: BTreeMap::from([(zero, 0)]) }
    }

    pub(super) fn find<Q: Ord + ?Sized>(&self, value: &Q) -> Option<u32>
    where
        T: Borrow<Q>,
    {
        self.numbers.get(value).copied()
    }

    pub(super) fn get(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    /// Returns a value's number, a new one if it is new.
    pub(super) fn number<Q>(&mut self, value: &Q) -> u32
    where
        T: Borrow<Q>,
        Q: Ord + ToOwned<Owned: Into<T>> + ?Sized,
    {
        if let Some(known) = self.numbers.get(value) {
            return *known;
        }
        let number = self.values.len() as u32;
        let value: T = value.to_owned().into();
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }

    /// Returns how many values there are beyond the one it began with.
    pub(super) fn len(&self) -> usize {
        self.values.len() - 1
    }

    /// Returns values and numbers in the order of the values, which is the same on every node.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&T, u32)> {
        self.numbers.iter().map(|(value, number)| (value, *number))
    }
}
