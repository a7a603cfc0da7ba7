-- luacheck: the language of every script in this tree.
std = "lua54"
max_line_length = 100
exclude_files = { "build/", "out/" }
-- Methods that do not need their object are still methods.
self = false
-- What policy code has beside Lua's own (heddle_policy(7)).
files["policies"] = { read_globals = { "steer", "renew", "counter", "recent",
    "now", "every", "fill", "translate",
    "setting", "tally" } }
files["t/5[57]*"] = { read_globals = { "steer", "renew", "counter", "recent",
    "now", "fill", "translate", "setting", "tally" } }
files["t/828-beside.lua"] = { read_globals = { "now" } }
files["t/568-ccws.lua"] = { read_globals = { "renew" } }
files["scenarios/mask/skip-walks.lua"] = { read_globals = { "steer" } }
files["scenarios/mask/bypass-first.lua"] = { read_globals = { "counter" } }
files["t/750-counters-touched.lua"] = { read_globals = { "fill", "translate" } }
files["t/lib/dice.lua"] = { read_globals = { "fill", "translate" } }
