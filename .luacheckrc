-- luacheck: the language of every script in this tree.
std = "lua54"
max_line_length = 100
exclude_files = { "build/", "out/" }
-- Methods that do not need their object are still methods.
self = false
