#include "messaging/broker_url.hpp"

#include <algorithm>

#include "base/number_in.hpp"
#include "base/url.hpp"
#include "base/value_text.hpp"
#include "messaging/failed_call.hpp"

namespace onceguard::messaging {
namespace {

struct fault {
  std::string description;
};

/// Cuts the text at the first `mark`: what stands before it, and what behind it.
std::pair<std::string_view, std::optional<std::string_view>> cut_url(std::string_view text,
                                                                     char mark) {
  const auto position = text.find(mark);
  if (position == text.npos) return {text, std::nullopt};
  return {text.substr(0, position), text.substr(position + 1)};
}

std::string decoded_url_part(std::string_view text, std::string_view part) {
  auto out = base::percent_decoded(text);
  if (!out) throw fault{"a broken % in " + std::string(part)};
  if (out->find('\0') != out->npos) throw fault{"a %00 in " + std::string(part)};
  return *std::move(out);
}

void read_host(broker_url& out, std::string_view text) {
  std::optional<std::string_view> port;
  if (text.starts_with('[')) {
    const auto [inside, rest] = cut_url(text.substr(1), ']');
    if (!rest || (!rest->empty() && rest->front() != ':')) throw fault{"a broken IPv6 address"};
    out.host = inside;
    if (!rest->empty()) port = rest->substr(1);
  } else {
    const auto [host, rest] = cut_url(text, ':');
    out.host = decoded_url_part(host, "the host");
    port = rest;
  }
  if (out.host.empty()) throw fault{"there is no host"};
  if (!port) return;
  out.port = base::number_in<std::uint16_t>(*port).value_or(0);
  if (out.port == 0) throw fault{"the port is no port"};
}

void read_authority(broker_url& out, std::string_view text) {
  // A password may hold an @ that nobody encoded: the last one ends it.
  if (const auto last = text.rfind('@'); last != text.npos) {
    const auto [user, password] = cut_url(text.substr(0, last), ':');
    if (user.empty() || !password) throw fault{"a user needs a password: user:password@host"};
    out.login.emplace(decoded_url_part(user, "the user"),
                      decoded_url_part(*password, "the password"));
    text.remove_prefix(last + 1);
  }
  read_host(out, text);
}

void read_segments(broker_url& out, std::string_view path, const broker_url_form& form) {
  std::optional<std::string_view> rest;
  if (path.size() > 1) rest = path.substr(1);
  while (rest) {
    const auto [segment, behind] = cut_url(*rest, '/');
    if (segment.empty()) throw fault{"an empty part of the path"};
    out.segments.push_back(decoded_url_part(segment, "the path"));
    rest = behind;
  }
  if (out.segments.size() < form.segments_min) throw fault{"a part of the path is missing"};
  if (out.segments.size() > form.segments_max) throw fault{"the path has too many parts"};
}

void read_parameters(broker_url& out, std::optional<std::string_view> rest,
                     const broker_url_form& form) {
  while (rest) {
    const auto [pair, behind] = cut_url(*rest, '&');
    const auto [name, value] = cut_url(pair, '=');
    const auto& known = form.parameters;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw fault{"there is no parameter " + base::quoted(name) + " here"};
    }
    if (!value) throw fault{"the parameter " + std::string(name) + " has no value"};
    if (out.parameter(name) != nullptr) {
      throw fault{"the parameter " + std::string(name) + " is given twice"};
    }
    out.parameters.emplace_back(name,
                                decoded_url_part(*value, "the parameter " + std::string(name)));
    rest = behind;
  }
}

[[noreturn]] void refuse_parameter(std::string_view name, std::string_view fault) {
  refuse_url("the parameter " + std::string(name) + ' ' + std::string(fault));
}

}  // namespace

std::string broker_url::name() const {
  const bool v6 = host.find(':') != std::string::npos;
  std::string out = scheme + "://" + (v6 ? "[" + host + "]" : host) + ':' + std::to_string(port);
  for (const auto& segment : segments) out += '/' + segment;
  return out;
}

const std::string* broker_url::parameter(std::string_view name) const noexcept {
  for (const auto& [given, value] : parameters) {
    if (given == name) return &value;
  }
  return nullptr;
}

result<broker_url> parse_broker_url(std::string_view text, const broker_url_form& form) {
  const auto parts = base::split_url(text);
  broker_url out;
  out.scheme = parts.scheme;
  out.port = form.default_port;
  try {
    if (!parts.authority) throw fault{"there is no // behind the scheme"};
    if (parts.fragment) throw fault{"a # that is not written as %23"};
    read_authority(out, *parts.authority);
    read_segments(out, parts.path, form);
    read_parameters(out, parts.query, form);
  } catch (const fault& found) {
    return error(errc::invalid_argument, "the broker's URL: " + found.description + "; expected " +
                                             std::string(form.example));
  }
  return out;
}

std::vector<std::string> urls_of_servers(std::string_view text) {
  const auto parts = base::split_url(text);
  if (!parts.authority) return {std::string(text)};  // it is refused as it is
  const auto authority = *parts.authority;
  const auto begin = static_cast<std::size_t>(authority.data() - text.data());
  const auto last_at = authority.rfind('@');
  const auto login = last_at == authority.npos ? 0 : last_at + 1;
  std::vector<std::string> out;
  std::optional<std::string_view> rest = authority.substr(login);
  while (rest) {
    const auto comma = rest->find(',');
    const auto server = rest->substr(0, comma);
    std::string url(text.substr(0, begin + (out.empty() ? login : 0)));
    url += server;
    url += text.substr(begin + authority.size());
    out.push_back(std::move(url));
    rest = comma == rest->npos ? std::nullopt : std::optional(rest->substr(comma + 1));
  }
  return out;
}

void refuse_url(const std::string& fault) {
  throw failed{error(errc::invalid_argument, "the broker's URL: " + fault)};
}

std::string text_of(const broker_url& url, std::string_view name, std::string otherwise) {
  const auto* const value = url.parameter(name);
  if (value == nullptr) return otherwise;
  if (value->empty()) refuse_parameter(name, "is empty");
  return *value;
}

bool flag_of(const broker_url& url, std::string_view name, bool otherwise) {
  const auto* const value = url.parameter(name);
  if (value == nullptr) return otherwise;
  if (*value != "yes" && *value != "no") refuse_parameter(name, "takes yes or no");
  return *value == "yes";
}

milliseconds duration_of(const broker_url& url, std::string_view name, milliseconds otherwise) {
  const auto* const value = url.parameter(name);
  if (value == nullptr) return otherwise;
  const auto read = base::parse_duration(*value);
  if (!read || read->count() <= 0) refuse_parameter(name, "takes a duration such as 30s");
  return *read;
}

}  // namespace onceguard::messaging
