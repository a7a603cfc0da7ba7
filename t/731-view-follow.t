#!/bin/sh
# 731-view-follow.t - pins heddle view --follow: what a series leaves for others
# while it runs, and a simulation with --live, which changes none of its results, and
# what the pages say of them: before it begins, while jobs run,
# wait, have ended or failed, after it, and of one that was killed; that it listens
# on 127.0.0.1 alone, answers GET alone, and goes on after requests that are wrong,
# too long, damaged, never end, or come in crowds; that it tells the state while it
# makes a page of results; Ctrl-C, bad ports, bad stores.
#
# SPDX-License-Identifier: MIT
. t/lib/expect.sh
. t/lib/browser.sh
pids=
trap 'for p in $pids; do kill -9 "$p" 2>/dev/null; done; rm -rf "$dir"' EXIT

# until_ COMMAND...: waits until it succeeds, 30 seconds at most.
until_() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || return 1
        sleep 0.1
    done
}

# say REQUEST: sends bytes (as printf writes them), prints what comes back.
say() {
    perl -MIO::Socket::INET -e '
        my ($port, $text, $open) = @ARGV;
        $text =~ s/\\r/\r/g; $text =~ s/\\n/\n/g; $text =~ s/\\0/\0/g;
        my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1",
            PeerPort => $port, Timeout => 20) or exit 1;
        $s->autoflush(1); print $s $text; shutdown($s, 1) unless $open;
        local $/; my $got = <$s>; print defined $got ? $got : ""' \
        "$port" "$@" >"$dir/out" 2>"$dir/err"
}
get() {
    say "GET $1 HTTP/1.0\r\n\r\n"
    sed '1,/^\r$/d' "$dir/out" >"$dir/body"
}
answers() { # answers STATUS NAME
    head -1 "$dir/out" | grep -q "^HTTP/1.0 $1 "
    told $? "$2 ($1)" "$dir/out" "$dir/err"
}
cat >"$dir/state.lua" <<'L'
local json = require "heddle.json"
local arg = require("heddle").args { body = "", code = "" }
local f <close> = assert(io.open(arg.body))
local d = json.decode(f:read "a")
print(assert(load("local d, s = ... return " .. arg.code))(d, d.series[1] or {}))
L
state() { # state CODE: what an expression of the state gives
    get /state
    "$H" run "$dir/state.lua" body="$dir/body" code="$1" 2>&1
}
is() { # is CODE WANT NAME
    state "$1" >"$dir/value"
    [ "$(cat "$dir/value")" = "$2" ]
    told $? "$3" "$dir/value" "$dir/body"
}
stands() { [ "$(state "$1")" = "$2" ]; }

# ---- before --------------------------------------------------------------------------
store="$dir/a <store>"
mkdir "$store"
"$H" view --follow "$store" >"$dir/served" 2>"$dir/complained" &
server=$!
pids="$pids $server"
until_ grep -q "^http" "$dir/served"
port=$(sed -n 's|^http://127.0.0.1:\([0-9]*\)/ shows the series and simulations in .*|\1|p' \
    "$dir/served")
[ "${port:-0}" -gt 0 ]
told $? "a free port is chosen and printed" "$dir/served" "$dir/complained"
hex=$(printf '%04X' "$port")
[ "$(awk -v p=":$hex" '$4 == "0A" && index($2, p) { print $2 }' \
    /proc/net/tcp /proc/net/tcp6)" = "0100007F:$hex" ]
told $? "it listens on 127.0.0.1 and nowhere else"
get /
answers 200 "the page"
has out "text/html" "is HTML"
has body "What runs in $dir/a &lt;store&gt;" "with the store as text"
is '#d.series .. d.kept' 00 "no series, no results"
get /view
answers 404 "no results to explore yet"

# ---- what is wrong -----------------------------------------------------------------------
get /../../etc/passwd
answers 404 "another path"
get '/state?x=1'
answers 200 "a question behind a path is nothing"
say 'GET / HTTP/1.1\r\nHost: 127.0.0.1:99\r\n\r\n'
answers 200 "HTTP/1.1"
say 'GET / HTTP/1.1\r\nhost:localhost\r\n\r\n'
answers 200 "localhost"
say 'GET / HTTP/1.0\n\n'
answers 200 "lines without returns"
say 'GET / HTTP/1.1\r\nHost: example.org\r\n\r\n'
answers 403 "another host's name"
hasnot out "<html" "shows nothing"
one='Host: localhost\r\n'
shown() { printf %s "$1" | tr -d '\\'; }
for bad in '' "$one$one" "${one}host: example.org\r\n" 'Host : localhost\r\n' \
    'Host: local host\r\n' 'Host: localhost:80a\r\n' 'Host: localhost/\r\n' \
    'Host: local%2host\r\n' 'Host: [::1\r\n' 'Host: a@localhost\r\n' \
    'X: y\r\n Host: localhost\r\n' 'Host: localhost\r\n x\r\n' \
    'Hosts: localhost\r\n' '\r\nHost: localhost\r\n'; do
    say "GET / HTTP/1.1\r\n$bad\r\n"
    answers 400 "HTTP/1.1 without one well-formed Host: $(shown "$bad")"
done
say 'GET / HTTP/1.1\r\n\r\n'
has out 'a Host header is expected, there is none' "is told what is missing"
for bad in "$one$one" 'Host: local host\r\n'; do
    say "GET / HTTP/1.0\r\n$bad\r\n"
    answers 400 "nor HTTP/1.0 with such: $(shown "$bad")"
done
for good in "Host: $(printf '\t') localhost $(printf '\t')\r\n" 'HOST: LOCALHOST:\r\n' \
    'X: y\r\nHost: 127.0.0.1:080\r\nHosts: x\r\n'; do
    say "GET / HTTP/1.1\r\n$good\r\n"
    answers 200 "well-formed: $(shown "$good")"
done
for other in 'Host:\r\n' 'Host: [::1]:80\r\n' 'Host: local%68ost\r\n' \
    'Host: localhost.example.org\r\n'; do
    say "GET / HTTP/1.1\r\n$other\r\n"
    answers 403 "well-formed, but not here: $(shown "$other")"
done
say 'POST / HTTP/1.0\r\nContent-Length: 0\r\n\r\n'
answers 405 "POST"
has out "Allow: GET" "is told what is allowed"
say 'HEAD / HTTP/1.0\r\n\r\n'
answers 405 "HEAD"
for bad in 'rubbish\r\n\r\n' '\r\n\r\n' 'GET /\r\n\r\n' 'GET x HTTP/1.0\r\n\r\n' \
    ' \n\n' 'GET / FTP/1.0\r\n\r\n' 'GET \0/ HTTP/1.0\r\n\r\n' \
    'GET / HTTP/1.\r\n\r\n' 'GET / HTTP/1.0 x\r\n\r\n'; do
    say "$bad"
    answers 400 "not HTTP"
done
perl -MIO::Socket::INET -e 'srand 7;
    for (1 .. 300) {
        my $text = "GET /state HTTP/1.0\r\nHost: localhost\r\n\r\n";
        substr($text, rand length $text, rand 4) = join "", map chr rand 256,
            1 .. rand 4 for 1 .. 1 + rand 3;
        my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1",
            PeerPort => $ARGV[0]) or exit 1;
        print $s $text; shutdown($s, 1); local $/; <$s>;
    }' "$port"
told $? "300 requests damaged at random are taken"
say "GET /$(printf '%09000d' 0) HTTP/1.0\r\n\r\n"
answers 431 "a request of more than 8 KB"
perl -MIO::Socket::INET -e 'my @all;
    for (1 .. 31) {
        push @all, IO::Socket::INET->new(PeerAddr => "127.0.0.1",
            PeerPort => $ARGV[0]);
        print { $all[-1] } "GET / HT"; $all[-1]->flush;
    }
    open my $f, ">", $ARGV[1]; close $f; sleep 60' "$port" "$dir/crowd" &
crowd=$!
pids="$pids $crowd"
until_ test -e "$dir/crowd"
get /
answers 200 "one is served beside 31 who never end"
kill -9 "$crowd"
wait "$crowd" 2>/dev/null
pids=$server
get /state
answers 200 "and when they have gone"
[ ! -s "$dir/complained" ]
told $? "it never complains" "$dir/complained"

# ---- a series ------------------------------------------------------------------------------
cat >"$dir/series.lua" <<L
local H = require "heddle"
local jobs = {}
for i = 1, 3 do
    jobs[i] = { machine = "maxwell", settings = { ["core.count"] = i },
        label = "<b>cores " .. i, budget = 100,
        apps = { H.app("GUP", { size = "T" }) } }
end
jobs[2].settings["l2tlb.entrees"] = 1
table.insert(jobs, 3, function()
    while not io.open "$dir/go" do
        io.popen("sleep 0.05"):close()
    end
end)
require("heddle.store").run(jobs, { jobs = 1, dir = "$store",
    keep = true })
L
"$H" run "$dir/series.lua" >"$dir/ran" 2>&1 &
series=$!
pids="$pids $series"
until_ stands 's.counts and s.counts.running == 1 and s.counts.done' 1
is 's.total .. s.counts.done .. s.counts.failed .. s.counts.running
    .. s.counts.waiting .. s.counts.lost' 411110 "a job of each kind"
is 's.runs and s.pid' "$series" "it runs, as that process"
is 's.jobs.done[1].title .. s.jobs.done[1].apps .. s.jobs.done[1].machine' \
    "job 1 (<b>cores 1)GUPmaxwell" "what has ended"
is 's.jobs.done[1].cycles > 0 and s.jobs.done[1].ipc > 0' true "with its numbers"
is 's.jobs.failed[1].why:match "did you mean l2tlb.entries"' \
    "did you mean l2tlb.entries" "what failed, and why"
is 's.jobs.running[1].title' "job 3" "what runs"
is 's.jobs.waiting[1].title' "job 4 (<b>cores 3)" "what waits"
is 'd.kept' 1 "there is a result"
get /view
answers 200 "the page of it"
has body '"label":"\u003cb>cores 1"' "has it"
if find_browser; then
    for width in $narrow 1280; do
        browse "$width" "http://127.0.0.1:$port/"
        has dom "<h2>Series of 4, runs as process $series</h2>" \
            "in a browser of $width pixels: the series"
        has dom "job 1 (&lt;b&gt;cores 1)" "with its jobs, as text"
        has dom "Explore them" "and a way to the results"
    done
else
    skip "the page in a browser"
fi
touch "$dir/go"
wait "$series"
told $? "the series ends" "$dir/ran"
pids=$server
! ls "$store" | grep -q 'series$'
told $? "and leaves no trace of itself"
is 's.gone and s.counts.done + s.counts.failed + s.counts.lost' 4 "it has ended"
is '(function() local n = 0 for _, j in ipairs(s.jobs.done) do
    n = n + (j.apps == "GUP" and 1 or 0) end return n end)()' 2 "with its results"
is 'd.kept' 2 "both kept"

# A page that waits for one of its files.
mkfifo "$store/0.run"
slow=
for k in 1 2 3 4; do
    mkdir "$dir/slow$k"
    (dir=$dir/slow$k && get /view) &
    slow="$slow $!"
done
four() {
    [ "$(grep -sl "^PPid:[[:space:]]*$server\$" /proc/[0-9]*/status |
        wc -l)" = 4 ]
}
until_ four
told $? "pages of results are made side by side"
is 'd.kept' 3 "and the state is told meanwhile"
get /view
answers 503 "one more page is not begun"
: >"$store/0.run"
for k in $slow; do
    wait "$k"
done
cat "$dir"/slow[1-4]/out | grep -c '^HTTP/1.0 200 ' >"$dir/value"
[ "$(cat "$dir/value")" = 4 ]
told $? "each is answered" "$dir/value"
rm "$store/0.run"
get /view
answers 200 "and so is the next"

rm "$dir/go"
"$H" run "$dir/series.lua" >"$dir/ran" 2>&1 &
series=$!
pids="$pids $series"
until_ stands '#d.series == 2 and d.series[2].counts.running
    + d.series[1].counts.running' 1
kill -9 "$series"
wait "$series" 2>/dev/null
pids=$server
is '(function() for _, x in ipairs(d.series) do if not x.gone then
    return tostring(x.runs) .. x.found .. x.counts.lost end end end)()' false21 \
    "one that was killed does not run, nor does its job"
touch "$dir/go"
"$H" run "$dir/series.lua" >"$dir/ran" 2>&1
told $? "the next one runs" "$dir/ran"
! ls "$store" | grep -q 'series$'
told $? "and clears up behind it"

# ---- a simulation ----------------------------------------------------------------------
is '#d.sims' 0 "no simulation says where it is"
cat >"$dir/one.lua" <<'L'
local H = require "heddle"
local arg = H.args { json = "", budget = 20000, size = "T" }
local sim = H.sim { machine = "maxwell", budget = arg.budget, label = "<i>one",
    settings = { ["core.count"] = 4 }, interval = 1000,
    apps = { H.app("GUP", { size = arg.size }), H.app("BFS2", { size = arg.size }) } }
sim:run()
H.report.json(sim:results(), arg.json)
L
expect 0 "a simulation" "$H" run "$dir/one.lua" json="$dir/plain.json"
expect 0 "one that says where it is" "$H" run --live "$store" "$dir/one.lua" \
    json="$dir/live.json"
same plain.json live.json "has the results of another"
! ls "$store" | grep -q 'now$'
told $? "and leaves no trace of itself"
"$H" run --live "$store" "$dir/one.lua" json="$dir/live.json" \
    budget=400000000 size=L >"$dir/ran" 2>&1 &
sim=$!
pids="$pids $sim"
until_ stands 'd.sims[1] and #d.sims[1].points > 1' true
told $? "its state is there after some seconds" "$dir/ran" "$dir/body"
is 'd.sims[1].runs and d.sims[1].pid' "$sim" "it runs, as that process"
is '(function() local r = d.sims[1] return r.cycle > 0 and r.ipc > 0
    and r.mean_ipc > 0 and r.status == "running" and r.machine == "maxwell"
    and #r.apps == 2 and r.apps[1].name == "GUP" and r.apps[2].instructions > 0
    end)()' true "with its cycle, IPC and applications"
is '(function() local sum = 0 for _, x in ipairs(d.sims[1].stages) do
    sum = sum + x.share end return math.abs(sum - 1) < 1e-6 end)()' true \
    "what warps wait for is all of their time"
is '(function() local n = 0 for _, q in ipairs(d.sims[1].queues) do
    n = n + (q.most >= q.now and 1 or 100) end return n end)()' 4 "and its queues"
state 'd.sims[1].cycle' >"$dir/before"
later() { [ "$(state 'd.sims[1].cycle')" -gt "$(cat "$dir/before")" ]; }
until_ later
told $? "it goes on" "$dir/body"
if find_browser; then
    for width in $narrow 1280; do
        browse "$width" "http://127.0.0.1:$port/"
        has dom "&lt;i&gt;one on maxwell, runs as process $sim" \
            "in a browser of $width pixels: the simulation"
        has dom "What warps wait for, now" "its stages"
        has dom "walkers in use" "its queues"
        has dom "warp instructions a cycle" "and its IPC, with the axis' title"
    done
else
    skip "the page in a browser"
fi
kill -9 "$sim"
wait "$sim" 2>/dev/null
pids=$server
is 'd.sims[1].runs' false "one that was killed does not run"
expect 0 "the next one" "$H" run --live "$store" "$dir/one.lua" json="$dir/live.json"
! ls "$store" | grep -q 'now$'
told $? "clears up behind it"
is 'd.sims[1].gone' true "what was seen of it stays on the page"
expect 64 "--live without a folder" "$H" run --live= "$dir/one.lua"
has err "--live: a folder is expected" "is told"
expect 73 "a folder that cannot be made" "$H" run --live "$dir/one.lua/x" \
    "$dir/one.lua"

# ---- the end ---------------------------------------------------------------------------
kill -INT "$server"
wait "$server"
[ $? = 130 ]
told $? "Ctrl-C ends it" "$dir/complained"
pids=
[ "$(cat "$dir/complained")" = "heddle: interrupted" ]
told $? "in a word" "$dir/complained"
"$H" view --follow "$store" port="$port" >"$dir/served" 2>&1 &
server=$!
pids=$server
until_ grep -q "^http://127.0.0.1:$port/" "$dir/served"
told $? "a port can be given" "$dir/served"
expect 74 "a port that is taken" timeout 60 "$H" view --follow "$store" port="$port"
has err "127.0.0.1:$port: Address already in use" "is told"
expect 66 "a store that is not there" "$H" view --follow "$dir/nowhere"
has err "nowhere: there is no such folder; a store is expected" "is told"
expect 65 "a file" "$H" view --follow "$dir/series.lua"
has err "series.lua: a store is expected, a folder" "is no store"
expect 64 "a bad port" "$H" view --follow "$store" port=65536
has err "port: a number of 0 to 65535 is expected" "is told"
expect 64 "two stores" "$H" view --follow "$store" "$store"
expect 64 "something to write" "$H" view --follow "$store" -o x.html
expect 64 "a port without --follow" "$H" view "$store" port=80
plan
