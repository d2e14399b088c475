package io.firstcome.client;

/** What becomes of a confirm that comes after its hold expired. */
public enum Late {
    /** It is refused: {@link Reason#HOLD_EXPIRED}. */
    REFUSE,
    /** For who has taken the money: the same units are taken again if all are free; otherwise it is {@link RefundDue}. */
    RETAKE
}
