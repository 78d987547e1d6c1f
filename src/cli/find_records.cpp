#include "cli/find_records.hpp"

#include <algorithm>
#include <iostream>

#include "base/hash.hpp"
#include "cli/exit_code.hpp"
#include "cli/json_text.hpp"
#include "cli/record_text.hpp"
#include "cli/store_work.hpp"

namespace onceguard::cli {

using boost::asio::awaitable;

void add_key_choice(const command& to, key_choice& choice) {
  to.add_option("KEY", choice.key, "The idempotency key, as parsed (without quotes)")
      .required()
      .type("");
  to.add_option("--scope", choice.scope,
                "The scope's digest in hex, or its beginning, where several scopes use the key")
      .type("DIGEST")
      .check([](const std::string& text) {
        return is_scope_prefix(text) ? std::string() : "the digest is up to 64 digits 0-9 a-f";
      });
}

bool is_scope_prefix(std::string_view text) noexcept {
  return text.size() <= 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

awaitable<result<std::vector<record_view>>> find_records(store& in, const key_choice& choice,
                                                         bool released, milliseconds timeout) {
  constexpr std::size_t page_size = 200;
  list_filter filter;
  filter.key = choice.key;
  std::vector<record_view> found;
  std::string cursor;
  do {
    auto page = co_await in.list(filter, cursor, page_size, timeout);
    if (!page) co_return page.error();
    for (auto& seen : page->records) {
      const bool fits = base::to_hex(seen.stored.about->scope).starts_with(choice.scope);
      if (fits && (released || seen.state != observed_state::released)) {
        found.push_back(std::move(seen));
      }
    }
    cursor = page->cursor;
  } while (!cursor.empty());
  co_return found;
}

awaitable<found_record> find_one(store& in, const key_choice& choice, bool released,
                                 milliseconds timeout) {
  found_record out;
  auto found = co_await find_records(in, choice, released, timeout);
  if (!found) {
    out.exit_code = complain(found.error());
    co_return out;
  }
  if (found->empty()) {
    std::cerr << "onceguard: there is no record of the key " << plain_text(choice.key) << "\n";
    out.exit_code = exit_not_found;
  } else if (found->size() > 1) {
    std::cerr << "onceguard: several scopes use the key " << plain_text(choice.key)
              << "; choose one with --scope:\n";
    for (const auto& seen : *found) {
      std::cerr << "  " << base::to_hex(seen.stored.about->scope) << "  "
                << plain_text(seen.stored.about->scope_kind) << "  " << name_of(seen.state) << "\n";
    }
    out.exit_code = exit_usage;
  } else {
    out.record = std::move(found->front());
  }
  co_return out;
}

}  // namespace onceguard::cli
