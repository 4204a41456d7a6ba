"""The highest rates that several things carry."""

# A rate that is not carried is tried once more: one hiccup of a machine does not decide.
TRIES = 2


def highest(first, most, precision=0.05):
    """Yields (rate, attempt), is sent whether that was carried, and returns the highest rate that is: a whole number, within `precision` of one
    that is not carried, and no more than `most`; 0 if there is none. It doubles `first`, or halves it, until it knows one of each kind, and then
    halves the gap."""
    def holds(rate):
        for attempt in range(1, TRIES + 1):
            if (yield rate, attempt):
                return True
        return False
    carried, refused, rate = 0, None, first
    while True:
        if (yield from holds(rate)):
            carried = rate
            if refused is not None or rate >= most:
                break
            rate = min(2 * rate, most)
        else:
            refused = rate
            if carried or rate <= 1:
                break
            rate //= 2
    while carried and refused is not None and refused - carried > max(1, precision * carried):
        middle = (carried + refused) // 2
        if (yield from holds(middle)):
            carried = middle
        else:
            refused = middle
    return carried


def in_turn(searches, carries):
    """What searches by name find, a step of each in turn, so that a machine whose speed changes changes it for all: `carries(name, rate, attempt)`."""
    found, said = {}, dict.fromkeys(searches)
    while len(found) < len(searches):
        for name, search in searches.items():
            if name not in found:
                try:
                    said[name] = carries(name, *search.send(said[name]))
                except StopIteration as over:
                    found[name] = over.value
    return found
