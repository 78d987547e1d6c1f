// What inboxes that handle several messages in one transaction share.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/inbox.hpp>

namespace onceguard::messaging {

/// A batch in which each id stands once: `first[i]` is the position of the first message with the
/// id of the message i. Messages whose id can't be one have an outcome at once.
struct batch_plan {
  std::vector<std::size_t> first;
  std::vector<std::size_t> to_claim;  ///< positions
  std::vector<std::optional<inbox_outcome>> outcomes;

  batch_plan(std::span<const inbox_message> batch, const inbox_policy& policy);
  /// All outcomes, when those of `to_claim` are there.
  [[nodiscard]] std::vector<inbox_outcome> finish(std::span<const inbox_message> batch) &&;

 private:
  bool compare_;
};

/// Of a message in a batch whose record can't be read: it did not run, and comes again.
[[nodiscard]] inbox_outcome unreadable(std::string why, const inbox_policy& policy);

/// `process` for each message alone, after the transaction of them all has failed. One whose record
/// can't be read does not keep the others from being handled.
template <class Process>
[[nodiscard]] result<std::vector<inbox_outcome>> one_by_one(std::span<const inbox_message> batch,
                                                            const inbox_policy& policy,
                                                            const Process& process) {
  std::vector<inbox_outcome> all;
  for (const auto& message : batch) {
    auto one = process(std::span(&message, 1));
    if (!one && one.error().code == errc::record_unreadable) {
      all.push_back(unreadable(std::move(one).error().detail, policy));
      continue;
    }
    if (!one) return one.error();
    all.push_back(std::move(one->front()));
  }
  return all;
}

/// The outcome of the only message.
[[nodiscard]] inline result<inbox_outcome> only(result<std::vector<inbox_outcome>> all) {
  if (!all) return all.error();
  return std::move(all->front());
}

}  // namespace onceguard::messaging
