//! Load on running servers that checks every answer ([`rush`]), and what is made of it for people to look at ([`demo`]).

pub mod demo;
pub mod house;
pub mod picture;
pub mod rush;
