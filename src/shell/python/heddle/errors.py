"""errors.py - what this package raises.

SPDX-License-Identifier: MIT
"""


class Error(Exception):
    """What went wrong, in heddle's words where they are heddle's.

    message   the text, without the "heddle: " of the command
    status    the exit status that the command has for it (sysexits; heddle(1)),
              or its negative signal where a signal ended it
    code      a negative HEDDLE_E code, of the library; else None
    name      its name, "HEDDLE_ECONFIG"; else None
    output    what a scenario printed before it failed; else ""
    """

    def __init__(self, message, status=1, code=None, name=None, output=""):
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.name = name
        self.output = output
