#include "base/form.hpp"

#include <algorithm>

#include "base/url.hpp"

namespace onceguard::base {

namespace {

std::optional<std::string> decoded_form_part(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return percent_decoded(spaced);
}

}  // namespace

std::optional<form_fields> parse_form(std::string_view text, std::size_t fields_max) {
  form_fields out;
  while (!text.empty()) {
    const auto end = text.find('&');
    const auto pair = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    if (pair.empty()) continue;
    const auto middle = pair.find('=');
    auto name = decoded_form_part(pair.substr(0, middle));
    auto value =
        decoded_form_part(middle == pair.npos ? std::string_view() : pair.substr(middle + 1));
    if (!name || !value || out.size() == fields_max) return std::nullopt;
    out.emplace_back(*std::move(name), *std::move(value));
  }
  return out;
}

}  // namespace onceguard::base
