"""What the tests expect of answers, said once."""


def assert_problem(answer, status, name, retryable, retry_after=False):
    """A complete RFC 9457 problem of ours."""
    assert answer.status == status, answer
    assert answer.problem == name, answer
    problem = answer.json()
    assert problem["status"] == status
    assert problem["title"] and problem["detail"]
    assert problem["retryable"] is retryable, problem
    # A new key is advised only where other work was surely asked for.
    refused = ("new-key", "no") if name == "key-reused" else ("no",)
    assert answer.get("Onceguard-Retry") in (("same-key",) if retryable else refused), answer
    assert int(answer.get("Content-Length")) == len(answer.body)
    assert "Idempotent-Replayed" not in dict(answer.fields)
    if retry_after:
        assert int(answer.get("Retry-After")) >= 1, answer
    return problem


def assert_first(answer, status=201):
    assert answer.status == status, answer
    assert answer.problem is None, answer
    assert not answer.replayed, answer
    return answer


def assert_replay_of(answer, first):
    """Byte for byte the first answer, and marked as a replay."""
    assert answer.replayed, answer
    assert answer.stored_part() == first.stored_part()
    return answer
