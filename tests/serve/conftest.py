import pytest

from support.decisions import DecisionService


@pytest.fixture
def start_service(onceguard, tmp_path):
    made = []

    def start(**how):
        made.append(DecisionService(onceguard, tmp_path, **how))
        return made[-1].start()

    yield start
    for each in made:
        each.close()


@pytest.fixture(scope="module")
def service(onceguard, tmp_path_factory):
    """One for all tests of a file; fresh keys keep them apart."""
    running = DecisionService(onceguard, tmp_path_factory.mktemp("serve")).start()
    yield running
    running.close()


@pytest.fixture
def call(service):
    return service.connect()
