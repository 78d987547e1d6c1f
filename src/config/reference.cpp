#include "config/reference.hpp"

#include "config/all_options.hpp"
#include "config/table/secret_file.hpp"

namespace onceguard::config {
namespace {

constexpr std::string_view introduction = R"(# Reference of the configuration

This page is printed by `onceguard check --reference`; a test compares the two.

Options stand in a TOML file that is named with `--config FILE` (or `ONCEGUARD_CONFIG`). Most
have a flag and an environment variable too. The later wins: the default, the file, the
environment, the flag. An empty variable counts as not set. Where the environment or a flag takes
a list, its items are separated by commas.

Durations are a whole number with `ms`, `s`, `m`, `h` or `d`; sizes one with `KiB`, `MiB` or
`GiB`, or a number of bytes. `onceguard check` says everything that is wrong at once, with file,
line and column; a wrong configuration ends every command with exit code 3.
)";

std::string lead(const option& o) {
  std::string out = expectation(o);
  out.front() = static_cast<char>(out.front() >= 'a' && out.front() <= 'z' ? out.front() - 'a' + 'A'
                                                                           : out.front());
  remarks none;
  if (const auto value = read_text(o, o.fallback, {}, {}, none)) {
    // Written as in the table: "24h", not "1d".
    const bool unit = o.kind == value_kind::duration || o.kind == value_kind::size;
    const auto plain = "\"" + std::string(o.fallback) + "\"";
    out += "; default `" + (unit ? plain : toml_text(o, *value)) + "`";
  } else {
    out += "; no default";
  }
  if (!o.flag.empty()) {
    out += ". `--" + std::string(o.flag) + "`, `" + o.variable() + "`";
  }
  out += '.';
  if (o.secret) {
    out += " Or the name of a file with the value: `" + file_name_of(o) + "`";
    if (!o.flag.empty()) out += ", `--" + file_flag_of(o) + "`, `" + file_variable_of(o) + "`";
    out += '.';
  }
  if (o.only == front_door::gateway) out += " For the gateway only.";
  if (o.only == front_door::service) out += " For a [service](middleware.md) only.";
  return out;
}

void append(std::string& page, const option& o) {
  page += "\n### `" + std::string(o.name) + "`\n" + lead(o) + "\n\n" + std::string(o.text) + "\n";
  remarks none;
  if (o.example.empty()) return;
  if (const auto value = read_text(o, o.example, {}, {}, none)) {
    page += "\n```toml\n" + std::string(o.name) + " = " + toml_text(o, *value) + "\n```\n";
  }
}

}  // namespace

std::string reference() {
  std::string page(introduction);
  page += "\n## On the command line only\n";
  page += "\n### `--config`\nThe TOML file. `ONCEGUARD_CONFIG`.\n";
  const auto& upstream = upstream_flag();
  page += "\n### `--upstream`\n" + std::string(upstream.text) + " `" + upstream.variable() +
          "`.\n\n```sh\nonceguard gateway --upstream " + std::string(upstream.example) + "\n```\n";
  for (const auto& s : sections()) {
    page += "\n## `" + std::string(s.title) + "`\n" + std::string(s.text) + "\n";
    if (s.policies) page += "\nEvery option of `[defaults]` may stand here too.\n";
    for (const auto* o : s.options) append(page, *o);
  }
  return page;
}

}  // namespace onceguard::config
