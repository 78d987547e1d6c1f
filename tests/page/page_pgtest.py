"""The views and acts of the page on PostgreSQL: the tests of SQLite, with another store."""

import pytest

# pylint: disable=unused-import
from page.monitoring_test import test_what_the_store_says_of_itself  # noqa: F401
from page.page_test import (  # noqa: F401
    filled, test_a_request_is_explained, test_a_scenario_that_changes_nothing,
    test_forty_are_settled_by_a_list, test_many_are_settled_by_the_keyboard,
    test_the_acts_of_one_key, test_the_audit_log_says_who_saw_and_did_what,
    test_the_timeline_of_a_key)
from page.record_test import (  # noqa: F401
    strange, test_hostile_keys_are_text, test_the_commands_of_a_key_work_in_a_shell)


@pytest.fixture
def page_store(postgres_server, database):
    return {"url": postgres_server.url(database)}
