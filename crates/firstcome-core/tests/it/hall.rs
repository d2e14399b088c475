//! Halls: as scripts with a drawing, against an exhaustive reference, and as bytes.

mod adding;
mod choices;
mod drawn;
mod filling;
mod made_up;
mod reference;
mod stored;
