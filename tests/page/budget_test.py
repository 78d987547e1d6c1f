"""What the page costs a slow phone, and whether it minds its reader's wishes."""


def test_the_page_is_small(begin_page, act_out):
    _, _, facts = begin_page()
    act_out("budget", facts)


def test_something_is_painted_before_the_script_is_there(begin_page, act_out):
    _, _, facts = begin_page()
    act_out("shell", facts)


def test_the_readers_zone_and_motion(begin_page, act_out):
    gateway, _, facts = begin_page()
    assert gateway.post(key="order-17").status == 201
    act_out("wishes", {**facts, "completed": "order-17"})
