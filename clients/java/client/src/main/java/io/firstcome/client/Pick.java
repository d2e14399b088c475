package io.firstcome.client;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;

/** A choice of units for a hold. It is immutable: each method gives a new one. */
public final class Pick {
    final ObjectNode json;
    final int units;
    final boolean best;

    private Pick(ObjectNode json, int units, boolean best) {
        this.json = json;
        this.units = units;
        this.best = best;
    }

    /**
     * Picks by name.
     *
     * @param names 1 to 500 names of seats, of groups (all their seats) or of areas (one place each)
     * @return the pick
     */
    public static Pick units(String... names) {
        Checks.range("the number of units of a pick", names.length, 1, 500);
        ObjectNode json = Json.object();
        List.of(names).forEach(json.putArray("units")::add);
        return new Pick(json, names.length, false);
    }

    /**
     * Picks a number of units of a counted pool, or of an {@linkplain #area area}.
     *
     * @param quantity how many, 1 to 500
     * @return the pick
     */
    public static Pick quantity(int quantity) {
        Checks.range("quantity", quantity, 1, 500);
        return new Pick(Json.object().put("quantity", quantity), quantity, false);
    }

    /**
     * Picks the best seats that are free, next to each other unless {@link #anywhere} is said.
     *
     * @param number how many, 1 to 100
     * @return the pick
     */
    public static Pick best(int number) {
        Checks.range("the number of best seats", number, 1, 100);
        return new Pick(Json.object().put("best", number), number, true);
    }

    /**
     * Sets the pool, which is needed if the campaign has several.
     *
     * @param pool its name
     * @return the pick in this pool
     */
    public Pick pool(String pool) {
        return with("pool", Checks.name("pool", pool));
    }

    /**
     * Sets the area of a quantity.
     *
     * @param area its name
     * @return the pick in this area
     */
    public Pick area(String area) {
        return with("area", Checks.bytes("area", area, 255));
    }

    /**
     * Sets the price category of the best seats.
     *
     * @param grade its name
     * @return the pick of this category
     */
    public Pick grade(String grade) {
        return with("grade", Checks.bytes("grade", grade, 255));
    }

    /**
     * Sets the allocation of seats that the seller uses.
     *
     * @param channel its name
     * @return the pick in this allocation
     */
    public Pick channel(String channel) {
        return with("channel", Checks.bytes("channel", channel, 255));
    }

    /**
     * Lets the best seats be apart.
     *
     * @return the pick that need not be adjacent
     */
    public Pick anywhere() {
        ObjectNode copy = json.deepCopy().put("adjacent", false);
        return new Pick(copy, units, best);
    }

    private Pick with(String field, String value) {
        return new Pick(json.deepCopy().put(field, value), units, best);
    }
}
