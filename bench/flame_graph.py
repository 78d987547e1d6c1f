"""Where the processor time of a request goes: `perf` samples of a gateway under first requests,
under requests that are passed through and under repeats, as tables of shares; with --svg FILE,
first requests also as a flame graph.

The program that is shipped has no symbols. So its objects are linked once more, without `-s`."""

import collections
import html
import os
import re
import shutil
import subprocess
import zlib

RATE = 1_999  # samples a second: in step with no timer
WAIT = 1  # seconds until the load is there

# The first that fits a frame of the sample names its share, seen from the end of the stack.
KERNEL = (("network", re.compile(r"sendto|recvfrom|sock_|tcp_|inet_")),
          ("disk", re.compile(r"fsync|fdatasync|pwrite|ext4_|blk_|submit_bio")),
          ("waiting and waking", re.compile(r"epoll|futex|schedule")))
ROOM = re.compile(r"(admin|base|core|gateway|http|http1|journal|sealed|sqlite|tls)::")
ALLOCATION = re.compile(r"^(mi_|_mi_|operator (new|delete)|malloc|free\b)")


def with_symbols(build, folder):
    """The program again, of the same objects."""
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", "onceguard"], check=True,
                              capture_output=True, text=True).stdout
    made = os.path.join(folder, "onceguard")
    link = commands.splitlines()[-1].replace(" -s ", " ").replace(" -o onceguard ",
                                                                  f" -o {made} ")
    subprocess.run(link, shell=True, check=True, cwd=build)
    return made


def short(symbol):
    """The name without arguments of templates and functions."""
    while True:
        less = re.sub(r"<[^<>]*>", "", symbol)
        if less == symbol:
            break
        symbol = less
    symbol = symbol.replace("(anonymous namespace)::", "").replace("onceguard::", "")
    return symbol.partition("(")[0] or symbol


def samples_of(data):
    """(thread, frames from the outermost inwards) of each sample. A frame is (name, object)."""
    text = subprocess.run(["perf", "script", "-i", data, "--no-inline", "-F", "comm,ip,sym,dso"],
                          check=True, capture_output=True, text=True, errors="replace").stdout
    for block in text.split("\n\n"):
        lines = block.strip("\n").splitlines()
        if len(lines) < 2:
            continue
        frames = []
        for line in lines[1:]:
            found = re.match(r"\s*[0-9a-f]+ (.*) \((.*)\)$", line)
            if found and found[1] != "[unknown]":
                frames.append((short(found[1]), os.path.basename(found[2])))
        if frames:
            yield lines[0].strip(), frames[::-1]


def is_kernel(place):
    """[kernel.kallsyms], and modules like [ext4]."""
    return place.startswith("[") and place not in ("[vdso]", "[unknown]", "[heap]", "[stack]")


def share_of(frames):
    """What the sample counts for: of the kernel by its work, of the program by its room."""
    name, place = frames[-1]
    if is_kernel(place):
        inner = [each for each, where in frames if is_kernel(where)]
        for title, pattern in KERNEL:
            if any(pattern.search(each) for each in inner):
                return f"kernel: {title}"
        return "kernel: other"
    if ALLOCATION.match(name) or "mimalloc" in place:
        return "allocation"
    for each, where in reversed(frames):
        if where != "onceguard" or each.startswith(("std::", "__", "_Z")):
            continue
        if each.startswith("boost::asio"):
            return "asio"
        room = ROOM.match(each)
        return room[1] if room else "engine and stores' common part"
    return "libraries"


def print_shares(samples, cost):
    """`cost`: us of processor time a request."""
    by_thread = collections.Counter(thread for thread, _ in samples)
    shares = collections.Counter((thread, share_of(frames)) for thread, frames in samples)
    total = len(samples)
    print(f"{cost:.1f} us of processor time a request, {total:,} samples")
    for thread, count in by_thread.most_common():
        if count < total / 100:
            continue
        print(f"{thread:<34} {100 * count / total:>5.1f} % {cost * count / total:>7.1f} us")
        for (_, title), part in sorted((each for each in shares.items() if each[0][0] == thread),
                                       key=lambda each: -each[1]):
            if part >= total / 200:
                print(f"  {title:<32} {100 * part / total:>5.1f} % {cost * part / total:>7.1f} us")
    print(flush=True)


class Flame:
    """A frame with those that it called."""

    def __init__(self):
        self.count, self.inner = 0, collections.defaultdict(Flame)

    def add(self, names):
        self.count += 1
        if names:
            self.inner[names[0]].add(names[1:])

    def depth(self):
        return 1 + max((each.depth() for each in self.inner.values()), default=0)


WIDTH, ROW, LEAST = 1_200, 16, 0.6  # pixels; what is narrower is not drawn


def svg_of(samples):
    whole = Flame()
    for thread, frames in samples:
        whole.add([thread, *(name for name, _ in frames)])
    height = ROW * whole.depth()
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
           'font-family="monospace" font-size="11">']

    def draw(name, flame, left, level):
        width = WIDTH * flame.count / whole.count
        if width < LEAST:
            return
        text = html.escape(name)
        shade = zlib.crc32(name.encode()) % 60
        top = height - ROW * (level + 1)
        out.append(f'<g><title>{text}: {100 * flame.count / whole.count:.1f} %</title>'
                   f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{ROW - 1}" '
                   f'fill="hsl({20 + shade},80%,65%)"/>')
        letters = int(width / 6.7)
        if letters > 3:
            out.append(f'<text x="{left + 2:.1f}" y="{top + 11}">'
                       f'{html.escape(name[:letters])}</text>')
        out.append("</g>")
        for inner, each in sorted(flame.inner.items()):
            draw(inner, each, left, level + 1)
            left += WIDTH * each.count / whole.count

    draw("all", whole, 0, 0)
    return "\n".join([*out, "</svg>", ""])


def profile_of(process, port, script, seconds, wrk, cpu_seconds, data):
    """(samples, us of processor time a request) of a gateway under this load."""
    wrk(port, script, WAIT)
    with subprocess.Popen(["perf", "record", "-q", "-F", str(RATE), "-g", "-o", data, "-p",
                           str(process.pid)]) as perf:
        before = sum(cpu_seconds(process))
        count = wrk(port, script, seconds).rate * seconds
        cost = (sum(cpu_seconds(process)) - before) / count * 1e6
        perf.terminate()
    samples = list(samples_of(data))
    if not samples:
        raise SystemExit("perf took no samples: may it? See kernel.perf_event_paranoid.")
    return samples, cost


def measure_profile(servers, seconds, wrk, send_once, cpu_seconds, build, svg_file):
    if shutil.which("perf") is None:
        raise SystemExit("perf is missing: apt install linux-perf")
    port, process = servers.gateway("profile", binary=with_symbols(build, servers.dir))
    send_once(port)
    data = os.path.join(servers.dir, "perf.data")
    for title, script in (("guarded first requests", "unique.lua"),
                          ("requests that are passed through", "plain.lua"),
                          ("repeats", "repeat.lua")):
        samples, cost = profile_of(process, port, script, seconds, wrk, cpu_seconds, data)
        print(f"{title}, 64 connections: ", end="")
        print_shares(samples, cost)
        if svg_file and script == "unique.lua":
            with open(svg_file, "w", encoding="utf-8") as file:
                file.write(svg_of(samples))
