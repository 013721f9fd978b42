"""A page as a browser without a screen has it."""
import os
import shutil
import subprocess

BROWSERS = ("chromium-headless-shell", "chromium", "chrome-headless-shell")


def opened(page, scratch, size, *options):
    """What it prints; `scratch` is its home."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise AssertionError("no browser: deploy/packages.sh tests installs chromium-headless-shell")
    command = [found, "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=%s" % (scratch / "user"),
               "--window-size=%d,%d" % size, *options, page.as_uri()]
    environment = {**os.environ, "HOME": str(scratch)}
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, env=environment).stdout
