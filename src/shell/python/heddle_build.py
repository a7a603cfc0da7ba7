"""heddle_build.py - makes a wheel of the package, for pip (PEP 517).

The files of heddle/ and three lines about each in RECORD: no compiler, no other
package, and so no network.

SPDX-License-Identifier: MIT
"""
import base64
import hashlib
import os
import re
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def _fields():
    with open(os.path.join(HERE, "pyproject.toml"), encoding="utf-8") as f:
        return dict(re.findall(r'^([a-z-]+) = "(.*)"$', f.read(), re.M))


def _metadata(fields):
    return ("Metadata-Version: 2.1\nName: heddle\nVersion: {version}\n"
            "Summary: {description}\nLicense: MIT\n"
            "Requires-Python: {requires-python}\n").format(**fields)


def _wheel(directory, files):
    """Writes files, { path in site-packages: bytes }; returns the wheel's name."""
    fields = _fields()
    info = "heddle-%s.dist-info" % fields["version"]
    files = dict(files)
    files[info + "/METADATA"] = _metadata(fields).encode()
    files[info + "/WHEEL"] = (b"Wheel-Version: 1.0\nGenerator: heddle\n"
                              b"Root-Is-Purelib: true\nTag: py3-none-any\n")
    record = ""
    for path, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        record += "%s,sha256=%s,%d\n" % (path, digest.decode().rstrip("="),
                                         len(data))
    files[info + "/RECORD"] = (record + info + "/RECORD,,\n").encode()
    name = "heddle-%s-py3-none-any.whl" % fields["version"]
    with zipfile.ZipFile(os.path.join(directory, name), "w",
                         zipfile.ZIP_DEFLATED) as z:
        for path, data in sorted(files.items()):
            z.writestr(zipfile.ZipInfo(path, (2025, 1, 1, 0, 0, 0)), data,
                       zipfile.ZIP_DEFLATED)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {}
    folder = os.path.join(HERE, "heddle")
    for name in os.listdir(folder):
        if name.endswith(".py"):
            with open(os.path.join(folder, name), "rb") as f:
                files["heddle/" + name] = f.read()
    return _wheel(wheel_directory, files)


def build_editable(wheel_directory, config_settings=None,
                   metadata_directory=None):
    return _wheel(wheel_directory, {"heddle.pth": (HERE + "\n").encode()})


def build_sdist(sdist_directory, config_settings=None):
    raise RuntimeError("heddle's Python package is part of heddle's tarball "
                       "(make dist)")
