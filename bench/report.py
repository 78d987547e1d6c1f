"""The rows of a measurement beside others, as text, as JSON and as a picture."""

import dataclasses
import json
import statistics
from xml.sax.saxutils import escape

WIDTH, BAR, LEFT = 720, 18, 110


def medians(samples):
    return {each.name: statistics.median(getattr(one, each.name) for one in samples)
            for each in dataclasses.fields(samples[0])}


def spread(samples):
    rates = [one.rate for one in samples]
    return f"{min(rates):,.0f} to {max(rates):,.0f}"


def table_of(row):
    """Ratios are those of requests a second, of ours and the other one, pair by pair."""
    ours = next(iter(row.samples))
    title = f"{row.title}, {row.connections} connection{'s' if row.connections > 1 else ''}"
    lines = [f"{title:<52} {row.stolen:>6.1%} stolen",
             f"  {'':<12} {'a second':>9} {'':>20} {'CPU us':>8} {'p50 ms':>8}   {ours} / it"]
    for name, samples in row.samples.items():
        figures = medians(samples)
        line = (f"  {name:<12} {figures['rate']:>9,.0f} {spread(samples):>20} "
                f"{figures['cpu']:>8.1f} {figures['p50']:>8.3f}")
        if name != ours:
            middle, least, most = row.ratio(ours, name)
            line += f"   {middle:.2f} ({least:.2f} to {most:.2f}), " \
                    f"CPU {row.ratio(ours, name, 'cpu')[0]:.2f}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def json_of(rows):
    return json.dumps([{**dataclasses.asdict(row),
                        "medians": {name: medians(all_of_one)
                                    for name, all_of_one in row.samples.items()}}
                       for row in rows], indent=1) + "\n"


STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1b1f24 }
.title { font-weight: 600 } .ours { fill: #0b6bcb } .other { fill: #9aa4af }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e9ec } .ours { fill: #5aa9ff } .other { fill: #6b7480 }
}
"""


def svg_of(rows):
    """Bars of requests a second; each row has a scale of its own. One connection alone says more of
    latency than of a rate, and is left out."""
    parts, y = [], 10
    for row in (row for row in rows if row.connections > 1):
        y += 22
        parts.append(f'<text class="title" x="0" y="{y}">'
                     f"{escape(f'{row.title}, {row.connections} at once')}</text>")
        y += 8
        rates = {name: medians(samples)["rate"] for name, samples in row.samples.items()}
        for number, (name, rate) in enumerate(rates.items()):
            length = rate / max(rates.values()) * (WIDTH - LEFT - 90)
            kind = "other" if number else "ours"
            parts.append(
                f'<text x="0" y="{y + BAR - 5}">{escape(name)}</text>'
                f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{length:.0f}" '
                f'height="{BAR - 4}"/>'
                f'<text x="{LEFT + length + 6:.0f}" y="{y + BAR - 5}">{rate:,.0f}/s</text>')
            y += BAR + 2
        y += 8
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" '
            f'height="{y}" role="img" aria-label="requests a second beside others">'
            f"<style>{STYLE}</style>" + "\n".join(parts) + "</svg>\n")
