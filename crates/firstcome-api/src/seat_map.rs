//! The map of a seated pool, for clients. The server writes it from pieces that it keeps compressed.

use serde::Deserialize;

/// The map of a seated pool: its rows and areas, and their status.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct SeatMap {
    /// A letter for each seat, in the order of adding: `.` free, `-` not for sale, `h` held, `c` confirmed, `b` blocked.
    pub standing: String,
    /// Left, held, confirmed and blocked of each area.
    #[serde(default)]
    pub area_standing: Vec<[u64; 4]>,
    /// Its rows.
    #[serde(default)]
    pub rows: Vec<MapRow>,
    /// Its areas.
    #[serde(default)]
    pub areas: Vec<MapArea>,
}

/// A row of a map.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct MapRow {
    /// The section it is in.
    #[serde(default)]
    pub section: String,
    /// Its name.
    #[serde(default)]
    pub row: String,
    /// The number of its first seat, where all follow each other.
    pub first: Option<usize>,
    /// The numbers of its seats, where they do not.
    #[serde(default)]
    pub seats: Vec<usize>,
    /// What all its seats' names begin with.
    #[serde(default)]
    pub prefix: String,
    /// The rest of their names.
    #[serde(default)]
    pub names: Vec<String>,
}

/// An area of a map.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct MapArea {
    /// Its name.
    pub name: String,
    /// Its places.
    #[serde(default)]
    pub capacity: u64,
}

impl MapRow {
    /// The names of its seats.
    pub fn seat_names(&self) -> Vec<String> {
        self.names.iter().map(|rest| format!("{}{rest}", self.prefix)).collect()
    }

    /// The letters of its seats; a seat the map says nothing of counts as not for sale.
    pub fn letters(&self, standing: &str) -> String {
        let numbers: Vec<usize> = match self.first {
            Some(first) => (first..first + self.names.len()).collect(),
            None => self.seats.clone(),
        };
        let letter =
            |number: &usize| standing.as_bytes().get(*number).map_or('-', |l| char::from(*l));
        numbers.iter().map(letter).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_map_gives_names_and_letters_of_its_rows() {
        let map: SeatMap = serde_json::from_value(json!({
            "standing": ".hcb-", "position": "0.1",
            "rows": [
                {"section": "L", "row": "1", "first": 1, "prefix": "L1-", "names": ["1", "2"]},
                {"section": "R", "row": "1", "seats": [0, 4, 9], "prefix": "", "names": ["A", "B", "C"]},
            ],
        }))
        .unwrap();
        let read: Vec<_> =
            map.rows.iter().map(|row| (row.seat_names(), row.letters(&map.standing))).collect();
        assert_eq!(read[0], (vec!["L1-1".to_owned(), "L1-2".to_owned()], "hc".to_owned()));
        assert_eq!(read[1].1, ".--");
    }
}
