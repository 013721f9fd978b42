#!/usr/bin/python3
"""Provides the trace parser of Chrome's DevTools, which tests read sbumpctl's Chrome traces with.

  tests/lib/trace_engine.py DIR

Fetches three packages from the npm registry ($npm_config_registry, or npm's own; no .npmrc is read) into
DIR/node_modules, unless they are there. Without npm: Debian's comes with three hundred packages. Exit status 1, and why
on standard error, where they cannot be had.
"""
import base64
import hashlib
import http.client
import io
import os
import pathlib
import sys
import tarfile
import tempfile
import urllib.request

REGISTRY = os.environ.get("npm_config_registry") or os.environ.get("NPM_CONFIG_REGISTRY") or "https://registry.npmjs.org"
# What `npm view NAME@VERSION dist.integrity` says.
PACKAGES = [
    ("@paulirish/trace_engine", "0.0.65",
     "Qsm6F5C8xf6ZzQXbQc2+wcpe6sggfs/gvc/ytqSurdvYg3kyW0ECHCqE0CWBKZpqgjVfPNX9c7SCS3r2nEIRGg=="),
    ("legacy-javascript", "0.0.1",
     "lPyntS4/aS7jpuvOlitZDFifBCb4W8L/3QU0PLbUTUj+zYah8rfVjYic88yG7ZKTxhS5h9iz7duT8oUXKszLhg=="),
    ("third-party-web", "0.30.0",
     "p+PfyL5U0ediGzvwPzMSdD9MnC8rHW6nWJJVLIQvqN7RsSqfaZ+7n4c9GILqH36EYR0eXB9CzAeCRnKFr/9uJg=="),
]


def fetch(name, version, integrity):
    url = "%s/%s/-/%s-%s.tgz" % (REGISTRY.rstrip("/"), name, name.rpartition("/")[2], version)
    with urllib.request.urlopen(url, timeout=60) as answer:
        package = answer.read()
    if base64.b64encode(hashlib.sha512(package).digest()).decode() != integrity:
        raise ValueError("%s: is not what it was (sha512)" % url)
    return package


def unpack(package, directory):
    """Packages have everything in one folder, whatever its name."""
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        for member in archive:
            inside = pathlib.PurePosixPath(member.name).parts[1:]
            if not member.isfile():
                continue
            if ".." in inside:
                raise ValueError("%s leads out of its package" % member.name)
            path = directory.joinpath(*inside)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.extractfile(member).read())


def provide(directory):
    """Each set of versions has a folder of its own, to which `directory` is a link: nobody's is taken away."""
    versions = "-".join(version for _, version, _ in PACKAGES)
    complete = directory.with_name("%s-%s" % (directory.name, versions))
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=directory.name + ".") as scratch:
        if not complete.exists():
            new = pathlib.Path(scratch, "new")
            for package in PACKAGES:
                unpack(fetch(*package), new / "node_modules" / package[0])
            try:
                new.rename(complete)
            except OSError:
                if not complete.exists():  # else another run was faster
                    raise
        link = pathlib.Path(scratch, "link")
        link.symlink_to(complete.name)
        link.replace(directory)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        provide(pathlib.Path(sys.argv[1]))
    except (OSError, ValueError, http.client.HTTPException, tarfile.TarError) as error:
        sys.exit("Chrome's trace engine: %s" % error)


if __name__ == "__main__":
    main()
