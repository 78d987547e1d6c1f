"""What a request costs the processes on its way, beside nginx and beside another binary."""
import statistics
import sys


def cost_of(port, script, seconds, processes, wrk, cpu_seconds):
    """[user, system] for each process: us of CPU a request."""
    before = [cpu_seconds(each) for each in processes]
    count = wrk(port, script, seconds).rate * seconds
    return [[(end - begin) / count * 1e6 for begin, end in zip(old, cpu_seconds(each))]
            for old, each in zip(before, processes)]


def print_cost(title, rounds):
    user, system = (statistics.median(kind) for kind in zip(*rounds))
    print(f"{title:<46} {user:>9.1f} {system:>9.1f} {user + system:>9.1f}")


def measure_cost(servers, rounds, seconds, wrk, cpu_seconds, old):
    """What each process takes of the CPU for a request: less at the mercy of other loads than rates
    are. With an `old` binary, both in turn, and the ratio of each round's pair."""
    upstream, proxy = servers.running[:2]
    gateways = [servers.gateway("cost")]
    if old:
        gateways.append(servers.gateway("old-cost", binary=old))
    print(f"{'us of CPU a request, 64 connections':<46} {'user':>9} {'system':>9} {'both':>9}")
    for title, script, sides in (("guarded first requests", "unique.lua", gateways),
                                 ("unguarded pass-through", "plain.lua", gateways),
                                 ("nginx, proxy", "plain.lua", [(servers.proxy, proxy)])):
        spent = [[] for _ in sides]
        for port, _ in sides:
            wrk(port, script, 1)
        for number in range(rounds):
            in_turn = list(zip(sides, spent))
            for (port, process), kept in in_turn if number % 2 == 0 else reversed(in_turn):
                kept.append(cost_of(port, script, seconds, [process, upstream], wrk,
                                    cpu_seconds))
        for name, kept in zip((title, f"{title}, old binary"), spent):
            print_cost(name, [each[0] for each in kept])
            print_cost(f"{name}, its upstream", [each[1] for each in kept])
        if len(spent) == 2:
            ratios = [sum(new[0]) / sum(before[0]) for new, before in zip(*spent)]
            print(f"{'  new / old':<46} {statistics.median(ratios):>29.3f}   "
                  f"({min(ratios):.3f} to {max(ratios):.3f})")
        sys.stdout.flush()
    print()
