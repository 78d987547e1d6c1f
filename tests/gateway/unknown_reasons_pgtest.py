"""As unknown_reasons_test.py, on PostgreSQL."""

from gateway.unknown_reasons_test import check_every_key


def test_two_hundred_keys_made_unknown_on_postgresql_have_one_reason_each(
        start_gateway, own_upstream, admin_listener, postgres_server, database):
    check_every_key(start_gateway, own_upstream, admin_listener,
                    {"url": postgres_server.url(database)})
