"""Runs before.py and after.py, and shows what the old one gets wrong."""

import os
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from unittest import mock

import httpx

import after
import before
from firstcome import Client

CUSTOMERS = [f"customer-{number}" for number in range(1, 301)]
PROGRAMS = {"before": before, "after": after}


def right(what, holds):
    print(f"{'ok   ' if holds else 'WRONG'} redis-counter: {what}", flush=True)
    if not holds:
        sys.exit(1)


def crowd(program, campaign, customers):
    """Lets everybody ask once, many at the same time; gives the answers."""
    customers = random.sample(customers, len(customers))
    with ThreadPoolExecutor(16) as threads:
        return dict(zip(customers, threads.map(lambda customer: program.take_place(campaign, customer), customers)))


def winners(answers):
    return {customer for customer, answer in answers.items() if answer.startswith("You have")}


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def take_place_and_die(name, campaign):
    """Dies in the middle: before SADD; or when the answer of the server has come, and nobody has read it."""
    if name == "before":
        with mock.patch.object(before.store, "sadd", die):
            before.take_place(campaign, CUSTOMERS[0])
    else:
        http = httpx.Client(event_hooks={"response": [die]})
        after.store = Client(os.environ["FIRSTCOME_URL"], os.environ["FIRSTCOME_KEY"], http=http)
        after.take_place(campaign, CUSTOMERS[0])


def ask_twice_at_once(name, campaign):
    """Both requests are past the look at the set (before), or ready to be sent (after), when either goes on."""
    program, gate = PROGRAMS[name], Barrier(2)
    step = {"before": "sismember", "after": "claim"}[name]
    real = getattr(program.store, step)

    def meet(*arguments):
        if name == "after":
            gate.wait(10)
            return real(*arguments)
        answer = real(*arguments)
        gate.wait(10)
        return answer

    with mock.patch.object(program.store, step, meet), ThreadPoolExecutor(2) as threads:
        return sorted(threads.map(lambda _: program.take_place(campaign, CUSTOMERS[0]), range(2)))


def check():
    answers = {name: crowd(program, "drop", CUSTOMERS) for name, program in PROGRAMS.items()}
    expected = sorted([f"You have place {rank}" for rank in range(1, 101)] + ["Sold out"] * 200)
    for name, given in answers.items():
        right(f"{name}: 300 customers, each rank from 1 to 100 once, 200 times sold out", sorted(given.values()) == expected)
    for name, program in PROGRAMS.items():
        had = winners(answers[name])
        again = crowd(program, "drop", CUSTOMERS)
        same = all(text == ("You have a place already" if who in had else "Sold out") for who, text in again.items())
        right(f"{name}: who asks again gets the same answer", same)
    left = {name: program.places_left("drop") for name, program in PROGRAMS.items()}
    right(f"before: the counter ran over, the page says {left['before']} left", left["before"] == -400)
    right(f"after: the page says {left['after']} left", left["after"] == 0)

    twice = {name: ask_twice_at_once(name, "twice") for name in PROGRAMS}
    people = {name: len(winners(crowd(program, "twice", CUSTOMERS))) for name, program in PROGRAMS.items()}
    right("before: one person who asks twice at once gets two places", twice["before"] == ["You have place 1", "You have place 2"])
    right(f"before: so only {people['before']} people have a place", people["before"] == 99)
    right("after: one person who asks twice at once gets one place", twice["after"] == ["You have a place already", "You have place 1"])
    right(f"after: {people['after']} people have a place", people["after"] == 100)

    for name, program in PROGRAMS.items():
        dead = subprocess.run([sys.executable, __file__, name, "crash"], timeout=30)
        right(f"{name}: a process is killed in the middle of a request", dead.returncode == -signal.SIGKILL)
        again = program.take_place("crash", CUSTOMERS[0])
        people = len(winners(crowd(program, "crash", CUSTOMERS)))
        if name == "before":
            what, expected = "place 1 is lost, the customer now has place 2", ("You have place 2", 99)
        else:
            what, expected = "the customer has the place", ("You have a place already", 100)
        right(f"{name}: {what}, {people} people have a place", (again, people) == expected)


if len(sys.argv) > 1:
    take_place_and_die(*sys.argv[1:])
else:
    check()
