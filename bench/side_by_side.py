"""One thing against another, in turn: medians, ratios, and what disturbed them."""
import dataclasses
import statistics
import sys

CALM = 0.02  # of the processors' time, taken by the hypervisor


def processor_time():
    """What the processors did since the start, and what of it the hypervisor took for others."""
    with open("/proc/stat", encoding="ascii") as stat:
        spent = [int(ticks) for ticks in stat.readline().split()[1:9]]
    return sum(spent), spent[7]


@dataclasses.dataclass
class Round:
    ours: float
    theirs: float
    stolen: float


def run_round(ours, theirs):
    begin = processor_time()
    rates = ours().rate, theirs().rate
    spent, stolen = (now - before for now, before in zip(processor_time(), begin))
    return Round(*rates, stolen / spent)


def print_rounds(title, rounds, goal):
    """Medians, and the median of the ratios."""
    rate = [statistics.median(getattr(r, side) for r in rounds) for side in ("ours", "theirs")]
    ratio = statistics.median(r.ours / r.theirs for r in rounds)
    stolen = statistics.mean(r.stolen for r in rounds)
    print(f"{title:<46} {rate[0]:>9.0f} {rate[1]:>9.0f} {ratio:>7.2f}   {goal:<7} "
          f"{100 * stolen:>6.1f} %")
    sys.stdout.flush()


def compare(title, rounds, ours, theirs, goal):
    """Runs both in turn. Where the hypervisor takes processors away, what needs several of them at
    once loses most; so the rounds in which it took nearly none are told apart."""
    ours(), theirs()  # warm-up
    done = [run_round(ours, theirs) for _ in range(rounds)]
    print_rounds(title, done, goal)
    calm = [r for r in done if r.stolen < CALM]
    if calm and len(calm) < rounds:
        print_rounds(f"  {len(calm)} of {rounds} rounds: under {CALM:.0%} stolen", calm, goal)
