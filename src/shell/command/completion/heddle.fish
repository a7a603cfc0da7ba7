# heddle.fish - completion of heddle(1) for fish.  Names come from the command.
#
# SPDX-License-Identifier: MIT

set -l commands run list explain apps diff compare view trace part repl help
set -l kinds points notes tables facts policies apps suites machines interconnects counters histograms metrics settings

function __heddle_names
    for kind in $argv
        heddle list $kind 2>/dev/null | string replace -r ' .*' ''
    end
end

function __heddle_is
    set -l words (commandline -opc)
    test (count $words) -gt (count $argv); or return 1
    for i in (seq (count $argv))
        test $words[(math $i + 1)] = $argv[$i]; or return 1
    end
end

complete -c heddle -f
complete -c heddle -n "not __fish_seen_subcommand_from $commands" -a "$commands"
complete -c heddle -n __fish_is_first_arg -l help -l version
complete -c heddle -n '__heddle_is run; or __heddle_is repl' -l check -F
complete -c heddle -n '__heddle_is run' -l follow -x
complete -c heddle -n '__heddle_is run' -l checkpoint -rF
complete -c heddle -n '__heddle_is run' -l live -rF
complete -c heddle -n '__heddle_is run' -l timeline -rF
complete -c heddle -n '__heddle_is run' -l results -rF
complete -c heddle -n '__heddle_is help' -a "$commands"
complete -c heddle -n '__heddle_is list' -a "$kinds kinds"
complete -c heddle -n '__heddle_is explain' -a "(__heddle_names $kinds)"
complete -c heddle -n '__heddle_is apps' -F -a '(__heddle_names apps)
    size= machine= suite= jobs= budget= cycles= from= limit= sample= timed= survey= kernels=
    format= json= pictures= seed='
complete -c heddle -n '__heddle_is diff' -F -a '(__heddle_names policies)
    apps= size= machine= trace= cycles= chunk= points= seed= format='
complete -c heddle -n '__heddle_is compare' -F -a 'rows= format='
complete -c heddle -n '__heddle_is view' -F -a 'filter= size= title= port='
complete -c heddle -n '__heddle_is view' -s o -rF
complete -c heddle -n '__heddle_is view' -l follow
complete -c heddle -n '__heddle_is trace' -F -a 'convert record dump info check'
complete -c heddle -n '__heddle_is trace record' -a '(__heddle_names apps)'
complete -c heddle -n '__heddle_is part' -F -a 'dram tlb cache'
