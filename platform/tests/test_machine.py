"""What is said of a run of Ansible that fails."""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import machine  # noqa: E402


def failed(task, host, result):
    return f"TASK [{task}] ****\nok: [db1]\nfatal: [{host}]: FAILED! => {json.dumps(result)}\n"


class Failures(unittest.TestCase):
    def test_task_host_and_reason_are_named(self):
        text = failed("proxy : It runs", "proxy1", {"changed": False, "msg": "non-zero return code", "rc": 1, "stderr": "no such \"file\"\n"})
        self.assertEqual(machine.failures(text), ["  proxy : It runs: proxy1: no such \"file\""])

    def test_the_error_that_a_long_traceback_ends_with_is_kept(self):
        traceback = "Traceback (most recent call last):\n" + "  File \"<stdin>\", line 1, in <module>\n" * 40 + "OSError: [Errno 5] Input/output error\n"
        found, = machine.failures(failed("alarms : Packages", "pbx1", {"module_stderr": traceback, "msg": "MODULE FAILURE"}))
        self.assertTrue(found.startswith("  alarms : Packages: pbx1: ..."), found)
        self.assertTrue(found.endswith("OSError: [Errno 5] Input/output error"), found)

    def test_an_error_of_ansible_itself_is_said_as_it_is(self):
        text = "TASK [base : Time] ****\nERROR! 'nothing' is not a valid attribute\n"
        self.assertEqual(machine.failures(text), ["  base : Time: ERROR! 'nothing' is not a valid attribute"])

    def test_each_item_of_a_loop_has_its_host(self):
        text = 'TASK [data : Files] ****\nfailed: [db2] (item=one) => {"item": "one", "msg": "Destination is a directory"}\n'
        self.assertEqual(machine.failures(text), ["  data : Files: db2: Destination is a directory"])


if __name__ == "__main__":
    unittest.main()
