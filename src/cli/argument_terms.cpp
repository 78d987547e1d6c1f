#include "cli/argument_terms.hpp"

#include <utility>

#include "config/table/parsers.hpp"

namespace onceguard::cli {

argument_terms typed(const char* type, argument_check check) {
  return {.type = type, .check = std::move(check)};
}
argument_terms single(const char* type, argument_check check) {
  return {.type = type, .once = true, .check = std::move(check)};
}
argument_terms required(const char* type, argument_check check) {
  return {.type = type, .required = true, .check = std::move(check)};
}
std::string period_fault(const std::string& text) {
  const auto read = config::parse_duration(text);
  if (!read) return read.error().detail;
  return read->count() > 0 ? std::string() : "expected more than 0";
}
argument_terms a_period() { return single("TIME", period_fault); }
argument_terms one_of(std::vector<std::string> words) {
  return {.once = true, .one_of = std::move(words)};
}
argument_terms any_of(std::vector<std::string> words, const char* type) {
  return {.type = type, .one_of = std::move(words)};
}
argument_terms between(std::size_t least, std::size_t most, const char* type) {
  return {.type = type, .least = least, .most = most};
}
argument_terms not_with(const char* other, argument_terms terms) {
  terms.excludes = other;
  return terms;
}
argument_terms only_with(const char* other, argument_terms terms) {
  terms.needs = other;
  return terms;
}

}  // namespace onceguard::cli
