// Claims, settles and other requests for the store suites, and a wrapper whose store calls wait for
// their replies.
#pragma once
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <onceguard/fingerprint.hpp>
#include <onceguard/store.hpp>

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/random.hpp"
#include "support/manual_clock.hpp"
#include "support/run.hpp"

namespace onceguard::testing {

inline constexpr milliseconds patience{10'000};
inline constexpr milliseconds second{1'000};
inline constexpr milliseconds lease_length{30'000};
inline constexpr milliseconds day{24 * 3'600'000};

inline subject_ptr subject_of(const std::string& key, const std::string& content = "body",
                              const std::string& method = "exact") {
  auto about = std::make_shared<subject>();
  about->scope = make_scope_digest("header:x-tenant", "acme");
  about->scope_kind = "header:x-tenant";
  about->key = key;
  about->method = "POST";
  about->path = "/v1/payments";
  about->route = "/v1";
  about->print.method = method;
  about->print.value = base::sha256_of(content);
  about->run_timeout = milliseconds(60'000);
  return about;
}

inline claim claim_of(const std::string& key, const std::string& content = "body") {
  claim out;
  out.about = subject_of(key, content);
  out.id = make_record_id(out.about->scope, key);
  base::random_bytes(out.claim_id);
  out.lease = lease_length;
  return out;
}

inline claim repeat_of(claim request) {
  request.repeated = true;
  return request;
}

inline answer_ptr answer_of(const std::string& body = "paid") {
  auto out = std::make_shared<answer>();
  out->status = 201;
  out->headers = {{"Link", "<a>"}, {"Content-Type", "text/plain"}, {"Link", "<b>"}};
  out->body = body;
  return out;
}

inline settlement settle_of(const claim& request, const lease& held,
                            settle_kind kind = settle_kind::complete) {
  settlement out;
  out.id = request.id;
  out.token = held.token;
  out.claim_id = held.claim_id;
  out.about = request.about;
  out.kind = kind;
  if (kind == settle_kind::complete) out.answer = answer_of();
  out.retention = day;
  return out;
}

inline extension extend_of(const claim& request, const lease& held, bool dispatch = false) {
  extension out;
  out.id = request.id;
  out.token = held.token;
  out.claim_id = held.claim_id;
  out.lease = lease_length;
  out.dispatch = dispatch;
  return out;
}

/// Wraps a store so that each call waits for its reply. Failures of the store are thrown as
/// std::logic_error, except by functions that return a `result`.
class blocking_store {
 public:
  explicit blocking_store(store& records) : store_(&records) {}
  /// Later calls go to `records`.
  void move_to(store& records) { store_ = &records; }
  [[nodiscard]] store& at() { return *store_; }

  std::vector<result<verdict>> claims(std::vector<onceguard::claim> batch,
                                      milliseconds timeout = patience) {
    return run(context_, store_->claim(std::move(batch), timeout));
  }
  std::vector<result<settled>> settles(std::vector<settlement> batch,
                                       milliseconds timeout = patience) {
    return run(context_, store_->settle(std::move(batch), timeout));
  }
  std::vector<result<bool>> extends(std::vector<extension> batch, milliseconds timeout = patience) {
    return run(context_, store_->extend(std::move(batch), timeout));
  }
  result<verdict> try_claim(const onceguard::claim& request, milliseconds timeout = patience) {
    return std::move(claims({request}, timeout).at(0));
  }
  verdict claim(const onceguard::claim& request) { return try_claim(request).value(); }
  settled settle(const settlement& request) { return settles({request}).at(0).value(); }
  bool extend(const extension& request) { return extends({request}).at(0).value(); }
  result<resolve_decision> try_resolve(const resolution& request) {
    return run(context_, store_->resolve(request, patience));
  }
  resolve_decision resolve(const resolution& request) { return try_resolve(request).value(); }
  result<import_outcome> try_import(const imported_record& request) {
    return run(context_, store_->import_record(request, patience));
  }
  import_outcome import_record(const imported_record& request) {
    return try_import(request).value();
  }
  result<std::optional<record_view>> try_find(const record_id& id) {
    return run(context_, store_->find(id, patience));
  }
  std::optional<record_view> find(const record_id& id) { return try_find(id).value(); }
  /// A record that must exist; its absence is thrown as std::logic_error.
  record_view seen(const record_id& id) {
    auto found = find(id);
    if (!found) throw std::logic_error("there is no record " + base::to_hex(id));
    return *std::move(found);
  }
  /// As its callers do, goes on where a page ended before it was full: it took the store too long.
  list_page list(const list_filter& filter = {}, const std::string& cursor = {},
                 std::size_t limit = 100) {
    auto out = run(context_, store_->list(filter, cursor, limit, patience)).value();
    while (!out.cursor.empty() && out.records.size() < limit) {
      const auto left = limit - out.records.size();
      auto more = run(context_, store_->list(filter, out.cursor, left, patience)).value();
      std::ranges::move(more.records, std::back_inserter(out.records));
      std::ranges::move(more.unreadable, std::back_inserter(out.unreadable));
      out.cursor = std::move(more.cursor);
    }
    return out;
  }
  std::uint64_t counted(observed_state state) {
    return counts_of_all().by_state[static_cast<std::size_t>(state)];
  }
  counts counts_of_all() {
    for (counts sum;;) {
      const auto piece = run(context_, store_->count(sum.cursor, patience)).value();
      for (std::size_t i = 0; i < sum.by_state.size(); ++i) sum.by_state[i] += piece.by_state[i];
      sum.unreadable += piece.unreadable;
      sum.cursor = piece.cursor;
      if (sum.cursor.empty()) return sum;
    }
  }
  result<std::size_t> try_sweep(std::size_t limit) {
    return run(context_, store_->sweep(limit, patience));
  }
  std::size_t sweep(std::size_t limit = 1'000) { return try_sweep(limit).value(); }
  /// As its callers do, goes on where a sweep ended early: some stores end one after a second.
  void sweep_whole() {
    for (int i = 0; i < 30; ++i) {
      const auto begun = base::boot_now();
      sweep();
      if (base::boot_now() - begun < second) return;
    }
  }
  result<onceguard::vitals> try_vitals() { return run(context_, store_->vitals(patience)); }
  onceguard::vitals vitals() { return try_vitals().value(); }

  /// Claims, and expects the verdict `run`.
  lease leased(const onceguard::claim& request) {
    const auto verdict = claim(request);
    EXPECT_EQ(verdict.kind, verdict_kind::run) << request.about->key;
    return verdict.lease;
  }
  /// A whole first request: a claim and its completion.
  lease completed(const onceguard::claim& request) {
    const auto held = leased(request);
    EXPECT_EQ(settle(settle_of(request, held)).outcome, settle_outcome::done);
    return held;
  }

 private:
  boost::asio::io_context context_;
  store* store_;
};

}  // namespace onceguard::testing
