"""The processes of one run: service, stores, proxies and gateways, as its plan says."""

import asyncio
import collections
import contextlib
import itertools
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

from chaos.callers import Decider
from chaos.pipes import Pipe
from support.gateway import Gateway, clean_environment
from support.pgbouncer import PgBouncer
from support.ports import Port
from support.postgres import Postgres
from support.proxies import PROXIES
from support.redis import Redis
from support.waiting import wait_until

TESTS = pathlib.Path(__file__).resolve().parent.parent
# What the admin listener does for operators.
REMOTE = {("keys", act) for act in ("list", "show", "release", "complete")}


async def in_thread(action, *arguments):
    return await asyncio.get_running_loop().run_in_executor(None, action, *arguments)


def token_of(effect):
    return int(effect["token"] or 0)


class LedgerService:
    """The service, as a process that may be killed and started again on its ledger."""

    def __init__(self, folder, seed):
        self.path = folder / "ledger.jsonl"
        self.seed = seed
        self.port = Port()
        self.address = ("127.0.0.1", self.port.number)
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", sys.executable, "-m", "chaos.ledger_server",
             str(self.path), str(self.port.number), str(self.seed)], cwd=TESTS,
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: listens(self.port.number), 20, "the ledger's service")
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def effects(self):
        """Of each key, its lines; one that a kill cut short is none: nothing was flushed."""
        found = collections.defaultdict(list)
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            with contextlib.suppress(json.JSONDecodeError):
                effect = json.loads(line)
                found[effect["key"]].append(effect)
        return found

    def close(self):
        if self.process:
            self.kill()
        self.port.close()


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class World:
    """`plan.store`: one of STORES of disturbance.py. Disturbances act on what
    stands here, and note what a promise makes an exception for: `acts` and `losses`."""

    def __init__(self, binary, folder, plan):
        self.binary, self.folder, self.plan = binary, pathlib.Path(folder), plan
        self.ledger = LedgerService(self.folder, f"{plan.seed}/{plan.run}")
        self.postgres = self.redis = self.bouncer = None
        self.pipes = {}             # front, store, back
        self.proxies = {}           # front, back
        self.gateways = []
        self.acts = collections.Counter()  # runs that an operator allowed of a key, "*": of all
        self.losses = []            # when what the store knew was taken from it
        self.unseen = []            # of copies put back before a poll saw more: their last tokens
        self.deaths = []            # of what nobody killed
        self.admin = ""             # the address of an admin listener
        self.notes = []             # what disturbances did, for whoever reads of a fault
        self.keys = []              # of the clients
        self.formers = []           # processes that a successor drains
        self.volume = None          # where the store alone is kept
        self.journal = self.folder / "store" / "journal"
        self._lives = {}

    # ---- its life -------------------------------------------------------------------------
    async def start(self):
        await in_thread(self.ledger.start)
        url = await self._behind_gateways()
        config = await self._config()
        first = None
        for number in range(self.plan.gateways):
            folder = self.folder / f"gateway-{number}"
            kind = Decider if self.plan.door == "serve" else Gateway
            gateway = kind(self.binary, folder, url, config, database=first)
            if self.plan.store == "sqlite":
                first = first or self.folder / "store" / "onceguard.db"
                gateway.database = first
            config = json.loads(json.dumps(config))
            config["gateway"]["state_dir"] = str(folder)
            gateway.write_config(config)
            self.gateways.append(gateway)
        self.config = config
        self._leave_out_refused_options()
        for gateway in self.gateways:
            await in_thread(gateway.start)
        await self._before_gateways()
        return self

    async def _behind_gateways(self):
        """What the gateways take for the service: its URL."""
        address = self.ledger.address
        if "back" in self.plan.pipes:
            address = (await self._pipe("back", address)).address
        if self.plan.back:
            address = (await self._proxy("back", self.plan.back, address)).address
        self.service = address
        return f"http://127.0.0.1:{address[1]}"

    async def _before_gateways(self):
        address = self.gateways[0].address
        if "front" in self.plan.pipes:
            address = (await self._pipe("front", address)).address
        if self.plan.front:
            address = (await self._proxy("front", self.plan.front, address)).address
        self.first_door = address

    async def _pipe(self, name, target):
        self.pipes[name] = await Pipe(target).start()
        return self.pipes[name]

    async def _proxy(self, place, kind, target):
        folder = self.folder / f"{place}-{kind}"
        folder.mkdir()
        proxy = self.proxies[place] = await in_thread(lambda: PROXIES[kind](folder, target[1]))
        proxy.address = ("127.0.0.1", proxy.port.number)
        return proxy

    async def _config(self):
        store = {"timeout": "2s", "sweep": "1s"}
        kind = self.plan.store
        (self.folder / "store").mkdir()
        if self.plan.small_volume:
            self._mount(self.folder / "store", "132m" if kind == "journal" else "6m")
        if kind == "memory":
            store["url"] = "memory:"
        if kind == "journal":
            store["url"] = f"journal:{self.journal}"
        if kind in ("postgres", "pgbouncer", "tiered"):
            self.postgres = await in_thread(lambda: Postgres().start())
            self.database = await in_thread(self.postgres.create_store)
            port = self.postgres.port.number
            if kind == "pgbouncer":
                self.bouncer = await in_thread(lambda: PgBouncer(self.postgres).start())
                port = self.bouncer.port.number
            if "store" in self.plan.pipes:
                port = (await self._pipe("store", ("127.0.0.1", port))).address[1]
            store["url"] = f"postgresql://postgres@127.0.0.1:{port}/{self.database}"
        if kind in ("redis", "tiered"):
            self.redis = await in_thread(
                lambda: Redis({"appendonly": "yes", "appendfsync": "always"}).start())
            port = self.redis.port.number
            if "store" in self.plan.pipes and kind == "redis":
                port = (await self._pipe("store", ("127.0.0.1", port))).address[1]
            store["url" if kind == "redis" else "accelerator"] = f"redis://127.0.0.1:{port}"
        # Operators ask the one process that has a journal.
        self.admin = f"unix:{self.folder}/admin.sock" if kind == "journal" else ""
        whole = {"gateway": {"threads": 2, "settle_wait": "5s", "admin": self.admin},
                 "store": store,
                 # nginx before a gateway sends another Host.
                 "defaults": {"fingerprint_headers": ["-Host"], **self.plan.policy}}
        for table, name, value in self.plan.options:
            whole.setdefault(table, {})[name] = value
        return whole

    def _mount(self, folder, size):
        """A volume that can be filled, where this process may mount one."""
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "chaos", str(folder)],
                              check=False, capture_output=True)
        self.volume = folder if done.returncode == 0 else None

    def _leave_out_refused_options(self):
        """Options at their extremes may contradict one another: `check` says so."""
        for table, name, _ in list(self.plan.options):
            gateway = self.gateways[0]
            done = subprocess.run([str(self.binary), "check", "--config", gateway.config_path],
                                  capture_output=True, text=True, env=clean_environment(),
                                  cwd=gateway.folder, check=False)
            if done.returncode != 3:
                return
            for each in self.gateways:
                each.config[table].pop(name, None)
                each.write_config(each.config)
            self.notes.append(f"{table}.{name} left out: {done.stderr.strip()[:300]}")

    # ---- what disturbances use ------------------------------------------------------------
    def doors(self):
        """The addresses at which clients may ask."""
        return [self.first_door, *(g.address for g in self.gateways[1:])]

    def note(self, what):
        self.notes.append(f"{time.time():.2f} {what}")

    def gateway(self, number):
        return self.gateways[number % len(self.gateways)]

    def life(self, process):
        """Whoever ends or replaces a gateway or server does so alone."""
        return self._lives.setdefault(id(process), asyncio.Lock())

    @contextlib.asynccontextmanager
    async def all_lives(self):
        async with contextlib.AsyncExitStack() as stack:
            for gateway in self.gateways:
                await stack.enter_async_context(self.life(gateway))
            yield

    def lost(self, what):
        self.losses.append(time.time())
        self.note(f"lost: {what}")

    def newest_token(self):
        return max(map(token_of, itertools.chain(*self.ledger.effects().values())), default=0)

    def put_back(self, what, newest):
        """A copy is put back whose last token was `newest`. A gateway tells a copy by what has been
        granted since, and learns of that by a poll each second."""
        self.lost(what)
        known = time.time() - 2.5
        granted_since = (effect for effect in itertools.chain(*self.ledger.effects().values())
                         if token_of(effect) > newest)
        if not any(effect["at"] < known for effect in granted_since):
            self.unseen.append(newest)

    def command(self, *words, timeout=120):
        """An operator's command on the store, as its words and exit say."""
        gateway = self.gateways[0]
        asks = self.admin and (words[0] == "stats" or words[:2] in REMOTE)
        where = ["--admin", self.admin] if asks else ["--config", str(gateway.config_path)]
        try:
            done = subprocess.run(
                [str(self.binary), *words, *where],
                cwd=gateway.folder, capture_output=True, text=True, timeout=timeout,
                env=clean_environment(), check=False)
        except subprocess.TimeoutExpired:
            self.deaths.append(f"`onceguard {' '.join(words)}` still runs after {timeout} s")
            return None
        self.note(f"`{' '.join(words)}`: {done.returncode} {(done.stdout + done.stderr)[-200:]!r}")
        if done.returncode < 0 or done.returncode > 128:
            self.deaths.append(f"`onceguard {' '.join(words)}` ended with {done.returncode}")
        return done

    def revive(self, gateway):
        """Starts it if it does not run; a death that nobody caused is noted first."""
        self.look_after(gateway)
        if gateway.process is None:
            gateway.start()

    def look_after(self, gateway):
        if gateway.process is not None and gateway.process.poll() is not None:
            self.deaths.append(f"gateway {self.gateways.index(gateway)} ended by itself with "
                               f"{gateway.process.returncode}: {gateway.log()[-600:]}")
            gateway.process = None

    # ---- its end --------------------------------------------------------------------------
    def logs(self):
        return {f"gateway {number}": gateway.log() for number, gateway in enumerate(self.gateways)}

    async def close(self):
        for gateway in self.gateways:
            await in_thread(gateway.close)
        for proxy in self.proxies.values():
            await in_thread(proxy.close)
        for pipe in self.pipes.values():
            await pipe.close()
        for each in (self.bouncer, self.redis, self.postgres, self.ledger):
            if each is not None:
                await in_thread(each.close)
        for former in self.formers:
            former.kill()
        if self.volume:
            shutil.copytree(self.volume, self.folder / "store-kept",
                            ignore=shutil.ignore_patterns("segment-reserve"))
            subprocess.run(["umount", "-l", str(self.volume)], check=False)


def events(log):
    """The names of events in a log and when they were written."""
    return re.findall(r'"time":"([^"]+)".*?"event":"([a-z-]+)"', log)
