# SPDX-License-Identifier: Apache-2.0
# Completion of mirrormap for fish. The program itself says what can follow.

function __mirrormap_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    for line in ($words[1] help --complete $words[2..] "$last" 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path "$last"
            case :folders
                __fish_complete_directories "$last"
            case '*'
                echo $line
        end
    end
end
complete -c mirrormap -f -a '(__mirrormap_complete)'
