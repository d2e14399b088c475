//! Seats of a seated pool: shown, imported, changed, blocked, moved.

use crate::answer::Answer;
use crate::campaigns::command_id;
use crate::client::Client;
use crate::error::Error;
use crate::holds::picks::Picks;
use crate::routes::Ask;
use firstcome_api::seat::{
    BlockRequest, Imported, MoveRequest, SeatChangeRequest, SeatRow, SeatsBlocked, SeatsChanged,
    SeatsMoved,
};
use firstcome_api::seat_map::SeatMap;

impl Client {
    /// Reads the map of a seated pool: its rows and areas, and how they stand.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]; never [`Error::Unknown`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changes.
    pub async fn seat_map(&self, campaign: &str, pool: &str) -> Result<Answer<SeatMap>, Error> {
        self.call(Ask::seats(campaign, pool, false)).await
    }

    /// Reads how the seats of a pool stand, without their names: for whoever has the map already.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]; never [`Error::Unknown`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changes.
    pub async fn seat_status(&self, campaign: &str, pool: &str) -> Result<Answer<SeatMap>, Error> {
        self.call(Ask::seats(campaign, pool, true)).await
    }

    /// Adds up to 4,000 seats and areas, all of them or none. Those that are there just so are skipped.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn import_seats(
        &self,
        campaign: &str,
        pool: &str,
        seats: &[SeatRow],
    ) -> Result<Answer<Imported>, Error> {
        let seats = serde_json::to_value(seats).expect("seats can be written as JSON");
        self.call(Ask::import_seats(campaign, pool, seats)).await
    }

    /// Changes names, grades and prices of up to 4,000 seats, all of them or none.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn change_seats(
        &self,
        campaign: &str,
        pool: &str,
        seats: &[SeatChangeRequest],
    ) -> Result<Answer<SeatsChanged>, Error> {
        self.call(Ask::change_seats(campaign, pool, seats, &command_id())).await
    }

    /// Takes free units out of sale, for a reason of 1 to 256 bytes. The pool of the picks is this one.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn block_seats(
        &self,
        campaign: &str,
        pool: &str,
        picks: &Picks,
        reason: &str,
    ) -> Result<Answer<SeatsBlocked>, Error> {
        self.block(campaign, pool, "block", picks, reason).await
    }

    /// Puts blocked units back into sale, for a reason of 1 to 256 bytes. The pool of the picks is this one.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn unblock_seats(
        &self,
        campaign: &str,
        pool: &str,
        picks: &Picks,
        reason: &str,
    ) -> Result<Answer<SeatsBlocked>, Error> {
        self.block(campaign, pool, "unblock", picks, reason).await
    }

    async fn block(
        &self,
        campaign: &str,
        pool: &str,
        verb: &str,
        picks: &Picks,
        reason: &str,
    ) -> Result<Answer<SeatsBlocked>, Error> {
        let picks = Picks { pool: None, ..picks.clone() }.requests();
        let body = BlockRequest { units: Vec::new(), picks, reason: reason.to_owned() };
        self.call(Ask::operate_seats(campaign, pool, verb, body, &command_id())).await
    }

    /// Exchanges a seat that somebody holds or has for a free one, for a reason of 1 to 256 bytes.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn move_seat(
        &self,
        campaign: &str,
        pool: &str,
        from: &str,
        to: &str,
        reason: &str,
    ) -> Result<Answer<SeatsMoved>, Error> {
        let (from, to, reason) = (from.to_owned(), to.to_owned(), reason.to_owned());
        let body = MoveRequest { from, to, reason };
        self.call(Ask::operate_seats(campaign, pool, "move", body, &command_id())).await
    }
}
