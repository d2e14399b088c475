use crate::{
    Kept,
    left::{self},
};

pub fn right() {}
