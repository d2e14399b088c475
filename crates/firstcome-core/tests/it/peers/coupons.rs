//! Coupon systems: Voucherify, Talon.One, Stripe, Saleor, WooCommerce, pretix. What they do or did at a step, and what
//! happens here.

use crate::play::play;

/// WooCommerce #67737: the order's own hold makes its coupon look exhausted, and the coupon leaves a paying order.
#[test]
fn an_orders_own_reservation_never_refuses_its_coupon() {
    play(
        "
        0s   op   puts sale: main coded 1         -> created 1
        0s   ann  claims sale tag 7               -> won 1
        0s   shop reserves sale 1.7 order-1       -> reserved 1 until 900s
        10s  shop reserves sale 1.7 order-1       -> already_reserved 1 until 900s
        20s  shop redeems sale 1.7 order-1        -> redeemed 1
        30s  shop redeems sale 1.7 order-1        -> redeemed 1 at 20s
        ",
    );
}

/// Voucherify: as many locks as there are uses left, then `quantity_exceeded`; the same key replaces its own lock.
#[test]
fn there_are_as_many_reservations_as_uses() {
    play(
        "
        0s   op   puts sale: main coded 1; uses 2 -> created 1
        0s   ann  claims sale tag 7               -> won 1
        0s   shop reserves sale 1.7 a             -> reserved 1 until 900s
        0s   shop reserves sale 1.7 b             -> reserved 1 until 900s
        0s   shop reserves sale 1.7 c             -> code_reserved
        0s   shop frees sale 1.7 a                -> reservation_ended 1
        0s   shop reserves sale 1.7 c             -> reserved 1 until 900s
        ",
    );
}

/// Talon.One and Stripe: a reason of its own for each refusal. antiwork/gumroad #6751 said `expired` where the uses had run
/// out: here each says which.
#[test]
fn a_refusal_says_what_it_is_about() {
    play(
        "
        0s   op   puts sale: main coded 3; holder; valid 60s -> created 1
        0s   ann  claims sale tag 7               -> won 1
        0s   bob  claims sale tag 8               -> won 2
        0s   shop redeems sale 1.9 o as ann       -> no_such_code
        0s   shop redeems sale 1.7 o as bob       -> not_yours
        0s   shop redeems sale 1.7 o as ann       -> redeemed 1
        0s   shop redeems sale 1.7 p as ann       -> code_used
        0s   op   revokes sale/main 2.8           -> codes_marked revoke 1
        0s   shop redeems sale 2.8 o as bob       -> code_revoked
        0s   eve  claims sale tag 9               -> won 3
        60s  shop redeems sale 3.9 o as eve       -> code_expired
        ",
    );
}

/// Shopware PR #20171: cancelled, used by another order, and the first one reopened: two uses of one. Voucherify:
/// `already_rolled_back`.
#[test]
fn an_order_that_is_reopened_reserves_anew_or_hears_that_others_were_faster() {
    play(
        "
        0s   op   puts sale: main coded 1         -> created 1
        0s   ann  claims sale tag 7               -> won 1
        1s   shop redeems sale 1.7 first          -> redeemed 1
        2s   shop undoes sale 1.7 first           -> rolled_back 1
        3s   shop redeems sale 1.7 second         -> redeemed 1
        4s   shop redeems sale 1.7 first          -> already_rolled_back
        4s   shop reserves sale 1.7 first         -> reused_since
        ",
    );
}

/// Payco: a cancel brings the coupon back unless it expired meanwhile. Sylius #10310 makes it a setting.
#[test]
fn a_cancel_brings_the_use_back_unless_the_code_expired() {
    play(
        "
        0s   op   puts sale: main coded 1; until 60s -> created 1
        0s   ann  claims sale tag 7               -> won 1
        1s   shop redeems sale 1.7 a              -> redeemed 1
        2s   shop undoes sale 1.7 a               -> rolled_back 1
        3s   shop redeems sale 1.7 b              -> redeemed 1
        60s  shop undoes sale 1.7 b               -> rolled_back 1 expired
        60s  shop redeems sale 1.7 c              -> code_expired
        ",
    );
}

/// Voucherify: publication with a `source_id` answers the same code on a retry. Baemin, 2025: leaving and signing up again
/// gave a new coupon each time.
#[test]
fn a_subject_is_given_one_code_however_often_it_asks() {
    play(
        "
        0s   op   puts sale: main coded 9         -> created 1
        0s   ann  claims sale tag 7               -> won 1
        1s   ann  claims sale tag 7               -> already_won 1 at 0s
        2s   ann  cancels sale/main 1             -> cancelled by subject at 2s
        3s   ann  claims sale tag 7               -> already_cancelled
        ",
    );
}

/// saleor #13714 and teamforus/Forus #1386: duplicates are left out and named, and the same file twice doubles nothing.
#[test]
fn the_same_file_again_changes_nothing_and_duplicates_are_named() {
    play(
        "
        0s   op   puts sale: main imported        -> created 1
        0s   op   stages sale/main one from 0: A B A -> codes_staged 3
        0s   op   commits sale/main one of 3      -> codes_imported 2 of 3, duplicates [2]
        1s   op   stages sale/main two from 0: A B A -> codes_staged 3
        1s   op   commits sale/main two of 3      -> codes_imported 0 of 3, duplicates [0, 1, 2]
             look sale                            -> open 1, main 2 of 2 left
        ",
    );
}

/// pretix: a voucher that is in somebody's cart is blocked for others until the cart expires.
#[test]
fn an_abandoned_cart_gives_the_code_back_by_itself() {
    play(
        "
        0s   op   puts sale: main coded 1         -> created 1
        0s   ann  claims sale tag 7               -> won 1
        0s   shop reserves sale 1.7 cart-1 for 10s -> reserved 1 until 10s
        9s   shop redeems sale 1.7 cart-2         -> code_reserved
        10s  shop redeems sale 1.7 cart-2         -> redeemed 1
        10s  shop redeems sale 1.7 cart-1         -> code_used
        ",
    );
}
