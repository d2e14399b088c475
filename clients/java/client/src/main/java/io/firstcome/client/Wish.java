package io.firstcome.client;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** What somebody on a waitlist waits for. It is immutable: each method gives a new one. */
public final class Wish {
    final ObjectNode json;

    private Wish(ObjectNode json) {
        this.json = json;
    }

    /**
     * Wishes for one unit.
     *
     * @return the wish
     */
    public static Wish one() {
        return new Wish(Json.object());
    }

    /**
     * Wishes for units that come together or not at all.
     *
     * @param quantity how many, 1 to 10
     * @return the wish
     */
    public static Wish of(int quantity) {
        Checks.range("quantity", quantity, 1, 10);
        return new Wish(Json.object().put("quantity", quantity));
    }

    /**
     * Sets the pool, which is needed if the campaign has several.
     *
     * @param pool its name
     * @return the wish in this pool
     */
    public Wish pool(String pool) {
        return new Wish(json.deepCopy().put("pool", Checks.name("pool", pool)));
    }

    /**
     * Sets the price category of a seated pool.
     *
     * @param grade its name
     * @return the wish of this category
     */
    public Wish grade(String grade) {
        return new Wish(json.deepCopy().put("grade", Checks.bytes("grade", grade, 255)));
    }

    /**
     * Sets the area of a seated pool.
     *
     * @param area its name
     * @return the wish in this area
     */
    public Wish area(String area) {
        return new Wish(json.deepCopy().put("area", Checks.bytes("area", area, 255)));
    }

    /**
     * Wishes only for seats next to each other.
     *
     * @return the wish
     */
    public Wish adjacent() {
        return new Wish(json.deepCopy().put("adjacent", true));
    }
}
