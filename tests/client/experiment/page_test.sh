#!/bin/sh
# Looks at reports as a browser and an XML parser do: page_test.sh PAGE_TEST RENDER_REPORT RUN HOSTILE_RUN
set -eu
exec /usr/bin/python3 "$@"
