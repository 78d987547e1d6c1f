#include "store/dynamodb/dynamodb_params.hpp"

#include <algorithm>

#include "base/url.hpp"

namespace onceguard::dynamodb {
namespace {

constexpr std::size_t shortest_name = 3;
constexpr std::size_t longest_name = 255;

error wrong_url(const std::string& description) {
  return {errc::invalid_argument, "dynamodb store: " + description +
                                      "; expected dynamodb://REGION/TABLE[?endpoint=http://HOST:"
                                      "PORT]"};
}

bool is_word(std::string_view text, std::string_view more) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [more](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           more.find(c) != more.npos;
  });
}

bool is_endpoint(const std::string& given) {
  const auto parts = base::split_url(given);
  return (parts.scheme == "http" || parts.scheme == "https") && parts.authority &&
         is_word(*parts.authority, "-.:[]_") && (parts.path.empty() || parts.path == "/") &&
         !parts.query && !parts.fragment;
}

std::string amazon_endpoint(const std::string& region) {
  return "https://dynamodb." + region +
         (region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com");
}

}  // namespace

result<address> parse_address(std::string_view url) {
  const auto parts = base::split_url(url);
  if (!parts.authority || parts.fragment) return wrong_url("that is no such URL");
  if (parts.authority->find('@') != std::string_view::npos) {
    return wrong_url(
        "credentials come from the environment, the shared credentials file or the "
        "machine");
  }
  address out;
  out.region = *parts.authority;
  if (!is_word(out.region, "-")) return wrong_url("the region is no region");
  out.table = parts.path.substr(std::min<std::size_t>(1, parts.path.size()));
  if (!is_word(out.table, "-_.") || out.table.size() < shortest_name ||
      out.table.size() > longest_name) {
    return wrong_url("the name of a table has 3 to 255 letters, digits, -, _ and .");
  }
  out.endpoint = amazon_endpoint(out.region);
  if (!parts.query) return out;
  constexpr std::string_view only = "endpoint=";
  if (!parts.query->starts_with(only) || parts.query->find('&') != std::string_view::npos) {
    return wrong_url("there is no other parameter than endpoint");
  }
  const auto endpoint = base::percent_decoded(parts.query->substr(only.size()));
  if (!endpoint || !is_endpoint(*endpoint)) {
    return wrong_url("the parameter endpoint takes http://HOST:PORT or https://HOST[:PORT]");
  }
  out.endpoint = endpoint->substr(0, endpoint->find_last_not_of('/') + 1);
  return out;
}

}  // namespace onceguard::dynamodb
