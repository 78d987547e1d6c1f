#!/usr/bin/env python3
"""The rooms of the house, as cmake/rooms.ini has them.

Usage: rooms.py            prints the picture of docs/internals/architecture.md
       rooms.py --write    puts the picture into that page
"""
import configparser
import sys
from dataclasses import dataclass
from pathlib import Path

LIST = "cmake/rooms.ini"
PAGE = "docs/internals/architecture.md"
BEGIN, END = "<!-- rooms: begin -->\n", "<!-- rooms: end -->\n"


@dataclass(frozen=True)
class Room:
    name: str
    folder: str
    purpose: str
    uses: tuple
    includes: tuple


def read(root):
    """The rooms by name, lowest first; a mistake in the list is a ValueError."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string((Path(root) / LIST).read_text())
    rooms = {}
    for name in parser.sections():
        section = parser[name]
        uses = tuple(section.get("uses", "").split())
        for other in uses:
            if other not in rooms:
                raise ValueError(f"{LIST}: {name} uses {other}, which does not stand before it")
        rooms[name] = Room(name, section["folder"], section["purpose"], uses,
                           tuple(section.get("includes", "").split()))
    return rooms


def room_of(rooms, path):
    """The name of the room that a file lies in: that of the deepest folder; None: in no room."""
    found = [r for r in rooms.values() if path.startswith(r.folder + "/")]
    return max(found, key=lambda r: len(r.folder)).name if found else None


def reachable(rooms, name):
    """The room itself, the rooms that it uses, and what those use."""
    seen, waiting = {name, "public"}, [name]
    while waiting:
        for other in rooms[waiting.pop()].uses:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def floors(rooms):
    """The rooms by floor: a room stands above all that it uses."""
    height = {}
    for room in rooms.values():
        height[room.name] = 1 + max((height[other] for other in room.uses), default=-1)
    return [[n for n, h in height.items() if h == level]
            for level in range(max(height.values()), -1, -1)]


def picture(rooms):
    lines = ["```mermaid", "graph TD"]
    for room in rooms.values():
        below = {o for other in room.uses for o in reachable(rooms, other) - {other}}
        lines += [f"  {room.name} --> {other}" for other in room.uses if other not in below]
    lines += ["```", "", "| floor | rooms |", "| --- | --- |"]
    stacked = floors(rooms)
    for i, names in enumerate(stacked):
        lines.append(f"| {len(stacked) - 1 - i} | {', '.join(names)} |")
    lines += ["", "| room | folder | for | may use |", "| --- | --- | --- | --- |"]
    for room in rooms.values():
        lines.append(f"| `{room.name}` | `{room.folder}` | {room.purpose} | "
                     f"{', '.join(room.uses)} |")
    return "\n".join(lines) + "\n"


def with_picture(text, rooms):
    """The page with the present picture; None: it has no place for one."""
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < begin:
        return None
    return text[:begin + len(BEGIN)] + picture(rooms) + text[end:]


def main(arguments):
    root = Path(__file__).resolve().parent.parent
    rooms = read(root)
    if "--write" not in arguments:
        sys.stdout.write(picture(rooms))
        return 0
    page = root / PAGE
    page.write_text(with_picture(page.read_text(), rooms))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
