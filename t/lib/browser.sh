# browser.sh - a page in a real browser, for tests in the shell (after expect.sh).
#
#     find_browser || { skip 3 "no browser"; ... }
#     browse $narrow file://$dir/page.html#runs=0   DOM in $dir/dom
#     probe page.html page2.html < script.js        the page, and a script after it
#
# chromium-headless-shell of Debian, or another Chromium, whose windows are never
# narrower than 500 pixels.  What goes wrong in the page's scripts is in data-error
# of <html>, in pages that probe has made.
#
# SPDX-License-Identifier: MIT
find_browser() {
    narrow=390 # as a phone's
    for browser in chromium-headless-shell chromium google-chrome; do
        command -v "$browser" >/dev/null 2>&1 && return 0
        narrow=500
    done
    return 1
}

# skip NAME: a check that there is nothing to do for.
skip() {
    n=$((n + 1))
    echo "ok $n - $1 # SKIP no chromium-headless-shell"
}

# browse WIDTH URL [OPTION...]
browse() {
    width=$1 url=$2
    shift 2
    HOME=$dir timeout 60 "$browser" --headless --no-sandbox --disable-gpu \
        --hide-scrollbars --window-size="$width",900 --user-data-dir="$dir/profile" \
        --virtual-time-budget=5000 "$@" --dump-dom "$url" \
        >"$dir/dom" 2>"$dir/browser"
}

# probe IN OUT: with the script on standard input run after the page's own.
probe() {
    {
        sed 's|<head>|<head><script>addEventListener("error", e => {\
            document.documentElement.dataset.error = e.message;});</script>|
            /^<\/body>$/,$d' "$1"
        echo '<script>'
        cat
        echo '</script></body></html>'
    } >"$2"
}
