# heddle.bash - completion of heddle(1) for bash.  Names come from the command.
#
# SPDX-License-Identifier: MIT

_heddle_names() { # _heddle_names KIND...: the first words of heddle list
    local kind
    for kind; do
        heddle list "$kind" 2>/dev/null | while read -r name _; do
            echo "$name"
        done
    done
}

_heddle_words() { # what may stand after the words so far
    local kinds='points notes tables facts policies apps suites machines interconnects counters histograms metrics settings'
    case $1:$2 in
    :) echo run list explain apps diff compare view trace part repl help --help --version ;;
    run:) echo --check --follow --checkpoint --timeline --results --live ;;
    repl:) echo --check ;;
    help:) echo run list explain apps diff compare view trace part repl ;;
    list:) echo "$kinds kinds" ;;
    explain:*) # shellcheck disable=SC2086
        _heddle_names $kinds ;;
    apps:*)
        _heddle_names apps
        echo size= machine= suite= jobs= budget= cycles= from= limit= sample= timed= \
            survey= kernels= format= json= pictures= seed= ;;
    diff:*)
        _heddle_names policies
        echo apps= size= machine= trace= cycles= chunk= points= seed= \
            format= ;;
    compare:*) echo rows= format= ;;
    view:*) echo -o --follow filter= size= title= port= ;;
    trace:) echo convert record dump info check ;;
    trace:record) _heddle_names apps ;;
    part:) echo dram tlb cache ;;
    part:dram)
        echo window= per_request= check=
        _heddle_names settings | sed -n 's/^dram\.\(.*\)/\1=/p' ;;
    part:tlb) echo entries= ways= policy= seed= ;;
    part:cache) echo bytes= ways= line= write= policy= seed= ;;
    esac
}

_heddle() {
    local cur=${COMP_WORDS[COMP_CWORD]} one='' two='' words
    [ "$COMP_CWORD" -gt 1 ] && one=${COMP_WORDS[1]}
    [ "$COMP_CWORD" -gt 2 ] && two=${COMP_WORDS[2]}
    words=$(_heddle_words "$one" "$two")
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    case $one:$two in
    run:* | repl:* | diff:*)
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY \
            < <(compgen -f -X '!*.lua' -- "$cur"; compgen -d -- "$cur") ;;
    apps:* | compare:* | view:* | trace:?* | part:?*)
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY \
            < <(compgen -f -- "$cur") ;;
    esac
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
    return 0
}

complete -o filenames -F _heddle heddle
