#!/bin/sh
# Writes the golden cases anew: captures and configurations from the stories, expectations from the engine.
# A story whose records are not as they were worked out by hand is not written. Look at `git diff` before committing.
set -eu
cd "$(dirname "$0")/.."
RINGTAP_BLESS=1 exec cargo test -p ringtap-cases --test golden "$@"
