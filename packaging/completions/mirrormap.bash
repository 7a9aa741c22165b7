# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion of mirrormap for bash. The program itself says what can follow.

_mirrormap() {
  local cur line words
  read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
  [[ ${COMP_LINE:0:COMP_POINT} == *[[:blank:]] ]] && words+=('')
  cur=${words[-1]}
  # readline replaces only what stands behind the last of these
  local stays=
  [[ $cur == *[=:]* ]] && stays=${cur%"${cur##*[=:]}"}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) compopt -o default ;;
      :folders) compopt -o dirnames ;;
      *)
        line=${line%%$'\t'*}
        COMPREPLY+=("${line#"$stays"}")
        ;;
    esac
  done < <("${words[0]/#\~/$HOME}" help --complete "${words[@]:1}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=:] ]] && compopt -o nospace
}
complete -F _mirrormap mirrormap
