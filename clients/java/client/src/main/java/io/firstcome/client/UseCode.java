package io.firstcome.client;

import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * A code and what it is used for. Both together are the identity of each step: sent again, it is answered as the first
 * time. It is immutable, and its text does not show the code.
 */
public final class UseCode {
    final ObjectNode json;

    private UseCode(ObjectNode json) {
        this.json = json;
    }

    /**
     * Names a code and its use.
     *
     * @param code the code as it was typed, 1 to 256 bytes
     * @param reference what it is used for, such as the id of an order, 1 to 64 bytes
     * @return the use
     */
    public static UseCode of(String code, String reference) {
        ObjectNode json = Json.object().put("code", Checks.code(code));
        return new UseCode(json.put("reference", Checks.bytes("reference", reference, 64)));
    }

    /**
     * Sets the pool; if it is not set, every coded pool of the campaign is tried.
     *
     * @param pool its name
     * @return the use in this pool
     */
    public UseCode pool(String pool) {
        return new UseCode(json.deepCopy().put("pool", Checks.name("pool", pool)));
    }

    /**
     * Sets who uses the code, which is needed where only its holder may.
     *
     * @param subject the subject
     * @return the use by this subject
     */
    public UseCode subject(String subject) {
        return new UseCode(json.deepCopy().put("subject", Checks.subject(subject)));
    }

    /**
     * Sets the customer who typed the code: the server counts wrong codes for it.
     *
     * @param customer 1 to 255 bytes
     * @return the use for this customer
     */
    public UseCode customer(String customer) {
        return new UseCode(json.deepCopy().put("for", Checks.bytes("customer", customer, 255)));
    }

    @Override
    public String toString() {
        return "UseCode[" + json.deepCopy().without("code") + "]";
    }
}
