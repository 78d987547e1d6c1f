"""The table of the ids of `onceguard doctor`, on which scripts may rely, has each id that the
program can print, and no other."""

import re

from support.doctor import documented_ids
from support.documented import DOCS

SOURCES = [file.read_text() for file in sorted((DOCS.parent / "src").rglob("*.cpp"))
           if "diagnos" in file.read_text()]
# How a finding gets its id: as a word, from the name of an option, or from the subject of a store.
WORDS = (r'\bgrade::\w+,\s*"([\w-]+)"', r'level_of\([^;]*?\),\s*"([\w-]+)"',
         r'finding_id = "([\w-]+)"')
OPTIONS = r'\bexamine_(?:folder|file|socket|listener|growing_file)\("(\w+)"'
# A second finding about the same option.
MORE = {"rights": r'\bexamine_socket_rights\("(\w+)"', "room": r'\bexamine_growing_file\("(\w+)"'}
SUBJECTS = r'\b(?:diagnosis_id\([\w:]+, |finding_id\(|id_of\()"([\w-]+)"\)'


def all_of(*patterns):
    return {found for text in SOURCES for each in patterns for found in re.findall(each, text)}


def test_the_table_has_the_ids_of_the_code_and_no_other():
    plain = all_of(*WORDS) | {name.replace("_", "-") for name in all_of(OPTIONS)}
    plain |= {f"{name.replace('_', '-')}-{end}" for end, each in MORE.items()
              for name in all_of(each)}
    subjects = all_of(SUBJECTS)
    assert {"listen", "queue-limits", "audit-log"} <= plain and {"reach", "pooler"} <= subjects
    of_stores = {f"store-{name}" for name in subjects}
    of_accelerators = {name for name in documented_ids() if name.startswith("accelerator-")}
    assert documented_ids() - of_accelerators == plain | of_stores
    assert {name.removeprefix("accelerator-") for name in of_accelerators} <= subjects
