//! Reads the seat map and the counts from the server again and again, and compares one with the other.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use firstcome_api::seat_map::MapRow;
use firstcome_client::{Ask, Client, SeatMap};
use serde::Deserialize;

use super::super::campaign::{CAMPAIGN, DemoError, POOL, ask};
use super::frame::{Frame, Observer, SeatCounts};
use crate::people::{CampaignCounts, PoolCounts};
use crate::terminal::RowOfSeats;

/// How often the venue is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// How often the map and the counts are read at the end, until both are as of one position.
const TRIES: u32 = 100;

/// How all looks ended.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// How many there were.
    pub(super) count: u64,
    /// How many read the map and the counts as of one position, so that they had to be equal.
    pub(super) compared: u64,
    /// The first at which something did not add up.
    pub(super) miscounted: Option<String>,
}

impl Looks {
    /// Compares two reads; `same_position` says whether both have the same position.
    pub(super) fn add(
        &mut self,
        seats: u64,
        map: SeatCounts,
        pool: SeatCounts,
        same_position: bool,
    ) {
        self.count += 1;
        self.compared += u64::from(same_position);
        let adds_up = map.all() == seats && pool.all() == seats;
        if !adds_up || same_position && map != pool {
            let evidence = || format!("{pool:?}, seat by seat {map:?}, of {seats}");
            self.miscounted.get_or_insert_with(evidence);
        }
    }
}

/// The status letters of all seats.
#[derive(Debug, Deserialize)]
struct Letters {
    position: String,
    standing: String,
}

/// Looks at the venue.
pub(super) struct VenueWatch {
    client: Client,
    opens_at: Instant,
    rows: Vec<MapRow>,
    seats: u64,
    looks: Looks,
    sold_out: Option<Duration>,
}

impl VenueWatch {
    /// Reads which seats there are.
    pub(super) async fn new(mut client: Client, opens_at: Instant) -> Result<Self, DemoError> {
        let map: SeatMap = ask(&mut client, Ask::seats(CAMPAIGN, POOL, false)).await?;
        let seats = map.standing.len() as u64;
        let (looks, sold_out) = (Looks::default(), None);
        Ok(Self { client, opens_at, rows: map.rows, seats, looks, sold_out })
    }

    /// When it was sold out, since the opening.
    pub(super) fn sold_out(&self) -> Option<Duration> {
        self.sold_out
    }

    /// Returns the client back, and how all looks ended.
    pub(super) fn end(self) -> (Client, Looks) {
        (self.client, self.looks)
    }

    /// Looks and shows the venue until something fails; sets `over` when it is sold out.
    pub(super) async fn follow(
        &mut self,
        came: &AtomicU32,
        over: &AtomicBool,
        observer: &dyn Observer,
    ) -> DemoError {
        let mut open = false;
        let mut clock = tokio::time::interval(LOOK);
        clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            clock.tick().await;
            if !open && Instant::now() >= self.opens_at {
                open = true;
                observer.say("the doors open");
            }
            let frame = match self.look(came.load(Ordering::Relaxed)).await {
                Ok(frame) => frame,
                Err(failed) => return failed,
            };
            observer.frame(&frame);
            if frame.counts.sold_out() && self.sold_out.is_none() {
                self.sold_out = Some(frame.elapsed);
                over.store(true, Ordering::Relaxed);
                observer.say("sold out; waiting for those who come to pay late");
            }
        }
    }

    /// Looks until the map and the counts are as of one position, and so can be compared.
    pub(super) async fn look_at_rest(&mut self) -> Result<Frame, DemoError> {
        let compared = self.looks.compared;
        let mut last = self.look(0).await?;
        for _ in 0..TRIES {
            if self.looks.compared > compared {
                return Ok(last);
            }
            tokio::time::sleep(LOOK / 5).await;
            last = self.look(0).await?;
        }
        let never = || "the map and the counts were never read as of one position".to_owned();
        self.looks.miscounted.get_or_insert_with(never);
        Ok(last)
    }

    /// Looks once.
    pub(super) async fn look(&mut self, guests: u32) -> Result<Frame, DemoError> {
        let campaign: CampaignCounts = ask(&mut self.client, Ask::campaign(CAMPAIGN)).await?;
        let map: Letters = ask(&mut self.client, Ask::seats(CAMPAIGN, POOL, true)).await?;
        let counts = of_letters(&map.standing);
        let pool = campaign.pools.iter().find(|pool| pool.name == POOL);
        let same_position = campaign.position == map.position;
        self.looks.add(self.seats, counts, pool.map(of_pool).unwrap_or_default(), same_position);
        let rows = self.rows.iter().map(|row| RowOfSeats {
            section: row.section.clone(),
            row: row.row.clone(),
            letters: row.letters(&map.standing),
        });
        Ok(Frame {
            elapsed: self.opens_at.elapsed(),
            counts,
            holds: campaign.live_holds,
            guests,
            rows: rows.collect(),
        })
    }
}

/// Counts seat by seat; a letter that is not known counts as no seat, and so does not add up.
fn of_letters(letters: &str) -> SeatCounts {
    let mut counts = SeatCounts::default();
    for letter in letters.chars() {
        match letter {
            '.' => counts.free += 1,
            'h' => counts.held += 1,
            'c' => counts.confirmed += 1,
            'b' => counts.blocked += 1,
            _ => {}
        }
    }
    counts
}

fn of_pool(pool: &PoolCounts) -> SeatCounts {
    let PoolCounts { left, taken, held, blocked, .. } = *pool;
    SeatCounts { free: left, held, confirmed: taken.saturating_sub(held), blocked }
}
