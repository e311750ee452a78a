#!/usr/bin/env bash
# The main job: compare groupings on a skewed stream, then count the words of real text.
# Usage: demo.sh [DIRECTORY FOR THE OUTPUT]
set -euo pipefail
output=${1:-build/demo}
library=$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')

run() {
  printf '\n$ %s\n' "$*"
  "$@"
}

rm -rf "$output"
mkdir -p "$output"

run evenkey compare --dataset country-skew-r80 --groupings sg,kg,pkg,dkg --workers 10 \
  --messages 50000 --cost-ms 1 --epochs 4 --output "$output/compare"

run evenkey run --input "$library/*.py" --split words --grouping dkg --workers 10 --epochs 4 \
  --output "$output/wordcount"

printf '\nThe comparison lies in %s, the word counts in %s\n' "$output/compare" "$output/wordcount"
