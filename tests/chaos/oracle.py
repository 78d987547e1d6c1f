"""What must hold after a run, by the ledger of the service and the bytes that clients got."""

import datetime
import re

from chaos.clients import problem
from chaos.world import token_of

DECLARED = {"store-lost-its-memory", "maybe-repeated"}
ALARMS = re.compile(r"AddressSanitizer|ThreadSanitizer|runtime error:|terminate called|Assertion|"
                    r"stack smashing|Segmentation|core dumped|LeakSanitizer|double free|corrupted")
EFFECT = re.compile(rb"^effect ([0-9a-f]{32}) of (\S+) ")
MEMORY = 600 * 1024 * 1024  # beyond what the largest `max_buffered` here and strangers explain
OPERATORS = b"the operator says"


def complaints_of(world, clients, waited):
    """Lines that begin with the kind of the fault. `waited`: seconds of each key until it ended."""
    effects = world.ledger.effects()
    found = [f"died: {death}" for death in world.deaths]
    for client in clients:
        found += of_key(world, client, effects[client.key])
        if waited[client.key] is None and not closed_for_good(world, client):
            found.append(f"stuck: {client.key}: last {brief(client.last)}")
    for name, log in world.logs().items():
        if match := ALARMS.search(log):
            found.append(f"alarm: {name}: {log[max(0, match.start() - 200):match.end() + 600]}")
    return found


def of_key(world, client, effects):
    key = client.key
    acts = world.acts[key] + world.acts["*"]
    allowed = 1 + acts
    if len(effects) > allowed:
        silent = undeclared(world, effects[allowed:])
        first = min(map(token_of, effects))
        if silent and not any(first > newest for newest in world.unseen):
            yield f"doubled: {key} took effect {len(effects)} times, {allowed} allowed: {effects}"
    answered = {EFFECT.match(answer.body)[1].decode() for answer in client.answers
            if EFFECT.match(answer.body)}
    known = {effect["effect"] for effect in effects}
    if answered - known:
        yield f"made-up: {key} was told of {answered - known}, and the ledger has {known}"
    for answer in client.answers:
        match = EFFECT.match(answer.body)
        if match and match[2].decode() != key:
            yield f"another's: {key} got {brief(answer)}"
    # Where the answer was too long to be kept, an operator may add one.
    unkept = any(len(answer.body) > 900 for answer in client.answers)
    different = {repr(answer.stored_part()) for answer in map(without_proxies, client.answers)
                 if not (unkept and answer.body == OPERATORS)}
    if len(different) > allowed + len(world.losses):
        yield f"changed: {key} got {len(different)} answers: " + \
            "  and  ".join(f"{one[:180]} … {len(one)} B" for one in sorted(different))
    if client.answers and client.last is not None and not (acts or world.losses) and \
            problem(client.last) == "outcome-unknown":
        yield f"forgotten: {key} had an answer, and now {brief(client.last)}"


def without_proxies(answer):
    """Without what a proxy adds to each answer that it passes on, and what `echo_key` does."""
    added = {"via", "x-varnish", "age", "server", "accept-ranges", "transfer-encoding", "alt-svc",
             "content-length", "idempotency-key"}
    answer.fields = [(n.lower(), v) for n, v in answer.fields if n.lower() not in added]
    return answer


def undeclared(world, extra):
    """Those effects before which no gateway had said that its store lost its memory."""
    if not world.losses:
        return extra
    said = [moment(time) for log in world.logs().values() for time, event in events_in(log)
            if event in DECLARED]
    return [effect for effect in extra if not any(at <= effect["at"] for at in said)]


def closed_for_good(world, client):
    """A store that was taken apart stays closed until a person restores it, and says so."""
    return bool(world.losses) and client.last is not None and client.last.status == 503


def events_in(log):
    return re.findall(r'"time":"([^"]+)"[^\n]*?"event":"([a-z-]+)"', log)


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def brief(answer):
    if answer is None:
        return "nothing"
    return f"{answer.status} {answer.body[:160]!r}"


def too_much_memory(world):
    for number, gateway in enumerate(world.gateways):
        if gateway.process is not None and gateway.process.poll() is None:
            most = gateway.memory("VmHWM")
            if most > MEMORY:
                yield f"memory: gateway {number} had {most >> 20} MiB"
