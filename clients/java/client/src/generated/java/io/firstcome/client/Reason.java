// Written by generate.py; do not edit.
package io.firstcome.client;

/** Why an answer is not a yes, by the stable names that servers give. */
public enum Reason {
    /** {@code not_found}: There is no such campaign or pool. */
    NOT_FOUND("not_found", true),
    /** {@code archived}: The campaign is finished and has left memory. */
    ARCHIVED("archived", true),
    /** {@code pool_required}: The campaign has several pools: name one. */
    POOL_REQUIRED("pool_required", true),
    /** {@code already_cancelled}: The subject's claim was cancelled, and nobody may claim again here. */
    ALREADY_CANCELLED("already_cancelled", true),
    /** {@code barred}: An operator barred this subject from the campaign. */
    BARRED("barred", true),
    /** {@code paused}: The campaign is paused. */
    PAUSED("paused", true),
    /** {@code not_open}: The campaign has not opened yet. */
    NOT_OPEN("not_open", true),
    /** {@code closed}: The campaign is over. */
    CLOSED("closed", true),
    /** {@code limit_reached}: The subject has as many units as one may have, or had 1,000 claims of the pool. */
    LIMIT_REACHED("limit_reached", true),
    /** {@code sold_out}: No unit is left. */
    SOLD_OUT("sold_out", true),
    /** {@code no_such_claim}: The subject has no such claim. */
    NO_SUCH_CLAIM("no_such_claim", true),
    /** {@code id_reused}: The id was used for a command with other content. */
    ID_REUSED("id_reused", true),
    /** {@code version_mismatch}: The campaign is at another version. */
    VERSION_MISMATCH("version_mismatch", true),
    /** {@code not_changeable}: This cannot change any more. */
    NOT_CHANGEABLE("not_changeable", true),
    /** {@code closes_too_early}: The closing time is not after the opening time and now. */
    CLOSES_TOO_EARLY("closes_too_early", true),
    /** {@code not_closed}: Only a closed campaign can be archived. */
    NOT_CLOSED("not_closed", true),
    /** {@code level_too_low}: The space is at a lower level than this needs. */
    LEVEL_TOO_LOW("level_too_low", true),
    /** {@code level_not_read}: A server or the ledger cannot read the level to raise to. */
    LEVEL_NOT_READ("level_not_read", false),
    /** {@code nothing_lost}: The store has this space: there is nothing to seed. */
    NOTHING_LOST("nothing_lost", false),
    /** {@code no_ledger}: The server writes no ledger. */
    NO_LEDGER("no_ledger", true),
    /** {@code no_such_webhook}: There is no such webhook. */
    NO_SUCH_WEBHOOK("no_such_webhook", true),
    /** {@code too_many_webhooks}: The space has as many webhooks as one may. */
    TOO_MANY_WEBHOOKS("too_many_webhooks", true),
    /** {@code unsettled}: Some results of the campaign are not settled yet. */
    UNSETTLED("unsettled", true),
    /** {@code beyond_results}: The number lies beyond the last result. */
    BEYOND_RESULTS("beyond_results", false),
    /** {@code hold_required}: Units of a seated pool are held first. */
    HOLD_REQUIRED("hold_required", true),
    /** {@code has_hold}: The subject has a live hold, and one may have one at a time. */
    HAS_HOLD("has_hold", true),
    /** {@code no_such_unit}: There is no such seat, area or group. */
    NO_SUCH_UNIT("no_such_unit", true),
    /** {@code not_for_sale}: The unit is not for sale. */
    NOT_FOR_SALE("not_for_sale", true),
    /** {@code too_many_holds}: The subject started as many holds in the last hour as one may. */
    TOO_MANY_HOLDS("too_many_holds", true),
    /** {@code too_many_units}: One hold cannot have as many units. */
    TOO_MANY_UNITS("too_many_units", true),
    /** {@code unit_taken}: Somebody has the unit. */
    UNIT_TAKEN("unit_taken", true),
    /** {@code orphan_left}: A single free seat would be left. */
    ORPHAN_LEFT("orphan_left", true),
    /** {@code no_such_hold}: There is no such hold. */
    NO_SUCH_HOLD("no_such_hold", true),
    /** {@code not_yours}: The hold or the code is another subject's. */
    NOT_YOURS("not_yours", true),
    /** {@code hold_expired}: The hold's time is over. */
    HOLD_EXPIRED("hold_expired", true),
    /** {@code hold_released}: The hold was given back. */
    HOLD_RELEASED("hold_released", true),
    /** {@code refund_due}: It was paid for too late and cannot be had any more: give back what was paid. */
    REFUND_DUE("refund_due", true),
    /** {@code already_confirmed}: The units are the subject's for good already. */
    ALREADY_CONFIRMED("already_confirmed", true),
    /** {@code not_held}: The unit is not held. */
    NOT_HELD("not_held", true),
    /** {@code not_seated}: The pool has no seats. */
    NOT_SEATED("not_seated", true),
    /** {@code bad_seat}: A seat or an area cannot be as wanted. */
    BAD_SEAT("bad_seat", true),
    /** {@code too_many_bars}: As many subjects are barred from the campaign as may be. */
    TOO_MANY_BARS("too_many_bars", true),
    /** {@code has_results}: The campaign has results: it can be archived, not deleted. */
    HAS_RESULTS("has_results", true),
    /** {@code not_on_waitlist}: The subject is not on the waitlist. */
    NOT_ON_WAITLIST("not_on_waitlist", true),
    /** {@code no_waitlist}: The pool has no waitlist. */
    NO_WAITLIST("no_waitlist", true),
    /** {@code waitlist_full}: As many wait for the pool as may. */
    WAITLIST_FULL("waitlist_full", true),
    /** {@code too_many_wishes}: Those who wait for several units want as many different things as they may. */
    TOO_MANY_WISHES("too_many_wishes", true),
    /** {@code is_offer}: The hold is an offer, which is taken or left as it is. */
    IS_OFFER("is_offer", true),
    /** {@code not_coded}: The pool has no codes. */
    NOT_CODED("not_coded", true),
    /** {@code not_imported}: The pool's codes are generated. */
    NOT_IMPORTED("not_imported", true),
    /** {@code claim_required}: Codes are claimed, not held. */
    CLAIM_REQUIRED("claim_required", true),
    /** {@code tag_required}: This server did not know yet that the pool has codes. */
    TAG_REQUIRED("tag_required", false),
    /** {@code no_such_code}: There is no such code. */
    NO_SUCH_CODE("no_such_code", true),
    /** {@code not_issued}: The code is in stock: nobody was given it. */
    NOT_ISSUED("not_issued", true),
    /** {@code subject_required}: Only its holder may use the code: name the subject. */
    SUBJECT_REQUIRED("subject_required", true),
    /** {@code already_redeemed}: This reference has redeemed the code. */
    ALREADY_REDEEMED("already_redeemed", true),
    /** {@code already_rolled_back}: This reference's redemption was rolled back. */
    ALREADY_ROLLED_BACK("already_rolled_back", true),
    /** {@code code_revoked}: The code does not count any more. */
    CODE_REVOKED("code_revoked", true),
    /** {@code code_suspended}: The code does not count until somebody decides. */
    CODE_SUSPENDED("code_suspended", true),
    /** {@code code_expired}: The code is not valid any more. */
    CODE_EXPIRED("code_expired", true),
    /** {@code code_used}: Every use of the code is redeemed. */
    CODE_USED("code_used", true),
    /** {@code code_reserved}: What is left of the code is reserved under other references. */
    CODE_RESERVED("code_reserved", true),
    /** {@code reused_since}: After this reference's redemption was rolled back, others used the code. */
    REUSED_SINCE("reused_since", true),
    /** {@code not_redeemed}: This reference has not redeemed the code. */
    NOT_REDEEMED("not_redeemed", true),
    /** {@code not_reserved}: This reference has not reserved the code. */
    NOT_RESERVED("not_reserved", true),
    /** {@code too_many_references}: The code remembers as many references as one may. */
    TOO_MANY_REFERENCES("too_many_references", true),
    /** {@code code_in_use}: The claim's code is redeemed or reserved. */
    CODE_IN_USE("code_in_use", true),
    /** {@code codes_valid}: Codes of the campaign can still be redeemed. */
    CODES_VALID("codes_valid", true),
    /** {@code import_open}: Another import of the pool is under way. */
    IMPORT_OPEN("import_open", true),
    /** {@code no_such_import}: There is no such import under way. */
    NO_SUCH_IMPORT("no_such_import", true),
    /** {@code chunk_missing}: Lines before these are missing. */
    CHUNK_MISSING("chunk_missing", true),
    /** {@code import_incomplete}: The import does not have as many lines as its file. */
    IMPORT_INCOMPLETE("import_incomplete", true),
    /** {@code too_many_codes}: The pool cannot have as many codes. */
    TOO_MANY_CODES("too_many_codes", true),
    /** {@code too_many_imports}: The pool cannot have as many imports. */
    TOO_MANY_IMPORTS("too_many_imports", true),
    /** {@code reissued_since}: The code has another issue number. */
    REISSUED_SINCE("reissued_since", true),
    /** {@code too_many_reissues}: The claim's code was replaced as often as one can be. */
    TOO_MANY_REISSUES("too_many_reissues", true),
    /** {@code busy}: Too many commands are waiting. */
    BUSY("busy", false),
    /** {@code outbox_full}: Too many results wait for the ledger. */
    OUTBOX_FULL("outbox_full", false),
    /** {@code store_full}: The store has no room. */
    STORE_FULL("store_full", false),
    /** {@code unavailable}: This node cannot answer now. */
    UNAVAILABLE("unavailable", false),
    /** {@code unknown}: No answer came in time: it may have happened. */
    UNKNOWN("unknown", false),
    /** {@code space_moved}: The space was moved to another store: servers on that one answer. */
    SPACE_MOVED("space_moved", true),
    /** {@code stale_position}: The position belongs to an epoch that is over. */
    STALE_POSITION("stale_position", false),
    /** {@code invalid_request}: The request is not of the form this route takes. */
    INVALID_REQUEST("invalid_request", false),
    /** {@code invalid_subject}: The subject is not acceptable. */
    INVALID_SUBJECT("invalid_subject", false),
    /** {@code invalid_settings}: The settings are not acceptable. */
    INVALID_SETTINGS("invalid_settings", false),
    /** {@code too_big_for_memory}: The campaign would not fit this node's memory. */
    TOO_BIG_FOR_MEMORY("too_big_for_memory", false),
    /** {@code unsupported_media_type}: The body is not of a type this route takes. */
    UNSUPPORTED_MEDIA_TYPE("unsupported_media_type", false),
    /** {@code not_acceptable}: None of the accepted types can be given. */
    NOT_ACCEPTABLE("not_acceptable", false),
    /** {@code too_large}: The body is too large. */
    TOO_LARGE("too_large", false),
    /** {@code timeout}: The body did not come in time. */
    TIMEOUT("timeout", false),
    /** {@code unauthorized}: A known key is needed. */
    UNAUTHORIZED("unauthorized", false),
    /** {@code not_eligible}: The campaign's own check says no. */
    NOT_ELIGIBLE("not_eligible", true),
    /** {@code eligibility_unknown}: The campaign's own check gave no answer. */
    ELIGIBILITY_UNKNOWN("eligibility_unknown", false),
    /** {@code token_expired}: The subject token is not good any more. */
    TOKEN_EXPIRED("token_expired", false),
    /** {@code forbidden}: The key may not do this. */
    FORBIDDEN("forbidden", false),
    /** {@code origin_not_allowed}: Pages of this origin may not call. */
    ORIGIN_NOT_ALLOWED("origin_not_allowed", false),
    /** {@code no_such_route}: There is no such route. */
    NO_SUCH_ROUTE("no_such_route", false),
    /** {@code method_not_allowed}: The route does not take this method. */
    METHOD_NOT_ALLOWED("method_not_allowed", false),
    /** {@code too_many_connections}: As many connections are open as may be. */
    TOO_MANY_CONNECTIONS("too_many_connections", false),
    /** {@code too_many_requests}: More requests came than may come in a while. */
    TOO_MANY_REQUESTS("too_many_requests", false),
    /** {@code too_many_streams}: As many streams of events are open as may be. */
    TOO_MANY_STREAMS("too_many_streams", false),
    /** {@code malformed}: What was typed cannot be a code. */
    MALFORMED("malformed", true),
    /** {@code bad_code}: Lines of the import cannot be codes. */
    BAD_CODE("bad_code", true),
    /** {@code too_many_wrong_codes}: More codes were tried that do not exist than may be in a while. */
    TOO_MANY_WRONG_CODES("too_many_wrong_codes", true),
    /** {@code no_code_key}: The server has no key to make the codes with. */
    NO_CODE_KEY("no_code_key", true),
    /** A refusal that this version of the client does not know: {@link Problem#outcome()} has its name. */
    OTHER("other", true);

    private static final java.util.Map<String, Reason> BY_NAME = new java.util.HashMap<>();

    static {
        for (Reason reason : values()) {
            BY_NAME.put(reason.outcome, reason);
        }
    }

    private final String outcome;
    private final boolean ofTheRules;

    Reason(String outcome, boolean ofTheRules) {
        this.outcome = outcome;
        this.ofTheRules = ofTheRules;
    }

    /**
     * Finds the reason with a name.
     *
     * @param outcome the name, such as {@code sold_out}
     * @return the reason; {@link #OTHER} if this version does not know it
     */
    public static Reason of(String outcome) {
        return BY_NAME.getOrDefault(outcome, OTHER);
    }

    /**
     * Returns the stable name of the reason.
     *
     * @return the name, such as {@code sold_out}
     */
    public String outcome() {
        return outcome;
    }

    /**
     * Says whether the rules of the campaign decided this. Otherwise the request had not the form or the right that
     * it needs, or something failed.
     *
     * @return whether it is a refusal of the rules
     */
    public boolean isOfTheRules() {
        return ofTheRules;
    }
}
