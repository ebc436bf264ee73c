#!/bin/sh
# Brings Chromium from the system's packages where that is allowed; without it the browser tests say that they are skipped.
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null && exit 0
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium) >/dev/null 2>&1 && exit 0
fi
echo "Chromium is not installed: browser tests will be skipped. Install it with your system's package manager."
