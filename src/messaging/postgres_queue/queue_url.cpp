#include "messaging/postgres_queue/queue_url.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/url.hpp"
#include "base/value_text.hpp"
#include "libpq/conninfo.hpp"
#include "messaging/broker_url.hpp"

namespace onceguard::messaging::postgres_queue {
namespace {

struct fault {
  std::string description;
};

constexpr std::array<std::string_view, 5> queue_parameters{"queue", "outbox", "hold", "dead",
                                                           "order"};

/// The URL's parameters that are the queue's, and the URL without them.
struct divided_url {
  std::string rest;
  std::map<std::string, std::string, std::less<>> parameters;  // still encoded

  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const {
    const auto found = parameters.find(name);
    if (found == parameters.end()) return std::nullopt;
    return found->second;
  }
};

void sort_in(divided_url& out, std::string_view pair) {
  const auto equals = pair.find('=');
  const auto name = pair.substr(0, equals);
  const auto& known = queue_parameters;
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    const bool first = out.rest.find('?') == std::string::npos;
    (out.rest += first ? '?' : '&') += pair;
    return;
  }
  if (equals == pair.npos) throw fault{"the parameter " + std::string(name) + " has no value"};
  if (!out.parameters.emplace(name, pair.substr(equals + 1)).second) {
    throw fault{"the parameter " + std::string(name) + " is given twice"};
  }
}

divided_url divide(std::string_view text) {
  divided_url out;
  const auto question = text.find('?');
  out.rest = text.substr(0, question);
  if (question == text.npos) return out;
  text.remove_prefix(question);
  while (!text.empty()) {
    text.remove_prefix(1);
    const auto end = std::min(text.find('&'), text.size());
    if (end > 0) sort_in(out, text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

/// A name of the database, decoded.
std::string identifier(std::string_view encoded, const std::string& parameter) {
  auto out = base::percent_decoded(encoded);
  if (!out || out->find('\0') != out->npos) throw fault{"a broken % in the " + parameter};
  if (out->empty()) throw fault{"the " + parameter + " takes [SCHEMA.]TABLE"};
  // The server would cut it, and another table would be meant.
  if (out->size() > 63) throw fault{"the " + parameter + " has a name above 63 bytes"};
  return *std::move(out);
}

std::string quoted_identifier(const std::string& name) {
  std::string out = "\"";
  for (const char c : name) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

void read_table(queue_url& out, const divided_url& url) {
  const auto outbox = url.find("outbox");
  const auto given = outbox ? outbox : url.find("queue");
  if (!given) throw fault{"the parameter queue is missing"};
  if (outbox && url.find("queue")) throw fault{"it has both queue and outbox; choose one"};
  out.outbox = outbox.has_value();
  const std::string name = out.outbox ? "outbox" : "queue";
  const auto parameter = "parameter " + name;
  const auto dot = given->find('.');
  if (dot != given->npos && given->find('.', dot + 1) != given->npos) {
    throw fault{"the " + parameter + " has more than one dot; one in a name is written as %2E"};
  }
  if (dot == given->npos) {
    const auto table = identifier(*given, parameter);
    out.table = quoted_identifier(table);
    out.name += '?' + name + '=' + table;
    return;
  }
  const auto schema = identifier(given->substr(0, dot), parameter);
  const auto table = identifier(given->substr(dot + 1), parameter);
  out.schema = quoted_identifier(schema);
  out.table = out.schema + '.' + quoted_identifier(table);
  out.name += '?' + name + '=' + schema + '.' + table;
}

/// Whether the parameter has the second of two values; without it, it has the first.
bool second_of(const divided_url& url, const char* name, std::string_view first,
               std::string_view second) {
  const auto given = url.find(name);
  if (given && *given != first && *given != second) {
    throw fault{std::string("the parameter ") + name + " takes " + std::string(first) + " or " +
                std::string(second)};
  }
  return given == second;
}

void read_hold(queue_url& out, const divided_url& url) {
  const auto given = url.find("hold");
  if (!given) return;
  const auto read = base::parse_duration(*given);
  if (!read || read->count() <= 0) throw fault{"the parameter hold takes a duration such as 30s"};
  if (*read < least_hold) throw fault{"the parameter hold is shorter than 100ms"};
  out.hold = *read;
}

void set_name(queue_url& out) {
  const auto find = [&](const char* option) { return postgres::option_of(out.options, option); };
  auto host = find("host");
  if (host.empty()) host = find("hostaddr");
  out.hosts = 1 + static_cast<std::size_t>(std::count(host.begin(), host.end(), ','));
  out.name = "postgresql://" + host;
  if (const auto port = find("port"); !port.empty()) out.name += ':' + port;
  if (const auto database = find("dbname"); !database.empty()) out.name += '/' + database;
}

}  // namespace

result<queue_url> parse_queue_url(std::string_view text) {
  queue_url out;
  try {
    const auto scheme = base::scheme_of(text);
    if ((scheme != "postgresql" && scheme != "postgres") ||
        text.substr(scheme.size(), 3) != "://") {
      throw fault{"it does not begin with postgresql://"};
    }
    const auto divided = divide(text);
    auto options = postgres::read_options(divided.rest);
    if (!options) {
      throw fault{"libpq can't read it: a broken part, or a parameter that it lacks"};
    }
    out.options = std::move(*options);
    set_name(out);
    read_table(out, divided);
    read_hold(out, divided);
    out.dead = second_of(divided, "dead", "no", "yes");
    out.skips = second_of(divided, "order", "stop", "skip");
  } catch (const fault& found) {
    return error(errc::invalid_argument, "the broker's URL: " + found.description + "; expected " +
                                             std::string(consumer_example));
  }
  return out;
}

}  // namespace onceguard::messaging::postgres_queue
