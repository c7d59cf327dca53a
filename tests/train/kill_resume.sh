#!/bin/sh
# kill -9 at many random moments of a checkpointing run; see tests/unit/test_train_kill.c.
# Usage: tests/train/kill_resume.sh [BUILD_FOLDER] [kills] [seed]
set -eu
cd "$(dirname "$0")/../.."
program=$(grep '/test_train_kill$' "${1:-build/release}/tests.txt")
exec "$program" "${2:-200}" "${3:-1}"
