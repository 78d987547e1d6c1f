#include "config/options.hpp"

#include "config/consume.hpp"
#include "config/relay.hpp"
#include "config/table/secret_file.hpp"
#include "config/webhook.hpp"

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

const std::vector<section>& sections() {
  static const std::vector<section> all{
      {"[gateway]", "The gateway itself. Changes take effect at the next start.",
       specs_of(gateway_rows())},
      {"[store]", "Where records are kept. Changes take effect at the next start.",
       specs_of(store_rows())},
      {"[reconcile]",
       "How `onceguard reconcile`, and the gateway by itself, find out what became of records "
       "whose "
       "outcome is unknown: by the probe of a record's route, and where that has none, by a query. "
       "Changes take effect at the next start.",
       specs_of(reconcile_rows())},
      {"[jwt]",
       "Who signs the bearer tokens that a `scope = \"jwt:CLAIM\"` is made of. SIGHUP takes "
       "changes "
       "over. See [tokens](tokens.md).",
       specs_of(token_rows())},
      {"[log]", "What is logged, and how. Changes take effect at the next start.",
       specs_of(log_rows())},
      {"[defaults]",
       "The policy of every route, unless the route says otherwise. SIGHUP takes changes over.",
       specs_of(policy_rows())},
      {"[[upstream]]", "A service that requests are passed on to. SIGHUP takes changes over.",
       specs_of(upstream_rows())},
      {"[[route]]",
       "Which requests go to which upstream, and by which policy. The route with the longest "
       "path wins; at equal length one with a host, then one with methods. Requests that match "
       "none go to the first upstream by the policy of [defaults]. SIGHUP takes changes over.",
       specs_of(route_rows()), true},
      {"[[webhook]]",
       "A sender of [webhooks](webhooks.md) besides those that are known: how it signs, and where "
       "a delivery has its id. SIGHUP takes changes over.",
       specs_of(webhook_rows())},
      {"[[consume]]",
       "A queue whose messages `onceguard consume` hands to an endpoint or a command, once per "
       "message id. Of the policy, `lease`, `backoff`, `backoff_max`, `retention` (7 days unless "
       "given) and `outcome` count, the last two only where the table says them itself. See "
       "[messages](messages.md).",
       specs_of(consume_rows()), true},
      {"[[relay]]",
       "An outbox whose messages `onceguard relay` sends to a broker or an endpoint, at least once "
       "and with the same id each time. See [messages](messages.md).",
       specs_of(relay_rows())},
  };
  return all;
}

std::string_view section_of(std::string_view name) {
  for (const auto& s : sections()) {
    for (const auto* o : s.options) {
      if (o->name == name) return s.title;
    }
  }
  return {};
}

const std::vector<const option*>& flag_options() {
  static const std::vector<const option*> all = [] {
    std::vector<const option*> out{&upstream_flag()};
    for (const auto& s : sections()) {
      for (const auto* o : s.options) {
        if (!o->flag.empty()) out.push_back(o);
      }
    }
    return out;
  }();
  return all;
}

}  // namespace onceguard::config
