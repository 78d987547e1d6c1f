#include "config/table/secret_file.hpp"

#include <algorithm>
#include <sys/stat.h>

#include "base/ascii.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {
namespace {

constexpr std::size_t secret_size_max = 64u << 10;

/// A complaint about a value quotes the value last.
std::string without_value(const std::string& message) {
  return message.substr(0, message.find(", got "));
}

bool readable_by_all(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0;
}

}  // namespace

std::string file_name_of(const option& spec) { return std::string(spec.name) + "_file"; }

std::string file_flag_of(const option& spec) {
  return spec.flag.empty() ? std::string() : std::string(spec.flag) + "-file";
}

std::string file_variable_of(const option& spec) { return spec.variable() + "_FILE"; }

const option* option_of_file(const std::vector<const option*>& known, std::string_view name) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const option* o) {
    return o->secret && file_name_of(*o) == name;
  });
  return found == known.end() ? nullptr : *found;
}

std::optional<option_value> read_secret_file(const option& spec, const std::string& path,
                                             const origin& origin, std::string_view title,
                                             remarks& out) {
  const auto say = [&](remark::grade weight, const std::string& message) {
    const auto name =
        title.empty() ? std::string() : std::string(title) + " " + file_name_of(spec) + ": ";
    out.push_back({weight, origin, name + message});
    return std::nullopt;
  };
  const auto held = read_document_file(path);
  if (!held) return say(remark::grade::fault, quoted(path) + " " + held.error().detail);
  const auto end = held->find_last_not_of(" \t\r\n");
  const auto value = base::trim(std::string_view(*held).substr(0, end + 1));
  if (value.empty()) return say(remark::grade::fault, quoted(path) + " is empty");
  const bool one_line = std::none_of(value.begin(), value.end(),
                                     [](char c) { return static_cast<unsigned char>(c) < ' '; });
  if (value.size() > secret_size_max || !one_line) {
    return say(remark::grade::fault, quoted(path) + " must hold the value alone, on one line");
  }
  remarks found;
  auto read = read_text(spec, value, origin, title, found);
  for (auto& each : found) {
    out.push_back(
        {each.weight, each.position,
         without_value(each.message) + "; the value is that of the file " + quoted(path)});
  }
  if (read && readable_by_all(path)) {
    say(remark::grade::note, quoted(path) + " can be read by every user of this machine");
  }
  return read;
}

}  // namespace onceguard::config
