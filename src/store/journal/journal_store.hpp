// The journal store: an append-only log in a folder that one process owns, and a table of all keys
// in memory.
#pragma once
#include <memory>
#include <mutex>

#include <onceguard/store.hpp>

#include "store/journal/journal_params.hpp"
#include "store/journal/open_journal.hpp"
#include "store/journal/reader.hpp"
#include "store/journal/writer.hpp"
#include "store/store_overrides.hpp"

namespace onceguard::journal {

/// Claims and settles of all callers that wait at the same time share one flush. Callers are
/// coroutines on io_contexts, each of which is run by one thread. Stop the store before the last of
/// these io_contexts ends.
class journal_store final : public store {
 public:
  /// Opens or creates the folder, and recovers what is there; blocks. errc::invalid_argument: the
  /// location is unsuitable. errc::store_lost: files are damaged or missing.
  /// errc::store_unreachable: another process has the folder open, or a right is missing.
  [[nodiscard]] static result<std::unique_ptr<journal_store>> open(journal_params params);
  ~journal_store() override { stop(); }

  ONCEGUARD_STORE_OVERRIDES;
  boost::asio::awaitable<result<void>> check_writes(milliseconds timeout) override;
  [[nodiscard]] std::vector<store_number> numbers() const override;

 private:
  journal_store(std::unique_ptr<const journal_params> params, std::unique_ptr<open_journal> opened);

  const std::unique_ptr<const journal_params> params_;
  std::mutex stopping_;
  const std::unique_ptr<open_journal> journal_;
  writer writer_;
  reader reader_;
};

}  // namespace onceguard::journal
