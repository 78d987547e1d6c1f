#include "cli/keys/find_records.hpp"

#include <algorithm>
#include <iostream>
#include <memory>

#include <onceguard/fingerprint.hpp>

#include "base/hex.hpp"
#include "base/value_text.hpp"
#include "cli/command.hpp"
#include "cli/keys/filter_flags.hpp"
#include "cli/keys/record_text.hpp"
#include "cli/store_work.hpp"
#include "core/kept_key.hpp"
#include "store/sealed/sealed_answer.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::keys {

using boost::asio::awaitable;

void add_key_choice(const command& command, key_choice& choice, key_needed needed) {
  command.add({{"KEY",
                &choice.key,
                "The idempotency key, as parsed (without quotes), or the id of a record",
                {.type = "", .required = needed == key_needed::yes, .check = filter_check("key")}},
               {"--scope", &choice.scope,
                "The scope's digest in hex, or its beginning, where several scopes use the key",
                typed("DIGEST", filter_check("scope"))}});
}

namespace {

struct findings {
  std::vector<record_view> records;
  std::vector<unreadable_record> unreadable;
};

/// All records with that key and a scope that begins with the given digits, and all unreadable
/// records.
awaitable<result<findings>> find_records(record_access& store, const key_choice& choice,
                                         bool released, milliseconds timeout) {
  constexpr std::size_t page_size = 200;
  list_filter filter;
  filter.key = core::key_to_find(choice.key);
  findings found;
  std::string cursor;
  do {
    auto page = co_await store.list(filter, cursor, page_size, timeout);
    if (!page) co_return page.error();
    for (auto& seen : page->records) {
      const bool fits = base::to_hex(seen.stored.about->scope).starts_with(choice.scope);
      if (fits && (released || seen.state != observed_state::released)) {
        found.records.push_back(std::move(seen));
      }
    }
    for (auto& seen : page->unreadable) found.unreadable.push_back(std::move(seen));
    cursor = page->cursor;
  } while (!cursor.empty());
  co_return found;
}

/// Finds a record by id. Needs no list, and also finds unreadable records.
awaitable<found_record> find_by_id(record_access& records, const record_id& id, bool released,
                                   milliseconds timeout) {
  found_record out;
  auto found = co_await records.find(id, timeout);
  if (!found && found.error().code == errc::record_unreadable) {
    out.unreadable = unreadable_record{id, found.error().detail};
  } else if (!found) {
    out.exit_code = complain(found.error());
  } else if (*found && (released || (*found)->state != observed_state::released)) {
    out.record = std::move(**found);
  }
  co_return out;
}

void print_several(const key_choice& choice, const std::vector<record_view>& found) {
  std::cerr << "onceguard: several scopes use the key " << plain_text(base::shown_id(choice.key))
            << "; choose one with --scope:\n";
  for (const auto& seen : found) {
    std::cerr << "  " << base::to_hex(seen.stored.about->scope) << "  "
              << plain_text(seen.stored.about->scope_kind) << "  " << name_of(seen.state) << "\n";
  }
}

int print_none(const key_choice& choice, const std::vector<unreadable_record>& unreadable) {
  std::cerr << "onceguard: there is no record of the key "
            << plain_text(base::shown_id(choice.key));
  if (unreadable.empty()) {
    std::cerr << "\n";
    return exit_not_found;
  }
  std::cerr << " that can be read, but these can't, and one of them may be it; name it by its id, "
               "or give the whole --scope:\n";
  for (const auto& seen : unreadable) std::cerr << "  " << record_line(seen) << "\n";
  return exit_failed;
}

/// The unreadable record whose digest, as the log shows it, is this text; null: none.
const unreadable_record* find_by_digest(const std::vector<unreadable_record>& unreadable,
                                        std::string_view text) {
  const auto found = std::find_if(
      unreadable.begin(), unreadable.end(),
      [&](const unreadable_record& seen) { return base::digest_text(seen.id) == text; });
  return found == unreadable.end() ? nullptr : &*found;
}

}  // namespace

awaitable<found_record> find_one(record_access& store, const key_choice& choice, bool released,
                                 milliseconds timeout) {
  found_record out;
  if (digest scope{}; base::from_hex(choice.scope, scope)) {
    const auto key = core::key_to_find(choice.key);
    out = co_await find_by_id(store, make_record_id(scope, key), released, timeout);
    if (out.unreadable) {
      auto about = std::make_shared<subject>();
      about->scope = scope;
      about->key = key;
      out.about = std::move(about);
    }
    if (out.any() || out.exit_code != exit_ok) co_return out;
  }
  auto found = co_await find_records(store, choice, released, timeout);
  if (!found) {
    out.exit_code = complain(found.error());
    co_return out;
  }
  if (found->records.size() > 1) {
    print_several(choice, found->records);
    out.exit_code = exit_usage;
    co_return out;
  }
  if (!found->records.empty()) {
    // A list may leave answers out.
    out = co_await find_by_id(store, found->records.front().id, released, timeout);
    if (out.any() || out.exit_code != exit_ok) co_return out;
  }
  if (record_id id{}; choice.scope.empty() && base::from_hex(choice.key, id)) {
    out = co_await find_by_id(store, id, released, timeout);
    if (out.any() || out.exit_code != exit_ok) co_return out;
  }
  if (const auto* seen = find_by_digest(found->unreadable, choice.key)) {
    out.unreadable = *seen;
    co_return out;
  }
  out.exit_code = print_none(choice, found->unreadable);
  co_return out;
}

int refuse_unreadable(const unreadable_record& seen) {
  if (sealed::lacks_key(seen.why)) {
    std::cerr << "onceguard: the operation of the record " << base::to_hex(seen.id)
              << " took effect, and its answer can't be read here (" << plain_text(seen.why)
              << "); nothing is lost, and nothing was changed\n";
    return exit_failed;
  }
  std::cerr << "onceguard: the record " << base::to_hex(seen.id) << " can't be read ("
            << plain_text(seen.why)
            << "), so nobody knows whether it took effect; with --force what you say takes its "
               "place. After a release the next request with this key runs\n";
  return exit_failed;
}

}  // namespace onceguard::cli::keys
