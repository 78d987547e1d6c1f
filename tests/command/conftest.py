import pytest

from support.executing import Executing


@pytest.fixture
def exec_(onceguard, tmp_path):
    """`onceguard exec` on a SQLite store of the test's own."""
    made = Executing(onceguard, tmp_path)
    yield made
    made.close()


@pytest.fixture
def exec_on(onceguard, tmp_path):
    """The same on the store of a URL."""
    made = []

    def on(url):
        made.append(Executing(onceguard, tmp_path, url))
        return made[-1]

    yield on
    for each in made:
        each.close()
