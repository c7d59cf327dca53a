"""Packages that tests need, by name and version, from the clients pip and npm as the machine has them set up. Each is compared with its checksum."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile


def _run(command):
    if not shutil.which(command[0]):
        sys.exit("%s is not installed: run scripts/setup.sh" % command[0])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit("%s failed: %s" % (" ".join(command[:4]), done.stdout.strip()[-400:]))


def _fetch(command, package, digest, path):
    """Runs a client that puts one file into the folder that is its last argument."""
    with tempfile.TemporaryDirectory() as folder:
        _run(command + [folder])
        files = os.listdir(folder)
        if len(files) != 1:
            sys.exit("%s came as %d files" % (package, len(files)))
        fetched = os.path.join(folder, files[0])
        with open(fetched, "rb") as file:
            found = hashlib.sha256(file.read()).hexdigest()
        if found != digest:
            sys.exit("%s is not what it was: its sha256 is %s" % (package, found))
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        shutil.move(fetched, path)


def wheel(package, digest, path, platform="manylinux_2_28_x86_64", python="3.11"):
    """A wheel of PyPI, 'name==version', as a file; nothing is fetched when it is there."""
    if not os.path.exists(path):
        pip = [sys.executable, "-m", "pip"] if _has_pip() else [shutil.which("pip3") or "pip"]
        _fetch(pip + ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--platform",
                      platform, "--python-version", python, package, "-d"], package, digest, path)
    return path


def _has_pip():
    return not subprocess.run([sys.executable, "-m", "pip", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False).returncode


def npm_package(package, digest, path):
    """A package of npm, 'name@version', as its archive; nothing is fetched when it is there."""
    if not os.path.exists(path):
        _fetch(["npm", "pack", "--silent", package, "--pack-destination"], package, digest, path)
    return path
