"""The oracle itself, by hand: `python3 -m unittest` in this folder. Needs neither tshark nor captures."""

import unittest

from packets import Key, Packet
from rtp import measure
from wireshark import MARKER, RULES, rules_behind, tap

KEY = Key("192.0.2.1:4000", "192.0.2.2:4000", 7)
MS = 10**6


def packet(index, late_ms=0.0, **changes):
    """One of a stream of 20 ms packets at 8000 Hz."""
    sent = Packet(
        frame=index + 1, time=10**18 + int((20 * index + late_ms) * MS), sequence=index & 0xFFFF, timestamp=160 * index,
        payload_type=0, marker=False, payload_bytes=160, clock=8000, receiver_clock=8000,
    )
    for name, value in changes.items():
        setattr(sent, name, value)
    return sent


class Jitter(unittest.TestCase):
    def test_by_hand(self):
        """RFC 3550 section 6.4.1: one packet 4 ms late, the next back on time."""
        figures = measure(KEY, [packet(0), packet(1), packet(2, 4), packet(3)])
        second = 4 / 16
        third = second + (4 - second) / 16
        self.assertAlmostEqual(figures.jitter_max, third)
        self.assertAlmostEqual(figures.jitter_mean, (0 + second + third) / 3)
        self.assertEqual((figures.jitter_max_frame, figures.delta_max, figures.delta_max_frame), (4, 24.0, 3))

    def test_repeats_change_nothing(self):
        once = [packet(index, index * 7919 % 3000 / 1000) for index in range(200)]
        twice = [each for original in once for each in (original, packet(original.sequence, 5))]
        self.assertEqual(measure(KEY, once).jitter_mean, measure(KEY, twice).jitter_mean)
        self.assertEqual(measure(KEY, twice).duplicates, 200)

    def test_events_are_no_reference(self):
        """Five packets of an event, whose timestamp stands still, between two stretches of audio on time."""
        event = [packet(index, timestamp=160 * 10, payload_type=101, event=True, clock=8000) for index in range(10, 15)]
        figures = measure(KEY, [packet(index) for index in range(10)] + event + [packet(index) for index in range(15, 20)])
        self.assertEqual(figures.jitter_max, 0)

    def test_a_new_time_base_is_not_jitter(self):
        figures = measure(KEY, [packet(0), packet(1), packet(2, timestamp=80_000_000), packet(3, timestamp=80_000_160)])
        self.assertEqual(figures.jitter_max, 0)

    def test_a_type_without_a_clock_is_no_reference(self):
        figures = measure(KEY, [packet(0, payload_type=95, clock=None), packet(30, timestamp=0), packet(31, timestamp=160)])
        self.assertEqual(figures.jitter_max, 0)


class Numbers(unittest.TestCase):
    def figures(self, numbers):
        return measure(KEY, [packet(index, sequence=number & 0xFFFF) for index, number in enumerate(numbers)])

    def test_wraps_loss_and_order(self):
        figures = self.figures([65533, 65534, 0, 65535, 1, 4])
        self.assertEqual((figures.lost, figures.reordered, figures.runs), (2, 1, 1))

    def test_a_restart_loses_nothing(self):
        figures = self.figures([*range(5, 175), *range(300)])
        self.assertEqual((figures.lost, figures.unique, figures.runs), (0, 470, 2))

    def test_an_outage_that_clock_and_time_vouch_for_is_loss(self):
        figures = measure(KEY, [packet(index) for index in [*range(100), *range(5100, 5200)]])
        self.assertEqual((figures.lost, figures.runs), (5000, 1))

    def test_a_stray_loses_nothing(self):
        figures = self.figures([1, 2, 3, 30000, 4, 5])
        self.assertEqual((figures.lost, figures.unique, figures.runs), (0, 6, 1))


class Rules(unittest.TestCase):
    def test_all_rules_leave_the_marker_out_and_none_do_not(self):
        sent = [packet(index) for index in range(5)] + [packet(20, 9, marker=True)] + [packet(index) for index in range(21, 25)]
        self.assertAlmostEqual(tap(KEY, sent, RULES).delta_max, 20, places=3)
        none = tap(KEY, sent, ())
        figures = measure(KEY, sent)
        self.assertAlmostEqual(none.delta_max, figures.delta_max, places=3)
        self.assertAlmostEqual(none.jitter_mean, figures.jitter_mean, places=3)
        self.assertEqual(rules_behind(KEY, sent, "delta_max", figures.delta_max), [(MARKER,)])


if __name__ == "__main__":
    unittest.main()
