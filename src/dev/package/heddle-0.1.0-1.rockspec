-- The rock: the module for Lua 5.4 and the command.  From the root of the
-- source, `luarocks --lua-version=5.4 make src/dev/package/heddle-0.1.0-1.rockspec`
-- builds and installs it; `luarocks install` of this file wants the tarball of
-- `make dist` beside it.
--
-- SPDX-License-Identifier: MIT
rockspec_format = "3.0"
package = "heddle"
version = "0.1.0-1"
source = {
    url = "file://heddle-0.1.0.tar.gz",
    dir = "heddle-0.1.0",
}
description = {
    summary = "Simulator of the virtual memory of a GPU",
    detailed = [[
heddle simulates how a GPU translates addresses: cores and their warps, TLBs,
page walkers, page tables, far faults, caches and DRAM, under kernel programs,
traces of real programs, or several applications that share the machine.
Policies in Lua or C decide; scenarios in Lua say what is run and compared.]],
    license = "MIT",
    labels = { "simulation", "gpu" },
}
supported_platforms = { "linux" }
dependencies = { "lua >= 5.4, < 5.5" }
external_dependencies = {
    LZMA = { header = "lzma.h" },
    SQLITE = { header = "sqlite3.h" },
    XXHASH = { header = "xxhash.h" },
    ZSTD = { header = "zstd.h" },
}
build = {
    type = "make",
    install_target = "install-command",
    install_variables = {
        PREFIX = "$(PREFIX)",
        BINDIR = "$(BINDIR)",
        LUACDIR = "$(LIBDIR)",
    },
}
-- The command is a program, no script of Lua.
deploy = { wrap_bin_scripts = false }
