"""What tools/tidy.py holds the tree to: the limits, the words, what is banned and its replacement,
and the exceptions with a reason each. The rooms stand in cmake/rooms.ini."""
import re
from dataclasses import dataclass

COLUMNS = 100
FILE_LINES = 400
FUNCTION_LINES = 70

SKIPPED_FOLDERS = {"build", ".git", "node_modules", "__pycache__", ".pytest_cache", ".venv"}
CODE_SUFFIXES = {".cpp", ".hpp", ".inc", ".py", ".cmake", ".js", ".mjs", ".sh", ".lua"}
TEXT_SUFFIXES = CODE_SUFFIXES | {".sql", ".md", ".txt", ".toml", ".json", ".conf"}
TEXT_NAMES = {"dev", "run", "Makefile", ".clang-format", ".clang-tidy"}

# --- words of docs/internals/words.md that are not used: in names, as a whole word of them --------

UNUSED_WORDS = {
    "told": "reported, announced, answered", "heard": "answered", "hear": "poll",
    "hearing": "staleness", "ear": "subscriber", "nonce": "claim_id", "nonces": "claim_ids",
    "adopt": "import", "adoption": "import", "adopted": "imported", "watchdog": "timer_wheel",
    "fate": "effect", "standing": "circuit_breaker", "belief": "trusted_epoch",
    "judge": "decide", "judged": "decided", "judgement": "distrust", "objection": "distrust",
    "deaf": "stale", "scout": "topology_poller", "census": "full_scan",
    "survey": "slot_ownership", "ledger": "metadata", "books": "metadata", "news": "follow_up",
    "tally": "in_flight_guard", "aftermath": "follow_up", "cutter": "parser",
    "shelf": "idle_connections", "undone": "rolled_back, not_carried_out", "lane": "request_queue",
    "lanes": "request_queues", "doubted": "distrusted, suspected, unconfirmed",
    "doubts": "suspects", "unclear": "unknown", "trouble": "failure, fault",
}
# The same for names of C++ that one of these matches.
UNUSED_NAMES = {
    r"(?!in_place)(?:\w+_)?places?(?:_\w*)?": "slot, ticket, location, position",
    r"(?:\w+_)?look(?:s|ed)?_?|look(?:s|ed)?_\w+": "poll, read, find",
    r"did_?|did_\w+": "done, not_done",
    r"(?!.*in_doubt)(?:\w+_)?doubt(?:_\w*)?": "in_doubt",
    r"links_?|(?:\w+_)?links?_\w+|\w+_links?": "connection, request_queue, call_channel, pipeline",
    r"(?:\w+_)?(?:outcome_desk|flood_gate|no_row)(?:_\w*)?":
        "outcome_query_thread, log_rate_limit, unknown",
}
OWN = r"own_?|own_\w+"
OWN_INSTEAD = "caller's, this process's, the server's"
# What a parameter, a variable or a member is not called: these are no nouns.
PREPOSITIONS = ("of", "on", "in", "to", "at", "from", "into", "by", "with", "for")
NOT_NOUNS = (*PREPOSITIONS[:-1], "told", "said", "asked", "what", "how", "who", "whose", "for_",
             "with_")

# Headers of outside libraries that lie in no folder; and folders that the system brings.
OUTSIDE_WITHOUT_FOLDER = r"^(?:sqlite3|libpq|llhttp|xxhash|seccomp)"
SYSTEM_FOLDERS = ("sys/", "netinet/", "arpa/", "linux/")

# --- problem types: the names in the catalogue of src/http/problem.cpp --------------------------

PROBLEM_TYPE = re.compile(r'problem_info\{problem::\w+,\s*"([^"]+)",\s*(\d+)')

# --- banned, and what to write instead ----------------------------------------------------------


@dataclass(frozen=True)
class Ban:
    name: str
    pattern: re.Pattern
    instead: str
    where: tuple          # folders or files; a path begins with one of them
    suffixes: tuple = (".cpp", ".hpp")
    but: tuple = ()       # not below these
    in_comments: bool = False

    def applies(self, path):
        return path.endswith(self.suffixes) and path.startswith(self.where) \
            and not path.startswith(self.but)


CPP = ("include/", "src/", "tests/", "bench/", "examples/")
# Inside the parentheses of a call: a brace that opens an argument, with or without a type's name.
BRACED = r"[(,]\s*(?:[a-z_][\w:]*(?:<[^<>]*>)?)?\{"
BALANCED = r"(?:[^;{}()]|\((?:[^;{}()]|\((?:[^;{}()]|\([^;{}()]*\))*\))*\))*"
CAPTURING = r"[(,]\s*\[[^\]]+\]\s*(?:\(|\{|mutable|->)"

BANNED = [
    Ban("sleep", re.compile(r"\bsleep_(?:for|until)\b|\busleep\(|::sleep\("),
        "a test waits for a condition, never for a time", ("tests/",)),
    Ban("blocking", re.compile(r"this_thread::sleep|\busleep\(|::sleep\("),
        "nothing blocks a thread: wait on a timer", ("include/", "src/")),
    Ban("python-sleep", re.compile(r"\btime\.sleep\("),
        "a test waits for a condition: tests/support has the waiting",
        ("tests/",), (".py",), but=("tests/tools/",)),
    Ban("clock", re.compile(r"\b(?:system|steady|high_resolution)_clock::now\b"
                            r"|\bclock_gettime\b|\bgettimeofday\b|\bstd::time\("),
        "nothing reads a clock on its own: take a base::clock",
        ("include/", "src/"), but=("src/base/",)),
    Ban("random", re.compile(r"\brandom_device\b|\bmt19937|\bs?rand\("),
        "take base::random_bytes", ("include/", "src/"), but=("src/base/",)),
    Ban("co_await", re.compile(r"\bco_await\b[^;]*(?:" + BRACED + "|" + CAPTURING + ")"
                               r"|" + BRACED + r"[^{}]*\bco_await\b"),
        "name the object first: gcc 12 destroys a braced temporary or a capturing lambda beside "
        "co_await twice", CPP),
    Ban("condition", re.compile(r"\b(?:if|while) \((?:" + BALANCED + ";)?" + BALANCED
                                + r"\bco_await\b" + BALANCED + r"\w\(" + BALANCED
                                + r"std::move\("),
        "name the result first: gcc 12 mixes up what a condition with co_await moves from", CPP),
    Ban("ternary", re.compile(r"[?:]\s*co_await\b"),
        "write an if: gcc 12 destroys what a co_await inside ?: gives", CPP),
    Ban("detached", re.compile(r"\bdetached\b|\.detach\(\)"),
        "give co_spawn a completion handler that looks at the exception; join threads", CPP,
        # A write to a pipe that nobody reads never returns; the process ends without it.
        but=("src/cli/log/log_writer.cpp",)),
    Ban("later", re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b"),
        "do it now, or write it into docs/limitations.md",
        ("",), tuple(CODE_SUFFIXES | {".md", ".txt", ".toml", "dev"}),
        but=("tools/tidy", "tests/tools/", "CONTRIBUTING.md"), in_comments=True),
    Ban("name", re.compile(r"\b\w*(?:_manager|_helper|_utils?)\b|\b(?:class|struct|namespace)\s+"
                           r"(?:\w*[Mm]anager|\w*[Hh]elpers?|utils?|detail_v2)\b"),
        "say what it does: the word says nothing", CPP),
    Ban("output", re.compile(r"\bstd::c(?:out|err|log)\b|\bf?printf\(|\bputs\("),
        "rooms say what happened by base::log; only the command line prints",
        ("include/", "src/"), but=("src/cli/", "src/demo/")),
    Ban("skipped", re.compile(r"\bGTEST_SKIP\b|\bDISABLED_\w+|pytest\.(?:mark\.)?skip|xfail"),
        "a test that does not run proves nothing: mend or remove it",
        ("tests/",), (".cpp", ".hpp", ".py"), but=("tests/tools/",)),
    Ban("place", re.compile(r"/(?:work|home|root)/\w"),
        "paths of one machine do not belong here",
        ("",), tuple(CODE_SUFFIXES | TEXT_SUFFIXES | {"dev", "run"}),
        but=("tools/tidy",), in_comments=True),
]

# --- exceptions: rule, then path (a folder ends with /; a function is path#name), then the reason

ALLOWED = {
    "class": {
        "src/engine/engine.cpp": "one line of the state that is the engine's",
        "src/gateway/server.cpp": "makes what its threads share",
        "src/http1/reader.cpp": "message.hpp is what other rooms see of messages, read and written",
        "src/store/journal/record_queries.cpp": "the reader's thread alone uses it",
    },
    "word": {
        "examples/": "the ledger is the shop's",
        "tests/examples/": "the ledger is the shop's",
        "tests/execute/": "the ledger is the shop's",
        "tests/chaos/": "the ledger is the service's",
        "tests/gateway/fingerprint_test.py": "the nonce is a member of a body",
    },
    "comment": {},
    "noun": {},
    "file": {},
    "function": {},
    "outside": {},
    "clock": {
        "src/demo/scenes.cpp": "measures microseconds, which base::clock does not tell",
        "src/process/supervisor.cpp": "systemd asks for CLOCK_MONOTONIC",
    },
    "detached": {
        "src/base/file_watch.cpp": "a call to a file system may hang for ever",
        "src/gateway/host_lookup.cpp": "getaddrinfo can't be called off, and may hang for ever",
        "src/tls/host_lookup.cpp": "getaddrinfo can't be called off, and may hang for ever",
        "src/client/beast/host_lookup.cpp": "getaddrinfo can't be called off and may hang",
    },
    "blocking": {
        "src/store/sqlite/lock_file.cpp": "a thread of its own waits for another process's lock",
    },
    "output": {
        "src/http1/require.hpp": "says which promise was broken before it aborts",
    },
}
