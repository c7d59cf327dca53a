"""Fetches wgpu-native, the library that WebGPU devices run on, out of the wheel wgpu of PyPI: the version and the checksum that are written
here. Usage: get_wgpu.py FOLDER   (nothing is fetched when it is there already; prints the path of the library)"""

import hashlib
import io
import os
import re
import sys
import urllib.parse
import urllib.request
import zipfile

VERSION = "0.32.0"
# By the machine: the wheel's name and its sha256.
WHEELS = {
    "x86_64": ("wgpu-%s-py3-none-manylinux_2_28_x86_64.whl" % VERSION,
               "6499a31b5a29a10b4f1089fea4a0806411f42605fa86b6c0b543a07ca0de8568"),
}
MEMBER = "wgpu/resources/libwgpu_native-release.so"
INDEX = os.environ.get("PIP_INDEX_URL", "").rstrip("/")


def open_address(address):
    return urllib.request.urlopen(address, timeout=60)


def address_of(name):
    page = INDEX + "/wgpu/"
    with open_address(page) as answer:
        text = answer.read().decode()
    for link in re.findall(r'href="([^"#]+)', text):
        if urllib.parse.unquote(link).split("/")[-1] == name:
            return urllib.parse.urljoin(page, link)
    sys.exit("%s has no %s" % (page, name))


def main():
    machine = os.uname().machine
    if machine not in WHEELS:
        sys.exit("no wheel of wgpu is known for %s" % machine)
    name, digest = WHEELS[machine]
    path = os.path.join(sys.argv[1], "libwgpu_native-%s.so" % VERSION)
    if not os.path.exists(path):
        with open_address(address_of(name)) as answer:
            data = answer.read()
        found = hashlib.sha256(data).hexdigest()
        if found != digest:
            sys.exit("%s is not what it was: its sha256 is %s" % (name, found))
        os.makedirs(sys.argv[1], exist_ok=True)
        with zipfile.ZipFile(io.BytesIO(data)) as wheel, open(path + ".part", "wb") as out:
            out.write(wheel.read(MEMBER))
        os.replace(path + ".part", path)
    print(os.path.abspath(path))


if __name__ == "__main__":
    main()
