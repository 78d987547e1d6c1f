// Claims, settles and extensions as calls of scripts, and their replies.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include <onceguard/decide.hpp>

#include "store/redis/request.hpp"

namespace onceguard::redis {

struct claims {
  static constexpr bool writes = true;
  using item = claim;
  using outcome = verdict;
  [[nodiscard]] static std::optional<error> complaint(const claim& request);
  /// `unheard`: the claim was sent before, and no answer arrived.
  static void write(std::string& text, const script_calls& scripts, const keyspace& names,
                    const claim& request, bool unheard = false);
  [[nodiscard]] static result<verdict> read(const reply& reply, const claim& request);

  /// Whether the claim may be sent as a first claim, which is set if there is no record.
  [[nodiscard]] static bool may_be_first(const claim& request);
  static void write_first(std::string& text, const keyspace& names, const claim& request,
                          token given);
  [[nodiscard]] static verdict granted_first(const claim& request, token given);
};

struct settles {
  static constexpr bool writes = true;
  using item = settlement;
  using outcome = settled;
  [[nodiscard]] static std::optional<error> complaint(const settlement& request);
  static void write(std::string& text, const script_calls& scripts, const keyspace& names,
                    const settlement& request);
  [[nodiscard]] static result<settled> read(const reply& reply, const settlement& request);
};

struct extensions {
  static constexpr bool writes = true;
  using item = extension;
  using outcome = bool;
  [[nodiscard]] static std::optional<error> complaint(const extension& request);
  static void write(std::string& text, const script_calls& scripts, const keyspace& names,
                    const extension& request);
  [[nodiscard]] static result<bool> read(const reply& reply, const extension& request);
};

/// An item of a batch: a claim, a settle or an extension.
template <class Kind>
struct batch_part : request {
  [[nodiscard]] std::optional<error> complaint() const override { return Kind::complaint(item); }
  [[nodiscard]] const record_id* about() const noexcept override { return &item.id; }
  void write(std::string& text, const script_calls& scripts, const keyspace& names) const override {
    Kind::write(text, scripts, names, item);
  }
  [[nodiscard]] bool carries_generation() const noexcept override { return Kind::writes; }
  void arrived(const reply& reply) override { outcome.emplace(Kind::read(reply, item)); }
  void fail(const error& why) override { outcome.emplace(why); }

  typename Kind::item item;
  std::optional<result<typename Kind::outcome>> outcome;
};

/// A claim, which may need no script.
struct claim_part final : batch_part<redis::claims> {
  void write(std::string& text, const script_calls& scripts, const keyspace& names) const override {
    redis::claims::write(text, scripts, names, item, doubtful);
  }
  [[nodiscard]] bool claims() const noexcept override { return true; }
  [[nodiscard]] bool write_plainly(std::string& text, const keyspace& names,
                                   token_block& tokens) override {
    if (doubtful || !redis::claims::may_be_first(item)) return false;
    const auto taken = tokens.take(base::boot_now());
    if (taken) redis::claims::write_first(text, names, item, given = *taken);
    return taken.has_value();
  }
  void done_plainly() override { outcome.emplace(redis::claims::granted_first(item, given)); }

  token given = 0;
};

template <class Kind>
struct part_of {
  using type = batch_part<Kind>;
};
template <>
struct part_of<claims> {
  using type = claim_part;
};

/// A call with items of one kind, one request for each item.
template <class Kind>
class batch_job final : public job {
 public:
  using item_type = typename Kind::item;
  using outcome_type = typename Kind::outcome;

  batch_job(std::vector<item_type> items, milliseconds timeout)
      : job(timeout), parts_(items.size()) {
    for (std::size_t i = 0; i < items.size(); ++i) parts_[i].item = std::move(items[i]);
  }
  [[nodiscard]] std::size_t size() const noexcept override { return parts_.size(); }
  [[nodiscard]] request& part(std::size_t i) noexcept override { return parts_[i]; }

  /// For the caller, once resumed: one outcome for each item.
  [[nodiscard]] std::vector<result<outcome_type>> outcomes() {
    std::vector<result<outcome_type>> out;
    out.reserve(size());
    for (auto& each : parts_) {
      if (lapse()) {
        out.push_back(*lapse());
      } else {
        out.push_back(std::move(*each.outcome));
      }
    }
    return out;
  }

 private:
  std::vector<typename part_of<Kind>::type> parts_;
};

}  // namespace onceguard::redis
