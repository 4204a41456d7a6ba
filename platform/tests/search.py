"""The highest rate that something carries."""

# A rate that is not carried is tried once more: one hiccup of a machine does not decide.
TRIES = 2


def highest(carries, first, most, precision=0.05):
    """The highest rate for which `carries(rate, attempt)` is true: a whole number, within `precision` of one that is not carried, and no
    more than `most`; 0 if there is none. It doubles `first`, or halves it, until it knows one of each kind, and then halves the gap."""
    def holds(rate):
        return any(carries(rate, attempt) for attempt in range(1, TRIES + 1))
    carried, refused, rate = 0, None, first
    while True:
        if holds(rate):
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
        if holds(middle):
            carried = middle
        else:
            refused = middle
    return carried
