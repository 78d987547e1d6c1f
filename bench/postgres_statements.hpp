// The store's statements by libpq alone, as the store sends them or with one thing changed.
#pragma once
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "bare_client.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "store/postgres/batching/batch_trip.hpp"
#include "store/postgres/batching/dispatcher.hpp"
#include "store/postgres/connection/session_setup.hpp"

namespace onceguard::bench {

using postgres::request;
using postgres::statement_call;

inline constexpr std::int64_t day_ms = 86'400'000;

/// What is cut out of the statements' texts: all from the first word to the end of the second one.
struct cut {
  const char *first, *last, *instead;
};
inline const std::map<std::string_view, cut> cuts{
    {"unlocked", {"pg_try_advisory_xact_lock(", ")", "true"}},
    {"uncounted", {"EXISTS (SELECT FROM granted", ")", "false"}},
    {"subjects_uncompared", {"r.subject = ", "i.subject", "true"}},
};

inline constexpr std::array<std::string_view, 8> other_variants{
    "as_they_are", "unflushed", "text",        "a_statement_each",
    "unprepared",  "awaited",   "two_commits", "unchecked"};

inline std::string without(std::string text, const cut& away) {
  if (const auto first = text.find(away.first); first != std::string::npos) {
    const auto end = text.find(away.last, first) + std::string_view(away.last).size();
    text.replace(first, end - first, away.instead);
  }
  return text;
}

/// The parameters of the statements as text.
class text_parameters {
 public:
  explicit text_parameters(const std::vector<request>& all) {
    for (const auto& each : all) {
      if (const auto* row = std::get_if<postgres::completion>(&each.content)) {
        add(completions_, {bytes(each.id), bytes(row->lease), number(row->token),
                           number(postgres::lock_of(each.id)), number(row->retention_ms),
                           number(row->flags), bytes(row->subject), bytes(row->outcome)});
      } else {
        const auto& first = std::get<postgres::first_claim>(each.content);
        add(claims_, {bytes(each.id), bytes(first.lease), number(postgres::lock_of(each.id)),
                      number(first.lease_ms), first.into_started ? "t" : "f",
                      number(first.unknown_retention_ms), number(first.retention_ms),
                      number(first.flags), bytes(first.subject)});
      }
    }
  }

  bool send(PGconn* here, const postgres::statement& sent, const std::string& identity,
            std::int64_t connection) {
    std::vector<std::string> values{identity, "0", "{", "{"};
    if (&sent == &postgres::complete_batch) values = completions_;
    if (&sent == &postgres::claim_batch) values = claims_;
    for (auto& each : values) {
      if (each.front() == '{') each += '}';
    }
    if (&sent == &postgres::claim_batch) {
      values.insert(values.end(), {std::to_string(connection), "0"});
    }
    std::vector<const char*> items;
    for (const auto& each : values) items.push_back(each.c_str());
    return PQsendQueryPrepared(here, sent.name, static_cast<int>(items.size()), items.data(),
                               nullptr, nullptr, 1) == 1;
  }

 private:
  static std::string number(std::int64_t value) { return std::to_string(value); }
  static std::string bytes(std::span<const unsigned char> value) {
    return R"("\\x)" + base::to_hex(value) + '"';
  }
  static std::string bytes(const std::string& value) {
    return bytes(std::span(reinterpret_cast<const unsigned char*>(value.data()), value.size()));
  }
  static void add(std::vector<std::string>& columns, const std::vector<std::string>& row) {
    columns.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      columns[i] += columns[i].empty() ? "{" : ",";
      columns[i] += row[i];
    }
  }

  std::vector<std::string> completions_, claims_;
};

/// Each trip completes the records of the trip before, and claims as many.
class statement_batches {
 public:
  statement_batches(const char* url, std::string_view variant, const answer& kept)
      : client_(url), variant_(variant), kept_(kept) {
    client_.run_together(std::vector{0}, [](PGconn* here, int) {
      return send_settings(here, patience, postgres::validity::session);
    });
    if (variant == "unflushed") client_.run("SET synchronous_commit = off");
    const auto changed = cuts.find(variant);
    bool known = std::ranges::count(other_variants, variant) == 1;
    for (const auto* each :
         {&postgres::complete_batch, &postgres::claim_batch, &postgres::check_memory}) {
      const auto text = changed == cuts.end() ? each->text : without(each->text, changed->second);
      known = known || text != each->text;
      client_.prepare({each->name, text.c_str()});
    }
    if (!known) {
      std::fprintf(stderr, "nothing is measured as %s\n", std::string(variant).c_str());
      std::exit(2);
    }
    identity_ = PQgetvalue(client_.run("SELECT identity FROM onceguard.meta").get(), 0, 0);
    dispatcher_.read_memory(identity_, 0);
    // Connections count in rows of their own, or wait for each other.
    connection_ = std::stoll(PQgetvalue(client_.run("SELECT pg_backend_pid()").get(), 0, 0));
  }

  void trip(std::size_t count) {
    auto all = std::exchange(completions_, {});
    std::vector<claim> claims;
    for (std::size_t i = 0; i < count; ++i) {
      claims.push_back(make_claim());
      all.push_back(first_claim_of(claims.back()));
    }
    send(all);
    for (const auto& each : all) {
      if (!each.got.written) std::abort();
      if (const auto* row = std::get_if<postgres::first_claim>(&each.content)) {
        completions_.push_back(completion_of(each.id, *row, each.got.token));
      }
    }
  }

 private:
  static request first_claim_of(const claim& made) {
    postgres::first_claim row;
    row.lease = made.claim_id;
    row.lease_ms = 30'000;
    row.retention_ms = day_ms;
    row.subject = postgres::sealed_subject(made.id, made.claim_id, *made.about);
    request out;
    out.id = made.id;
    out.content = std::move(row);
    return out;
  }
  request completion_of(const record_id& id, const postgres::first_claim& claimed,
                        token granted) const {
    postgres::completion row;
    row.lease = claimed.lease;
    row.token = static_cast<std::int64_t>(granted);
    row.retention_ms = day_ms;
    row.subject = claimed.subject;
    row.outcome = postgres::sealed_outcome(id, claimed.lease, answer_kept::full, &kept_);
    request out;
    out.id = id;
    out.content = std::move(row);
    return out;
  }

  /// What the store's own trip sends and reads, or one trip for each request.
  void send(std::vector<request>& all) {
    const bool singly = variant_ == "a_statement_each";
    std::vector<std::unique_ptr<postgres::batch_trip>> trips;
    std::vector<postgres::entry> entries;
    for (auto& each : all) {
      entries.push_back({.job = nullptr, .request = &each});
      if (!singly && &each != &all.back()) continue;
      trips.push_back(std::make_unique<postgres::batch_trip>(dispatcher_, std::move(entries)));
      entries.clear();
    }
    std::vector<statement_call> calls;
    std::vector<std::size_t> sizes;
    for (const auto& each : trips) {
      auto mine = each->calls(connection_);
      // Once for all of a transaction.
      const bool checked = mine.back().sent == &postgres::check_memory;
      if (checked && (variant_ == "unchecked" || each != trips.back())) mine.pop_back();
      sizes.push_back(mine.size());
      std::move(mine.begin(), mine.end(), std::back_inserter(calls));
    }
    auto results = carry_out(calls, all);
    auto next = std::make_move_iterator(results.begin());
    for (std::size_t i = 0; i < trips.size(); ++i) {
      std::vector<postgres::result_ptr> mine(next, next + static_cast<std::ptrdiff_t>(sizes[i]));
      next += static_cast<std::ptrdiff_t>(sizes[i]);
      mine.emplace_back();  // of what was not checked
      trips[i]->read(mine);
    }
  }

  std::vector<postgres::result_ptr> carry_out(std::vector<statement_call>& calls,
                                              const std::vector<request>& all) {
    if (variant_ == "text") {
      text_parameters values(all);
      return client_.run_together(calls, [&](PGconn* here, const statement_call& each) {
        return values.send(here, *each.sent, identity_, connection_);
      });
    }
    if (variant_ == "unprepared") {
      return client_.run_together(calls, [](PGconn* here, const statement_call& each) {
        return each.values.send_text(here, each.sent->text);
      });
    }
    if (variant_ != "awaited" && variant_ != "two_commits") return client_.run_together(calls);
    std::vector<postgres::result_ptr> out;
    const auto add = [&](std::vector<statement_call> some) {
      auto results = client_.run_together(some);
      std::move(results.begin(), results.end(), std::back_inserter(out));
    };
    if (variant_ == "awaited") {
      client_.run("BEGIN");
      for (auto& each : calls) add({std::move(each)});
      client_.run("COMMIT");
      return out;
    }
    // The memory is checked in the transaction of the claims.
    const auto claims = calls.end() - 2;
    add({std::make_move_iterator(calls.begin()), std::make_move_iterator(claims)});
    add({std::make_move_iterator(claims), std::make_move_iterator(calls.end())});
    return out;
  }

  bare_client client_;
  const std::string_view variant_;
  const answer& kept_;
  std::string identity_;
  std::int64_t connection_ = 0;
  const std::string name_ = "bench";
  const postgres::postgres_params params_;
  postgres::dispatcher dispatcher_{params_, name_};
  std::vector<request> completions_;
};

}  // namespace onceguard::bench
