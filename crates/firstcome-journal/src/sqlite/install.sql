INSERT OR REPLACE INTO manifest (position, term, installed_at, pieces, bytes)
VALUES (?1, ?2, ?3, ?4, ?5)
