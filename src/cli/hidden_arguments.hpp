// Keeps passwords out of the list of processes.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace onceguard::cli {

/// Copies the arguments of the program, without its name, and then overwrites the passwords in the
/// originals, which `ps` shows to every user: those of URLs (`redis://user:password@host`,
/// `?password=`). They can be seen until then: a file or a variable never shows them. Call once.
[[nodiscard]] std::vector<std::string> take_arguments(int count, char** arguments);

/// The command line with the program's name, as it was given to take_arguments(): for another
/// process of the program.
[[nodiscard]] const std::vector<std::string>& given_words();

/// The memory of that command line, which lists of processes show.
[[nodiscard]] std::span<char> shown_words() noexcept;

/// The text with each password in it as asterisks.
[[nodiscard]] std::string without_passwords(std::string text);

}  // namespace onceguard::cli
