"""The rules of a call, with time and chance given: nothing sleeps here."""

from __future__ import annotations

import json
from typing import Any

import pytest

from firstcome import AlreadyWon, InvalidArgument, Pick, Refused, Rejected, Unavailable, Unknown, Won
from firstcome import _requests as ask
from firstcome._core import Broken, Call, Reply, Stream, pause_after
from firstcome._http import Settings, broken

WON = {
    "outcome": "won", "campaign": "spring", "pool": "main", "subject": "ann", "rank": 17,
    "at": "2027-03-01T01:00:00.000000Z", "position": "0.7", "decided": "journal", "new": {"of": "later"},
}  # fmt: skip


def says(status: int, document: Any, retry_after: str | None = None) -> Reply:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return Reply(status, retry_after, body)


def problem(status: int, outcome: str, changed: str = "no", retry: bool = False, **more: Any) -> Reply:
    return says(status, {"outcome": outcome, "changed": changed, "retry": retry, "detail": "so it is", **more})


def a_claim(deadline: float = 10.0, attempt: float = 6.0) -> Call[Won]:
    return Call(ask.claim("spring", "ann", None), deadline, attempt, 100.0)


def settled(call: Call[Any], *outcomes: Reply | Broken, now: float = 100.0) -> list[float | None]:
    """The pauses after these outcomes, with no random part."""
    return [call.settle(outcome, now, 0.0) for outcome in outcomes]


UNAVAILABLE = problem(503, "unavailable", retry=True)
UNKNOWN = problem(503, "unknown", changed="unknown", retry=True)
LOST = Broken("cut", sent=True)
NOT_SENT = Broken("refused", sent=False)


def test_a_win_is_read_with_its_time_and_without_what_a_newer_server_adds() -> None:
    call = a_claim()
    assert settled(call, says(201, WON)) == [None]
    won = call.result()
    assert type(won) is Won
    assert (won.rank, won.at.isoformat()) == (17, "2027-03-01T01:00:00+00:00")


def test_already_won_is_a_win_of_its_own_type() -> None:
    call = a_claim()
    settled(call, says(200, {**WON, "outcome": "already_won", "code": "4WFN-SECRET"}))
    won = call.result()
    assert type(won) is AlreadyWon
    assert isinstance(won, Won)
    assert won.code == "4WFN-SECRET"
    assert "SECRET" not in repr(won)


@pytest.mark.parametrize(
    "document",
    [
        b"<html>", b"", b"null", b"[1]", b"\xff\xfe", b'{"outcome": "won"}', {**WON, "rank": "17"},
        {**WON, "rank": True}, {**WON, "at": "soon"}, {**WON, "outcome": "lost"}, {**WON, "outcome": ["won"]},
        b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_success_that_cannot_be_read_is_a_lost_answer(document: Any) -> None:
    call = a_claim()
    assert settled(call, says(200, document), says(201, WON)) == [0.05, None]
    assert isinstance(call.result(), Won)
    call = a_claim()
    settled(call, says(200, document), says(200, document), NOT_SENT)
    assert call.settle(NOT_SENT, 110.0, 0.0) is None
    assert isinstance(call.result(), Unknown)


def test_pauses_double_up_to_two_seconds_less_a_random_part() -> None:
    assert [pause_after(n, 0.0) for n in (1, 2, 3, 6, 7, 8, 10_000)] == [0.05, 0.1, 0.2, 1.6, 2.0, 2.0, 2.0]
    assert pause_after(1, 1.0) == 0.025
    assert settled(a_claim(), UNAVAILABLE, LOST, NOT_SENT) == [0.05, 0.1, 0.2]


def test_what_the_server_asks_for_is_waited_for_but_not_beyond_the_deadline() -> None:
    busy = {"outcome": "busy", "changed": "no", "retry": True}
    assert settled(a_claim(), says(429, busy, "3")) == [3.0]
    assert settled(a_claim(), says(429, {**busy, "retry_after_ms": 250}, "3")) == [0.25]
    assert settled(a_claim(), says(429, {**busy, "retry_after_ms": 1}, "3")) == [0.05]
    for strange in ("soon", "-1", "nan", "inf", ""):
        assert settled(a_claim(), says(429, busy, strange)) == [0.05]
    call = a_claim()
    assert settled(call, says(429, busy, "10")) == [None]
    with pytest.raises(Unavailable, match="nothing changed: busy") as failed:
        call.result()
    assert (failed.value.outcome, failed.value.attempts) == ("busy", 1)


def test_the_last_attempts_come_before_the_deadline() -> None:
    call = a_claim(deadline=1.0)
    assert settled(call, UNAVAILABLE, UNAVAILABLE, UNAVAILABLE) == [0.05, 0.1, 0.2]
    assert call.settle(UNAVAILABLE, 100.88, 0.0) == pytest.approx(0.06)
    assert call.attempt_time(100.94) == pytest.approx(0.06)
    assert call.attempt_time(100.0) == pytest.approx(1.0)
    assert a_claim(deadline=9.0).attempt_time(100.0) == 6.0
    assert call.settle(UNAVAILABLE, 100.92, 0.0) is None
    with pytest.raises(Unavailable):
        call.result()


@pytest.mark.parametrize("lost", [LOST, UNKNOWN, says(502, b"<html>"), problem(503, "unavailable", "yes", True)])
def test_whether_it_may_have_happened_is_never_forgotten(lost: Reply | Broken) -> None:
    for last in (UNAVAILABLE, NOT_SENT, problem(401, "unauthorized"), says(404, b"<html>")):
        call = a_claim()
        settled(call, lost, UNAVAILABLE)
        call.settle(last, 110.0, 0.0)
        answer = call.result()
        assert isinstance(answer, Unknown), last
        assert answer.attempts == 3


def test_a_refusal_after_a_lost_attempt_says_so() -> None:
    for before, mark in ((LOST, True), (UNAVAILABLE, False), (NOT_SENT, False)):
        call = a_claim()
        assert settled(call, before, problem(409, "sold_out", campaign="spring"))[-1] is None
        no = call.result()
        assert isinstance(no, Refused)
        assert (no.reason, no.after_lost_attempt, no.document["campaign"]) == ("sold_out", mark, "spring")


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (409, "sold_out"), (409, "paused"), (404, "not_found"), (429, "too_many_holds"), (409, "new_one"),
        (429, "too_many_wrong_codes"), (503, "too_many_holds"),
    ],
)  # fmt: skip
def test_a_refusal_is_final_whatever_it_says_of_retries(status: int, outcome: str) -> None:
    call = a_claim()
    assert settled(call, problem(status, outcome, retry=True)) == [None]
    answer = call.result()
    assert isinstance(answer, Refused)
    assert answer.reason == outcome


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(401, "unauthorized"), (403, "forbidden"), (400, "invalid_request"), (409, "stale_position"), (413, "too_large")],
)
def test_what_must_be_mended_is_an_error(status: int, outcome: str) -> None:
    call = a_claim()
    assert settled(call, problem(status, outcome)) == [None]
    with pytest.raises(Rejected, match=f"{outcome}: so it is") as failed:
        call.result()
    assert failed.value.status == status


@pytest.mark.parametrize("status", [301, 307, 400, 404, 418])
def test_what_is_not_of_firstcome_ends_the_call(status: int) -> None:
    call = a_claim()
    assert settled(call, says(status, b"<html>secret</html>")) == [None]
    with pytest.raises(Unavailable, match=f"status {status}") as failed:
        call.result()
    assert "secret" not in str(failed.value)


def test_a_failure_that_says_not_to_retry_is_not_retried() -> None:
    call = a_claim()
    assert settled(call, problem(507, "store_full", retry=False)) == [None]
    with pytest.raises(Unavailable):
        call.result()


def test_a_certificate_that_is_wrong_is_not_tried_again() -> None:
    assert settled(a_claim(), Broken("TLS", sent=False, final=True)) == [None]


def test_a_read_is_never_unknown() -> None:
    for outcome in (LOST, UNKNOWN, says(200, b"<html>"), says(502, b"<html>")):
        call = Call(ask.campaign("spring"), 10.0, 6.0, 100.0)
        assert settled(call, outcome) == [0.05]
        call.settle(outcome, 110.0, 0.0)
        with pytest.raises(Unavailable):
            call.result()


def test_a_hold_that_is_unknown_has_its_id() -> None:
    asked = ask.hold("hall", "ann", [Pick(units=["A1"])], None, 2.5)
    call = Call(asked, 60.0, 6.0, 100.0)
    assert call.attempt_time(100.0) == 8.5
    call.settle(LOST, 160.0, 0.0)
    answer = call.result()
    assert isinstance(answer, Unknown)
    assert answer.hold is not None
    assert asked.body is not None
    assert asked.body["id"] == answer.hold
    assert len(answer.hold) == len("hold-") + 32
    assert ask.hold("hall", "ann", [Pick(units=["A1"])], None, 0).hold != answer.hold


@pytest.mark.parametrize("subject", ["", "a" * 256, "é" * 128, "a\nb", "a\x7f", "a\x85", "a\ud800", 7, None])
def test_subjects_that_cannot_be_are_refused(subject: Any) -> None:
    with pytest.raises(InvalidArgument, match="subject"):
        ask.claim("spring", subject, None)


@pytest.mark.parametrize("subject", ["ann", " ann", "a" * 255, "é" * 127, "가🎫", "a\u200bb", "."])
def test_subjects_that_can_be_are_taken(subject: str) -> None:
    assert ask.claim("spring", subject, None).body == {"subject": subject}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ask.claim("Spring", "ann", None),
        lambda: ask.claim("../x", "ann", None),
        lambda: ask.claim("spring", "ann", ""),
        lambda: ask.cancel("spring", "ann", 0, None),
        lambda: ask.cancel("spring", "ann", True, None),
        lambda: ask.hold("hall", "ann", [], None, 0),
        lambda: ask.hold("hall", "ann", [Pick()], None, 0),
        lambda: ask.hold("hall", "ann", [Pick(units=["A1"], quantity=1)], None, 0),
        lambda: ask.hold("hall", "ann", [Pick(units="A1")], None, 0),
        lambda: ask.hold("hall", "ann", [Pick(quantity=1)], "x" * 65, 0),
        lambda: ask.hold("hall", "ann", [Pick(quantity=1)], None, -1),
        lambda: ask.extend("hall", "h", "ann", 0),
        lambda: ask.extend("hall", "h", "ann", float("nan")),
        lambda: ask.confirm("hall", "h", "ann", "A1", None, False),
        lambda: ask.code_step("coupons", "redeem", "", "order-1", None, None),
        lambda: ask.code_step("coupons", "redeem", "C", "o" * 65, None, None),
        lambda: ask.code_step("coupons", "reserve", "C", "o", None, None, None, 86_401),
        lambda: ask.results("spring", -1, 10),
        lambda: ask.results("spring", 0, 10_001),
        lambda: ask.join("spring", "ann", None, {"quantity": 11}),
        lambda: ask.position("42"),
        lambda: ask.key("short"),
        lambda: ask.key("a-long-enough-secret-key\n"),
    ],
)
def test_bad_arguments_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidArgument) as failed:
        wrong()
    assert "a-long-enough" not in str(failed.value)


def test_addresses_are_checked_and_never_repeated() -> None:
    assert ask.server("http://127.0.0.1:8080/") == "http://127.0.0.1:8080"
    assert ask.server("https://[::1]:8443") == "https://[::1]:8443"
    wrongs: list[Any] = [
        "", "127.0.0.1:8080", "redis://host", "http://", "http://host/v1", "http://host:x", "http://host:0",
        "http://ann:secret@host", "http://host?password=secret", "http://host#x", "http://ho st", "http://host\n", 7,
    ]  # fmt: skip
    for wrong in wrongs:
        with pytest.raises(InvalidArgument) as failed:
            ask.server(wrong)
        assert "secret" not in str(failed.value), wrong


def test_paths_have_every_name_as_one_segment() -> None:
    assert ask.cancel("spring", "a/b?c#d%e f+ü", 3, "main").path == (
        "/v1/campaigns/spring/claims/a%2Fb%3Fc%23d%25e%20f%2B%C3%BC?rank=3&pool=main&by=subject"
    )
    assert ask.place("spring", "..", None).path == "/v1/campaigns/spring/waitlist/%2E%2E"


def test_a_position_is_added_to_any_path_and_settings_are_checked() -> None:
    settings = Settings("http://host", "a-long-enough-secret-key", 15, 6, "0:0.42")
    assert settings.request(ask.campaign("spring"))["url"] == "http://host/v1/campaigns/spring?min_position=0%3A0.42"
    assert settings.request(ask.results("spring", 3, 10))["url"].endswith("?after=3&limit=10&min_position=0%3A0.42")
    assert "secret" not in repr(settings)
    for wrong in (0, -1, float("inf"), float("nan"), True, "15"):
        with pytest.raises(InvalidArgument):
            Settings("http://host", None, wrong, 6)  # type: ignore[arg-type]


def test_errors_do_not_repeat_what_the_other_side_sent() -> None:
    assert "secret" not in broken(ValueError("illegal header line: bytearray(b'secret')")).reason


def test_steps_that_are_from_now_have_a_key_of_their_own() -> None:
    first, second = (ask.extend("hall", "h", "ann", 60).headers["idempotency-key"] for _ in range(2))
    assert first != second
    assert ask.confirm("hall", "h", "ann", None, None, True).body == {"subject": "ann", "late": "retake"}
    assert ask.confirm("hall", "h", "ann", None, None, False).headers == {}


def test_events_are_read_from_any_cuts() -> None:
    text = (
        'retry: 1000\n\n: still here\n\nid: 0.7\nevent: standing\ndata: {"a":\ndata: "é"}\n\nevent: own\ndata: {}\n\n'
        'id: 0.9\r\nevent: campaign\r\ndata: {"state": "open"}\r\n\r\nid: 0.11\nevent: reset\nda'
    ).encode()
    for size in (1, 2, 3, 7, 1000):
        stream = Stream("0.1")
        assert stream.ask("/x").headers["last-event-id"] == "0.1"
        found = [e for at in range(0, len(text), size) for e in stream.feed(text[at : at + size])]
        assert [(e.event, e.id) for e in found] == [("standing", "0.7"), ("own", None), ("campaign", "0.9")]
        assert found[0].data == {"a": "é"}
        # The event that was cut does not count, and its beginning is forgotten.
        assert stream.broke(0.0) == 0.05
        assert stream.ask("/x").headers["last-event-id"] == "0.9"
        assert [e.event for e in stream.feed(b"event: standing\ndata: {}\n\n")] == ["standing"]


def test_streams_that_say_nothing_are_opened_with_growing_pauses() -> None:
    stream = Stream(None)
    assert "last-event-id" not in stream.ask("/x").headers
    assert [stream.broke(0.0) for _ in range(3)] == [0.05, 0.1, 0.2]
    assert len(stream.feed(b"data: {}\n\n")) == 1
    assert stream.broke(0.0) == 0.05
    assert not stream.ended
    stream.feed(b'event: end\ndata: {"outcome":"token_expired"}\n\n')
    assert stream.ended
    with pytest.raises(ValueError, match=r"."):
        stream.feed(b"data: not json\n\n")
