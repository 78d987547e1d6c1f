"""The form of a row of the table of disturbances."""

import dataclasses
from collections.abc import Callable

STORES = ("memory", "sqlite", "journal", "postgres", "pgbouncer", "redis", "tiered")
OF_ONE_PROCESS = ("memory", "journal")


@dataclasses.dataclass(frozen=True)
class Disturbance:
    """`act(world, how)` disturbs, and puts right again what a person would put right; `how` has one
    of each of `draws`. `pipe`: where it needs one."""

    name: str
    act: Callable | None
    draws: dict = dataclasses.field(default_factory=dict)
    stores: tuple = STORES
    pipe: str = ""
    small_volume: bool = False

    def draw(self, rng):
        how = {name: rng.choice(choices) for name, choices in self.draws.items()}
        return {"name": self.name, "at": round(rng.uniform(0.2, 2.5), 2), "how": how}
