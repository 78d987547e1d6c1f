"""What one run is made of, drawn from a seed and the number of the run."""

import dataclasses
import json
import random

from chaos.disturbance import OF_ONE_PROCESS
from chaos.options import extremes_of
from chaos.table import TABLE

POLICIES = {"lease": ("2s", "3s"), "upstream_timeout": ("2s", "4s"), "wait": ("10ms", "1s", "5s"),
            "on_busy": ("reject", "wait"), "keep": ("success", "final", "all"),
            "fingerprint": ("exact", "json"), "max_answer_body": ("1KiB", "64KiB", "1MiB")}
FRONTS = ("", "", "haproxy", "nginx", "caddy", "varnish")
BACKS = ("", "", "", "haproxy", "nginx", "caddy", "varnish")


@dataclasses.dataclass
class Plan:
    seed: int
    run: int
    store: str
    gateways: int
    front: str
    back: str
    policy: dict
    disturbances: list
    options: list = dataclasses.field(default_factory=list)  # (table, name, value)
    door: str = "gateway"  # or serve: the decision service

    @property
    def table(self):
        return [TABLE[each["name"]] for each in self.disturbances]

    @property
    def pipes(self):
        return {each.pipe for each in self.table if each.pipe}

    @property
    def small_volume(self):
        return any(each.small_volume for each in self.table)

    def text(self):
        return json.dumps(dataclasses.asdict(self))

    def __str__(self):
        parts = [self.store, f"{self.gateways} × {self.door}",
                 f"before them {self.front}" * bool(self.front),
                 f"behind them {self.back}" * bool(self.back),
                 " ".join(f"{t}.{n}={v}" for t, n, v in self.options)]
        acts = [f"{each['name']}@{each['at']} {each['how']}" for each in self.disturbances]
        return ", ".join(part for part in parts if part) + ": " + "  &  ".join(acts)

    def smaller(self):
        """Plans with one thing less, the largest thing first."""
        if len(self.disturbances) > 1:
            for index in range(len(self.disturbances)):
                left = [d for n, d in enumerate(self.disturbances) if n != index]
                yield dataclasses.replace(self, disturbances=left)
        for change in ({"front": ""}, {"back": ""}, {"options": []}, {"gateways": 1}):
            if any(getattr(self, name) != value for name, value in change.items()):
                yield dataclasses.replace(self, **change)


def of_text(text):
    return Plan(**json.loads(text))


def draw(seed, run, reference, pair=()):
    """`pair`: the names of the disturbances; else two are drawn."""
    rng = random.Random(f"{seed}/{run}")
    names = list(pair) or rng.choice(possible_pairs())
    chosen = [TABLE[name] for name in names]
    store = rng.choice(stores_of(chosen))
    plan = Plan(seed, run, store, 1 if store in OF_ONE_PROCESS else rng.choice((1, 2, 2)),
                rng.choice(FRONTS), rng.choice(BACKS),
                {name: rng.choice(values) for name, values in POLICIES.items()},
                [each.draw(rng) for each in chosen])
    if "extreme-options" not in names and rng.random() < 0.25:
        plan.door, plan.front = "serve", ""
    if "extreme-options" in names:
        plan.options = extremes_of(reference, rng)
    return plan


def stores_of(chosen):
    return [store for store in ("memory", "sqlite", "sqlite", "journal", "postgres", "pgbouncer",
                                "redis", "tiered") if all(store in each.stores for each in chosen)]


def possible_pairs():
    return [(a, b) for a in TABLE for b in TABLE
            if stores_of([TABLE[a], TABLE[b]]) and not a == b == "extreme-options"]
