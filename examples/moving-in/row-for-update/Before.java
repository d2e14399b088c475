import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import javax.sql.DataSource;

/** Places of a campaign, in a row of the database that is locked for each request. */
final class Before {
    private final DataSource database;

    Before(DataSource database) {
        this.database = database;
    }

    String takePlace(String campaign, String customer) throws SQLException {
        // The pool gives connections without autocommit, and rolls back what is not committed.
        try (Connection db = database.getConnection()) {
            int left = number(db, "SELECT places_left FROM campaign WHERE name = ? FOR UPDATE", campaign);
            int rank = number(db, "SELECT coalesce(min(rank), 0) FROM winner WHERE campaign = ? AND customer = ?", campaign, customer);
            if (rank > 0) {
                return "You have place " + rank;
            }
            if (left == 0) {
                return "Sold out";
            }
            rank = number(db, "UPDATE campaign SET places_left = places_left - 1 WHERE name = ? RETURNING places - places_left", campaign);
            number(db, "INSERT INTO winner (campaign, customer, rank) VALUES (?, ?, ?) RETURNING rank", campaign, customer, rank);
            db.commit();
            return "You have place " + rank;
        }
    }

    private static int number(Connection db, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = db.prepareStatement(sql)) {
            for (int n = 0; n < values.length; n++) {
                statement.setObject(n + 1, values[n]);
            }
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                return row.getInt(1);
            }
        }
    }
}
