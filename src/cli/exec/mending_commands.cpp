#include "cli/exec/mending_commands.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <onceguard/request.hpp>

#include "base/hex.hpp"
#include "cli/hidden_arguments.hpp"
#include "core/request.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::exec {
namespace {

constexpr std::size_t digits_of_scope = 12;

bool is_printable(char c) noexcept { return c >= ' ' && c <= '~'; }

std::string quoted_for_shell(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
  // What is not shown as it is would name another key.
  if (terminal_text(word) != word) {
    std::string out = "$'";
    for (const char c : word) {
      const bool as_it_is = is_printable(c) && c != '\'' && c != '\\';
      out += as_it_is ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
    return out + '\'';
  }
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + '\'';
}

/// Empty: the store is no file.
std::string file_of(const std::string& store_url) {
  const auto path = sqlite_path_of(store_url);
  return path.empty() ? path : absolute_path(path);
}

}  // namespace

std::string absolute_path(const std::string& path) {
  std::error_code gone;
  const auto made = std::filesystem::absolute(path, gone);
  return gone ? path : made.string();
}

std::string store_flag_of(const config::sources& given) {
  const auto text_in = [](const config::sources::texts& texts, std::string_view name) {
    const auto found = texts.find(name);
    return found == texts.end() ? std::string() : found->second;
  };
  const auto file = [](std::string_view flag, const std::string& path) {
    return std::string(flag) + ' ' + quoted_for_shell(absolute_path(path));
  };
  // As in config::load(): a flag wins over the environment, and that over the file.
  if (const auto path = text_in(given.flags, "store-file"); !path.empty()) {
    return file("--store-file", path);
  }
  if (!text_in(given.flags, "store").empty()) return {};
  if (const auto path = text_in(given.environment, "ONCEGUARD_STORE_FILE"); !path.empty()) {
    return file("--store-file", path);
  }
  if (!text_in(given.environment, "ONCEGUARD_STORE").empty() || given.file.empty()) return {};
  return file("--config", given.file);
}

namespace {

/// What `onceguard keys` needs to find the record.
class record_words {
 public:
  record_words(const exec_request& given, const config::settings& settings) {
    std::string which = quoted_for_shell(given.key);
    if (which.starts_with('-')) which.insert(0, "-- ");
    // Always: another scope may have the same key.
    const request wanted(given.scope, given.key, {});
    text_ = " --scope " + base::to_hex(digests_of(wanted).scope).substr(0, digits_of_scope);
    const auto file = file_of(settings.store.url);
    const auto url = file.empty() ? without_passwords(settings.store.url) : "sqlite:" + file;
    const bool hides = file.empty() && url != settings.store.url;
    const bool repeats_flag = hides && !given.store_flag.empty();
    text_ += ' ' + (repeats_flag ? given.store_flag : "--store " + quoted_for_shell(url)) + ' ';
    if (const auto& pepper = settings.store.key_pepper_file; !pepper.empty()) {
      text_ += "--key-pepper-file " + quoted_for_shell(absolute_path(pepper)) + ' ';
    }
    text_ += which;
    if (hides && !repeats_flag) {
      note_ = "\nThe password is hidden here: give the store as you gave it to this command.";
    }
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const std::string& note() const noexcept { return note_; }

 private:
  std::string text_;
  std::string note_;
};

}  // namespace

std::string releasing_command(const exec_request& given, const config::settings& settings) {
  const record_words record(given, settings);
  return "onceguard keys release" + record.text() + record.note();
}

std::string mending_commands(const exec_request& given, const config::settings& settings) {
  const record_words record(given, settings);
  return "it did take effect:  onceguard keys complete --status 200" + record.text() +
         "\nit did not:          onceguard keys release" + record.text() + record.note();
}

bool needs_person(const error& why, const config::settings& settings) {
  if (why.lasting || !why.retryable()) return true;
  const auto file = file_of(settings.store.url);
  if (file.empty()) return false;
  const auto folder = std::filesystem::path(file).parent_path();
  const bool usable =
      ::access(folder.c_str(), W_OK | X_OK) == 0 &&
      (::access(file.c_str(), F_OK) != 0 || ::access(file.c_str(), R_OK | W_OK) == 0);
  return !usable;
}

}  // namespace onceguard::cli::exec
