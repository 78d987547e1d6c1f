#include <iostream>
#include <memory>
#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/command.hpp"
#include "cli/command_line.hpp"
#include "cli/shell/completion.hpp"

namespace onceguard::cli::shell {
namespace {

// The scripts ask the program itself, so they know whatever it knows. ":file" and ":directory" in
// its answer stand for names that the shell finds.

constexpr std::string_view bash_script = R"sh(# bash completion of onceguard
_onceguard() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :file) compopt -o default ;;
      :directory) compopt -o dirnames ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("$1" completions -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _onceguard onceguard
)sh";

constexpr std::string_view zsh_script = R"sh(#compdef onceguard
_onceguard() {
  local line word about
  local -a found
  for line in "${(@f)$("${words[1]}" completions -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case "$line" in
      :file) _files ;;
      :directory) _files -/ ;;
      ?*)
        word="${line%%$'\t'*}"
        about="${line#"$word"}"
        found+=("${word//:/\\:}${about:+:${about#?}}")
        ;;
    esac
  done
  (( ${#found} )) && _describe onceguard found
}
if [[ "${funcstack[1]}" == _onceguard ]]; then
  _onceguard "$@"
else
  compdef _onceguard onceguard
fi
)sh";

constexpr std::string_view fish_script = R"sh(# fish completion of onceguard
function __onceguard_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    for line in ($words[1] completions -- $words[2..-1] "$last" 2>/dev/null)
        switch $line
            case :file
                __fish_complete_path $last
            case :directory
                __fish_complete_directories $last
            case '*'
                echo $line
        end
    end
end
complete -c onceguard -f -a '(__onceguard_complete)'
)sh";

int complete(const std::vector<std::string>& words) {
  CLI::App app("", "onceguard");
  command_line line;
  add_commands(command(app, line), {});
  for (const auto& each : completions(app, words)) {
    std::cout << each.word << (each.about.empty() ? "" : "\t") << each.about << "\n";
  }
  return exit_ok;
}

int run(const std::string& shell, const std::vector<std::string>& words) {
  if (!words.empty()) return complete(words);
  if (shell.empty()) return end_with(exit_usage, "completions: name a shell: bash, zsh or fish");
  std::cout << (shell == "bash" ? bash_script : shell == "zsh" ? zsh_script : fish_script);
  return exit_ok;
}

}  // namespace

void add_completions_command(const command& added) {
  const auto shell = std::make_shared<std::string>();
  const auto words = std::make_shared<std::vector<std::string>>();
  added.add({{"SHELL", shell.get(), "The shell", one_of({"bash", "zsh", "fish"})}});
  added.add_words(*words,
                  "For the scripts: a command line, of which the last word is not complete");
  added.runs([=] { return run(*shell, *words); });
}

}  // namespace onceguard::cli::shell
