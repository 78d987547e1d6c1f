"""From a run that failed to the least that still does."""

from chaos.run import perform

TRIES, ENOUGH = 3, 2


def confirmed(program, plan, kinds):
    """Whether a fault of one of these kinds comes in two of three runs."""
    seen = 0
    for tried in range(TRIES):
        seen += bool(perform(program, plan).kinds & kinds)
        if seen == ENOUGH:
            return True
        if seen + TRIES - 1 - tried < ENOUGH:
            return False
    return False


def shrunk(program, plan, kinds):
    """Leaves out one thing after the other, as long as the fault stays."""
    going = True
    while going:
        going = False
        for smaller in plan.smaller():
            if confirmed(program, smaller, kinds):
                plan, going = smaller, True
                break
    return plan
