#!/usr/bin/env bash
# Writes index.rs: every fixture of this directory, so that the test binary carries them.
set -euo pipefail
cd "$(dirname "$0")"
{
  printf '//! Every fixture, written by `tests/checklist/index.sh`.\n\n/// Path and text.\n'
  printf 'pub(crate) const FILES: &[(&str, &str)] = &[\n'
  find . -mindepth 2 -type f | sed 's|^\./||' | LC_ALL=C sort |
    while read -r path; do printf '    ("%s", include_str!("%s")),\n' "$path" "$path"; done
  printf '];\n'
} >index.rs
