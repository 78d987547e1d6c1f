#include "store/pepper.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <onceguard/fingerprint.hpp>

#include "base/clock.hpp"
#include "base/for_ever.hpp"
#include "base/random.hpp"
#include "core/request_names.hpp"
#include "store/imported_record.hpp"
#include "store/private_file.hpp"
#include "store/sealed/sealed_answer.hpp"

namespace onceguard {
namespace {

using boost::asio::awaitable;

constexpr std::size_t pepper_size_min = 32;
constexpr std::size_t pepper_size_max = 4u << 10;

constexpr milliseconds mark_lease{10'000};
constexpr milliseconds mark_pause{20};
constexpr milliseconds mark_retention = base::for_ever;
constexpr std::size_t scanned_at_once = 200;
// A pass over all records takes time.
constexpr milliseconds least_scan_timeout{60'000};

using core::mark_scope_kind;
constexpr const char* mark_key = "onceguard-pepper";
constexpr const char* mark_print = "pepper";

error refusal_of(std::string why) { return error(errc::invalid_argument, std::move(why)); }

error other_pepper() {
  return refusal_of(
      "key pepper: these keys are kept with another pepper than that of [store] "
      "key_pepper_file; with this one, operations that were done would run again");
}

error no_pepper() {
  return refusal_of(
      "key pepper: these keys are kept with a pepper; set [store] key_pepper_file, or "
      "operations that were done would run again");
}

subject_ptr mark_of(const core::key_pepper& pepper) {
  auto about = std::make_shared<subject>();
  about->scope = make_scope_digest(mark_scope_kind, "");
  about->scope_kind = mark_scope_kind;
  about->key = mark_key;
  about->print = {mark_print, pepper.mark()};
  return about;
}

/// Anybody else's record at its id is none.
bool is_mark(const record_id& id, const subject_ptr& about) {
  return id == pepper_mark_id() && about && about->print.method == mark_print;
}

/// Whether all keys that lie there have the form that a pepper gives: others would be looked for in
/// vain, and their operations run again.
awaitable<result<void>> find_no_clear_key(store& records, milliseconds timeout) {
  const auto holds = [](const char* content) {
    return refusal_of(std::string("key pepper: the store holds ") + content +
                      ", whose operations would run again: take a new store, or export the "
                      "records and import them into one");
  };
  const list_filter all;
  std::string cursor;
  timeout = std::max(timeout, least_scan_timeout);
  do {
    auto page = co_await records.list(all, cursor, scanned_at_once, timeout);
    if (!page) co_return page.error();
    if (!page->unreadable.empty()) co_return holds("records that can't be read");
    for (const auto& seen : page->records) {
      const auto& about = seen.stored.about;
      if (seen.id == pepper_mark_id() || (about && core::is_kept_form(about->key))) continue;
      co_return holds("keys that are kept in the clear");
    }
    cursor = std::move(page->cursor);
  } while (!cursor.empty());
  co_return result<void>();
}

awaitable<result<void>> make_mark(store& records, subject_ptr about, milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  boost::asio::steady_timer pause(co_await boost::asio::this_coro::executor);
  claim wanted;
  wanted.id = pepper_mark_id();
  base::random_bytes(wanted.claim_id);
  wanted.about = about;
  wanted.lease = mark_lease;
  wanted.unknown = unknown_policy::rerun;
  while (true) {
    std::vector<claim> batch(1, wanted);
    const auto replies = co_await records.claim(std::move(batch), timeout);
    const auto& reply = replies.front();
    if (!reply) co_return reply.error();
    if (reply->kind == verdict_kind::replay) co_return result<void>();
    if (reply->kind == verdict_kind::mismatch) co_return other_pepper();
    if (reply->kind == verdict_kind::run) {
      settle_terms terms;
      terms.kept = answer_kept::none;
      terms.retention = mark_retention;
      std::vector<settlement> ended(1, settle_lease(wanted.id, reply->lease, about, terms));
      const auto settles = co_await records.settle(std::move(ended), timeout);
      const auto& done = settles.front();
      if (!done) co_return done.error();
      if (done->outcome == settle_outcome::done) co_return result<void>();
      base::random_bytes(wanted.claim_id);
    }
    if (base::boot_now() >= until) {
      co_return error(errc::store_unreachable,
                      "key pepper: another process is just marking the store with its pepper");
    }
    pause.expires_after(mark_pause);
    co_await pause.async_wait(boost::asio::use_awaitable);
  }
}

awaitable<result<void>> check_mark(store& records, milliseconds timeout, mark_rule rule) {
  const auto* pepper = core::pepper_in_use();
  const auto found = co_await records.find(pepper_mark_id(), timeout);
  if (!found) {
    // An operator's command must be able to see to it.
    const bool let_in = rule == mark_rule::compare && found.error().code == errc::record_unreadable;
    co_return let_in ? result<void>() : result<void>(found.error());
  }
  if (pepper == nullptr) {
    const bool marked = *found && is_mark((*found)->id, (*found)->stored.about);
    co_return marked ? result<void>(no_pepper()) : result<void>();
  }
  auto about = mark_of(*pepper);
  if (*found) {
    const auto& marked = (*found)->stored.about;
    if (!marked || marked->print != about->print) co_return other_pepper();
    if ((*found)->state == observed_state::completed) co_return result<void>();
  }
  if (rule == mark_rule::compare) co_return result<void>();
  if (!*found) {
    auto clear = co_await find_no_clear_key(records, timeout);
    if (!clear) co_return clear;
  }
  co_return co_await make_mark(records, std::move(about), timeout);
}

}  // namespace

result<std::unique_ptr<const core::key_pepper>> read_pepper(const std::string& path) {
  auto held = read_private_file(path, pepper_size_max);
  if (!held) return held.error();
  if (held->ends_with('\n')) held->pop_back();
  if (held->ends_with('\r')) held->pop_back();
  if (held->size() < pepper_size_min) {
    return refusal_of(path + ": a pepper has at least " + std::to_string(pepper_size_min) +
                      " bytes");
  }
  return std::make_unique<const core::key_pepper>(std::move(*held));
}

result<void> use_pepper(const std::string& path) {
  static std::mutex mutex;
  static std::string used;
  const std::lock_guard lock(mutex);
  if (path == used) return {};
  std::unique_ptr<const core::key_pepper> pepper;
  if (!path.empty()) {
    auto read = read_pepper(path);
    if (!read) return refusal_of("key pepper: " + read.error().detail);
    pepper = std::move(*read);
  }
  core::keep_keys_with(std::move(pepper));
  used = path;
  return {};
}

const record_id& pepper_mark_id() {
  static const auto id = make_record_id(make_scope_digest(mark_scope_kind, ""), mark_key);
  return id;
}

result<void> check_pepper(store& records, milliseconds timeout, mark_rule rule) {
  boost::asio::io_context io(1);
  auto checked =
      boost::asio::co_spawn(io, check_mark(records, timeout, rule), boost::asio::use_future);
  io.run();
  return checked.get();
}

void imported_keys::note(const imported_record& one) {
  const auto& about = one.stored.about;
  if (is_mark(one.id, about)) mark_ = about->print.value;
}

result<void> imported_keys::fit() const {
  const auto* pepper = core::pepper_in_use();
  if (!mark_) return {};
  if (pepper == nullptr) return no_pepper();
  return *mark_ == pepper->mark() ? result<void>() : result<void>(other_pepper());
}

result<void> imported_keys::keep(imported_record& one) const {
  const auto* pepper = core::pepper_in_use();
  const auto& about = one.stored.about;
  if (is_mark(one.id, about)) return {};
  const bool unknown = !about || about->key.empty();
  if (!unknown && core::is_kept_form(about->key)) {
    if (mark_) return {};
    return refusal_of(
        "key pepper: its key has the form that a pepper gives to keys, and the file has no mark "
        "that says which: export the whole store that it is from");
  }
  // Under a mark, the id of a record that nobody knows more of is that of a kept key.
  if (pepper == nullptr || (unknown && mark_)) return {};
  if (unknown) {
    return refusal_of("key pepper: nothing says what its key is, so that no repeat would find it");
  }
  if (claimed_by_application(one)) {
    return refusal_of(
        "key pepper: an application has claimed this key itself; it has no pepper, and would not "
        "find the record");
  }
  if (one.stored.answer && sealed::is_sealed(*one.stored.answer)) {
    return refusal_of("key pepper: its answer is encrypted for the key in the clear");
  }
  auto renamed = std::make_shared<subject>(*about);
  renamed->key = pepper->kept(about->key);
  one.id = make_record_id(renamed->scope, renamed->key);
  one.stored.about = std::move(renamed);
  return {};
}

}  // namespace onceguard
