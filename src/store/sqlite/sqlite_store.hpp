// The embedded store: one SQLite file, which several processes of one machine may share.
#pragma once
#include <memory>
#include <mutex>

#include <onceguard/store.hpp>

#include "store/registry.hpp"
#include "store/sqlite/reader.hpp"
#include "store/sqlite/sqlite_params.hpp"
#include "store/sqlite/writer.hpp"
#include "store/store_overrides.hpp"

namespace onceguard::sqlite {

/// Stops SQLite's count of its memory, for which SQLite takes a lock at each allocation, and lets a
/// connection take the memory of a page when it needs the page, and not of twenty at its beginning.
/// For programs that use SQLite through this code only, as the settings hold for the whole process.
/// Call it before any other function of SQLite, while there is one thread; later calls have no
/// effect.
void set_up_library() noexcept;

/// The version of the library that runs, not of the one that this program was built with.
[[nodiscard]] const char* library_version() noexcept;

/// Claims and settles of all callers that wait at the same time share one durable commit. Callers
/// are coroutines on io_contexts, each of which is run by one thread. Stop the store before the
/// last of these io_contexts ends.
class sqlite_store final : public store {
 public:
  /// Opens or creates the file; blocks. errc::invalid_argument: the location or the file is
  /// unsuitable. errc::store_unreachable: also a directory or a right that is missing.
  [[nodiscard]] static result<std::unique_ptr<sqlite_store>> open(sqlite_params params);
  ~sqlite_store() override { stop(); }

  ONCEGUARD_STORE_OVERRIDES;
  boost::asio::awaitable<result<void>> check_writes(milliseconds timeout) override;
  [[nodiscard]] std::vector<store_number> numbers() const override;

 private:
  sqlite_store(std::unique_ptr<const sqlite_params> params, std::unique_ptr<session> opened);

  const std::unique_ptr<const sqlite_params> params_;
  std::mutex stopping_;
  writer writer_;
  reader reader_;
};

}  // namespace onceguard::sqlite

namespace onceguard {

/// Opens the store of a URL `sqlite:PATH`.
[[nodiscard]] const store_kind& sqlite_store_kind() noexcept;

}  // namespace onceguard
