#include "store/record_filter.hpp"

#include <onceguard/fingerprint.hpp>

#include "base/hex.hpp"
#include "base/value_text.hpp"
#include "core/kept_key.hpp"
#include "store/record_view.hpp"

namespace onceguard {
namespace {

constexpr std::string_view unreadable_state = "unreadable";
constexpr int reason_count = 7;

error wrong_filter(std::string_view name, const std::string& fault) {
  return {errc::invalid_argument, std::string(name) + ": " + fault};
}

bool is_digest_prefix(std::string_view text) noexcept {
  return text.size() <= 2 * sizeof(digest) &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

result<void> read_filter_duration(std::string_view name, const std::string& text,
                                  std::optional<milliseconds>& out) {
  const auto read = base::parse_duration(text);
  if (!read) return wrong_filter(name, read.error().detail);
  // Every record is older than no time at all: the condition would choose them all.
  if (read->count() == 0) return wrong_filter(name, "a duration over 0 was expected");
  out = *read;
  return {};
}

}  // namespace

std::optional<observed_state> state_of(std::string_view name) noexcept {
  for (std::size_t i = 1; i <= observed_states; ++i) {
    const auto state = static_cast<observed_state>(i);
    if (name_of(state) == name) return state;
  }
  return std::nullopt;
}

std::optional<unknown_reason> reason_of(std::string_view name) noexcept {
  for (int i = 1; i <= reason_count; ++i) {
    const auto reason = static_cast<unknown_reason>(i);
    if (name_of(reason) == name) return reason;
  }
  return std::nullopt;
}

std::vector<std::string> record_filter::states() {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= observed_states; ++i) {
    names.emplace_back(name_of(static_cast<observed_state>(i)));
  }
  names.emplace_back(unreadable_state);
  return names;
}

std::vector<std::string> record_filter::reasons() {
  std::vector<std::string> names;
  for (int i = 1; i <= reason_count; ++i) {
    names.emplace_back(name_of(static_cast<unknown_reason>(i)));
  }
  return names;
}

result<void> record_filter::add(std::string_view name, const std::string& value) {
  if (value.empty()) return wrong_filter(name, "a value was expected");
  if (name == "key") {
    of_store_.key = core::key_to_find(value);
  } else if (name == "scope") {
    if (!is_digest_prefix(value))
      return wrong_filter(name, "the digest is up to 64 digits 0-9 a-f");
    scope_ = value;
    if (digest whole{}; base::from_hex(value, whole)) of_store_.scope = whole;
  } else if (name == "state") {
    const auto state = state_of(value);
    if (!state && value != unreadable_state)
      return wrong_filter(name, "there is none " + base::quoted(value));
    if (state) of_store_.states.push_back(*state);
    only_unreadable_ = of_store_.states.empty();
  } else if (name == "route") {
    of_store_.route = value;
  } else if (name == "method") {
    of_store_.method = value;
  } else if (name == "reason") {
    of_store_.reason = reason_of(value);
    if (!of_store_.reason) return wrong_filter(name, "there is none " + base::quoted(value));
  } else if (name == "text") {
    // A part of a key says nothing about its kept form; a whole key, or a part of that form, does.
    of_store_.text = value.starts_with(core::kept_prefix) ? value : core::kept_key(value);
  } else if (name == "older") {
    if (auto read = read_filter_duration(name, value, of_store_.older); !read) return read;
  } else if (name == "younger") {
    if (auto read = read_filter_duration(name, value, of_store_.younger); !read) return read;
  } else if (name == "attention") {
    if (value != "true" && value != "false") return wrong_filter(name, "expected true or false");
    of_store_.needs_person = value == "true";
  } else {
    return error(errc::invalid_argument, "there is no filter " + base::quoted(name));
  }
  any_ = any_ || name != "attention" || of_store_.needs_person;
  return {};
}

void record_filter::limit_to_unknown() {
  if (of_store_.states.empty() && !only_unreadable_ && !of_store_.needs_person) {
    of_store_.states.push_back(observed_state::unknown);
  }
}

bool record_filter::fits(const record_view& seen) const {
  return !only_unreadable_ && base::to_hex(seen.stored.about->scope).starts_with(scope_);
}

namespace {

/// The record of a key in a scope, if it fits: found by its id, where a list would pass all
/// records.
boost::asio::awaitable<result<list_page>> find_as_list(record_access& records,
                                                       const list_filter& filter,
                                                       milliseconds timeout) {
  const auto id = make_record_id(*filter.scope, *filter.key);
  auto found = co_await records.find(id, timeout);
  list_page page;
  if (!found) {
    if (found.error().code != errc::record_unreadable) co_return found.error();
    page.unreadable.push_back({id, found.error().detail});
  } else if (*found && matches(filter, **found)) {
    page.records.push_back(**std::move(found));
  }
  co_return page;
}

}  // namespace

boost::asio::awaitable<result<list_page>> list_filtered(record_access& records,
                                                        const record_filter& filter,
                                                        std::string cursor, std::size_t limit,
                                                        milliseconds timeout) {
  const auto& of_store = filter.of_store();
  if (of_store.key && of_store.scope && cursor.empty()) {
    auto page = co_await find_as_list(records, of_store, timeout);
    if (page) std::erase_if(page->records, [&](const auto& seen) { return !filter.fits(seen); });
    co_return page;
  }
  auto page = co_await records.list(of_store, std::move(cursor), limit, timeout);
  if (page) std::erase_if(page->records, [&](const auto& seen) { return !filter.fits(seen); });
  co_return page;
}

std::vector<std::pair<std::string_view, std::string>> words_of(const list_filter& filter) {
  std::vector<std::pair<std::string_view, std::string>> out;
  for (const auto state : filter.states) out.emplace_back("state", name_of(state));
  if (filter.key) out.emplace_back("key", *filter.key);
  if (!filter.text.empty()) out.emplace_back("text", filter.text);
  if (filter.scope) out.emplace_back("scope", base::to_hex(*filter.scope));
  if (filter.route) out.emplace_back("route", *filter.route);
  if (filter.method) out.emplace_back("method", *filter.method);
  if (filter.reason) out.emplace_back("reason", name_of(*filter.reason));
  if (filter.older) out.emplace_back("older", std::to_string(filter.older->count()) + "ms");
  if (filter.younger) out.emplace_back("younger", std::to_string(filter.younger->count()) + "ms");
  if (filter.needs_person) out.emplace_back("attention", "true");
  return out;
}

}  // namespace onceguard
