//! The life of a coupon, step by step, as six coupon systems have it: beside each step what they say, where it is not the
//! same word.

use crate::play::play;

/// Voucherify: publication, validation with a locking session, redemption, rollback; a voucher is disabled and enabled.
#[test]
fn a_life_as_voucherify_has_it() {
    play(
        "
        0s   op   puts sale: main coded 1; valid 10h  -> created 1
        0s   ann  claims sale tag 7                   -> won 1                  # publication with a source_id
        1s   ann  claims sale tag 7                   -> already_won 1 at 0s    # the same code on a retry
        1s   bob  claims sale tag 8                   -> sold_out               # no_voucher_suitable_for_publication
        2s   shop reserves sale 1.7 cart-1 for 1h     -> reserved 1 until 3602s # a session's lock
        3s   shop reserves sale 1.7 cart-1 for 2h     -> already_reserved 1 until 3602s   # there it replaces its own lock
        4s   shop reserves sale 1.7 cart-2            -> code_reserved          # quantity_exceeded
        5s   op   suspends sale/main 1.7              -> codes_marked suspend 1 # disabled
        6s   shop redeems sale 1.7 cart-1             -> code_suspended         # voucher_disabled
        7s   op   restores sale/main 1.7              -> codes_marked restore 1
        8s   shop redeems sale 1.7 cart-1             -> redeemed 1
        9s   shop redeems sale 1.7 cart-1             -> redeemed 1 at 8s       # there a second redemption
        9s   shop redeems sale 1.7 cart-2             -> code_used              # quantity_exceeded
        10s  shop undoes sale 1.7 cart-1              -> rolled_back 1
        11s  shop undoes sale 1.7 cart-1              -> rolled_back 1 at 10s   # already_rolled_back
        12s  shop redeems sale 1.7 cart-2             -> redeemed 1
        13s  shop frees sale 1.7 cart-2               -> already_redeemed
        10h  shop redeems sale 1.7 cart-3             -> code_expired           # voucher_expired
        ",
    );
}

/// Talon.One: a usage limit and a reservation limit, a recipient, a limit for each profile, sessions that close, are
/// cancelled and reopened. Each refusal has its reason.
#[test]
fn a_life_as_talon_one_has_it() {
    play(
        "
        0s   op   puts sale: main coded 4; uses 2; each 2; holder; until 100s -> created 1
        0s   ann  claims sale tag 7                   -> won 1
        0s   bob  claims sale tag 8                   -> won 2
        1s   shop reserves sale 1.9 s1 as ann         -> no_such_code           # CouponNotFound
        1s   shop reserves sale 1.7 s1 as bob         -> not_yours              # RecipientDoesNotMatch
        1s   shop reserves sale 1.7 s1                -> subject_required
        2s   shop reserves sale 1.7 s1 as ann for 60s -> reserved 1 until 62s   # implicitlyReserved
        2s   shop reserves sale 1.7 s2 as ann for 60s -> reserved 1 until 62s
        3s   shop reserves sale 1.7 s3 as ann         -> limit_reached          # ProfileLimitReached
        4s   shop frees sale 1.7 s2                   -> reservation_ended 1
        5s   shop redeems sale 1.7 s1 as ann          -> redeemed 1             # the session is closed
        6s   shop undoes sale 1.7 s1                  -> rolled_back 1          # and cancelled
        7s   shop reserves sale 1.7 s1 as ann for 60s -> reserved 1 until 67s   # and reopened
        8s   shop redeems sale 1.7 s1 as ann          -> redeemed 1
        9s   op   puts sale: main coded 4; uses 1; each 9; holder; until 100s -> changed 2
        9s   shop redeems sale 1.7 s4 as ann          -> code_used              # CouponLimitReached
        100s shop redeems sale 2.8 s5 as bob          -> code_expired           # CouponExpired
        ",
    );
}

/// Stripe: a promotion code with `max_redemptions` and `expires_at`, for one customer, switched off and on.
#[test]
fn a_life_as_stripe_has_it() {
    play(
        "
        0s   op   puts sale: main coded 2; uses 2; holder; until 60s -> created 1
        0s   ann  claims sale tag 7                   -> won 1
        1s   shop redeems sale 1.7 cs-1 as bob        -> not_yours              # of another customer
        2s   shop redeems sale 1.7 cs-1 as ann        -> redeemed 1
        3s   shop redeems sale 1.7 cs-1 as ann        -> redeemed 1 at 2s       # a webhook that comes again
        4s   op   suspends sale/main 1.7              -> codes_marked suspend 1 # active: false
        5s   shop redeems sale 1.7 cs-2 as ann        -> code_suspended
        6s   op   restores sale/main 1.7              -> codes_marked restore 1
        7s   shop reserves sale 1.7 cs-2 as ann for 60s -> reserved 1 until 67s # a session that is open
        60s  shop redeems sale 1.7 cs-2 as ann        -> redeemed 1             # it began in time
        61s  shop redeems sale 1.7 cs-3 as ann        -> code_expired           # before max_redemptions
        ",
    );
}

/// Saleor: `usage_limit`, once for each customer, two checkouts that complete at once; a failed one gives the use back.
#[test]
fn a_life_as_saleor_has_it() {
    play(
        "
        0s   op   puts sale: main coded 1; uses 2; each 1 -> created 1
        0s   ann  claims sale tag 7                   -> won 1
        1s   shop reserves sale 1.7 co-1 as bob for 60s -> reserved 1 until 61s
        1s   shop reserves sale 1.7 co-2 as bob for 60s -> limit_reached        # apply_once_per_customer
        1s   shop reserves sale 1.7 co-3 as eve for 60s -> reserved 1 until 61s
        2s   shop redeems sale 1.7 co-1 as bob & shop redeems sale 1.7 co-1 as bob -> redeemed 1 | redeemed 1
        2s   shop redeems sale 1.7 co-3 as eve & shop redeems sale 1.7 co-4 as zoe -> redeemed 1 | code_used
        3s   shop undoes sale 1.7 co-1                -> rolled_back 1          # the payment failed
        3s   shop undoes sale 1.7 co-4                -> not_redeemed           # #15849: not another one's
        4s   shop redeems sale 1.7 co-4 as zoe        -> redeemed 1
        ",
    );
}

/// WooCommerce: a coupon is held for a pending order for an hour, counted when it is paid, given back when it is cancelled.
#[test]
fn a_life_as_woocommerce_has_it() {
    play(
        "
        0s   op   puts sale: main coded 1             -> created 1
        0s   ann  claims sale tag 7                   -> won 1
        0s   shop reserves sale 1.7 wc-1 for 1h       -> reserved 1 until 3600s # pending, stock is held
        1s   shop redeems sale 1.7 wc-2               -> code_reserved
        2s   shop reserves sale 1.7 wc-1 for 1h       -> already_reserved 1 until 3600s   # #67737: 409 there
        3600s time passes every 15s                   -> ticked
        3600s shop redeems sale 1.7 wc-2              -> redeemed 1             # nobody paid
        3601s shop redeems sale 1.7 wc-1              -> code_used
        3602s shop undoes sale 1.7 wc-2               -> rolled_back 1          # the order was cancelled
        3603s shop redeems sale 1.7 wc-1              -> redeemed 1
        ",
    );
}

/// pretix: a voucher with `max_usages` is blocked by a cart, comes back with it, and a freed place goes to the waiting list.
#[test]
fn a_life_as_pretix_has_it() {
    play(
        "
        0s   op   puts sale: main coded 1; again; offer 12s -> created 1
        0s   ann  claims sale tag 7                   -> won 1
        1s   eve  joins sale                          -> waitlisted 0 ahead for 1
        1s   joe  joins sale                          -> waitlisted 1 ahead for 1
        2s   shop reserves sale 1.7 cart-1 for 10s    -> reserved 1 until 12s   # voucher_in_cart
        3s   shop redeems sale 1.7 cart-2             -> code_reserved
        4s   ann  cancels sale/main 1                 -> code_in_use
        12s  ann  cancels sale/main 1                 -> cancelled by subject at 12s    # the cart is over
           look place eve sale -> offer-1
        24s  eve  claims sale tag 8                   -> sold_out               # the voucher of the list is over
           look place joe sale -> offer-2
        25s  joe  claims sale tag 9                   -> won 2
        26s  shop redeems sale 1.7 cart-2             -> code_revoked
        26s  shop redeems sale 2.9 cart-2             -> redeemed 2
        27s  shop redeems sale 2.9 cart-3             -> code_used              # voucher_redeemed
        ",
    );
}
