"""Places of a campaign, with a counter and a set in Redis."""

import os

import redis

LIMIT = 100
store = redis.Redis.from_url(os.environ["REDIS_URL"], decode_responses=True)


def take_place(campaign, customer):
    if store.sismember(f"{campaign}:winners", customer):
        return "You have a place already"
    rank = store.incr(f"{campaign}:count")
    if rank > LIMIT:
        return "Sold out"
    store.sadd(f"{campaign}:winners", customer)
    return f"You have place {rank}"


def places_left(campaign):
    return LIMIT - int(store.get(f"{campaign}:count") or 0)
