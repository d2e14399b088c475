"""Places of a campaign, with Firstcome."""

import os

from firstcome import AlreadyWon, Client, Refused, Won

store = Client(os.environ["FIRSTCOME_URL"], os.environ["FIRSTCOME_KEY"], deadline=5)


def take_place(campaign, customer):
    match store.claim(campaign, customer):
        case AlreadyWon():  # It is a Won, too, so it comes first.
            return "You have a place already"
        case Won(rank=rank):
            return f"You have place {rank}"
        case Refused(reason="sold_out"):
            return "Sold out"
        case Refused(reason=reason):  # not_open, paused, closed, barred
            return f"Not possible: {reason}"
    return "Please try again"  # Unknown: it may have happened. The same request again tells.


def places_left(campaign):
    return store.campaign(campaign).left
