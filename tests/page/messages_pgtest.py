"""Messages that need a person, and a list of keys that several callers have, on PostgreSQL."""

from page.conspicuous_test import list_of_two_scopes
from page.messages_test import letters_in_the_page


def test_messages_are_settled_in_the_page(begin_consumer, act_out, own_upstream, tmp_path,
                                          postgres_server, database):
    letters_in_the_page(begin_consumer, act_out, own_upstream, tmp_path / "audit",
                        postgres_server.url(database))


def test_a_list_does_not_choose_among_two_scopes(begin_page, act_out, postgres_server, database):
    list_of_two_scopes(begin_page, act_out, store={"url": postgres_server.url(database)})
