// Answers encrypted at rest, above whatever store keeps them: answers are sealed on their way in
// and opened on their way out.
#pragma once
#include <memory>
#include <string>

#include "store/forwarding_store.hpp"
#include "store/sealed/key_ring.hpp"

namespace onceguard::sealed {

/// Without a key ring, nothing is sealed, and a sealed answer is an error; claims and settles are
/// those of the store below, so that they cost nothing: who uses their answers calls refuse_sealed.
/// What was stored in the clear is read as it is. An answer that can't be opened is
/// errc::record_unreadable: it is not lost, and its operation is not run again. To the holder of a
/// lease who settles, it is that with effect::done.
/// What an operator gives for a key that applications claim in their own sessions, and what settles
/// by_application, stays in the clear there: they have no ring.
class sealed_store final : public forwarding_store {
 public:
  /// `keys_file`: of the ring; empty: none. The error says what is wrong with the file.
  [[nodiscard]] static result<std::unique_ptr<store>> over(std::unique_ptr<store> kept,
                                                           const std::string& keys_file);
  ~sealed_store() override { stop(); }

  boost::asio::awaitable<std::vector<result<verdict>>> claim(std::vector<onceguard::claim> batch,
                                                             milliseconds timeout) override;
  boost::asio::awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                              milliseconds timeout) override;
  boost::asio::awaitable<result<resolve_decision>> resolve(resolution request,
                                                           milliseconds timeout) override;
  boost::asio::awaitable<result<import_outcome>> import_record(imported_record request,
                                                               milliseconds timeout) override;
  boost::asio::awaitable<result<std::optional<record_view>>> find(record_id id,
                                                                  milliseconds timeout) override;
  boost::asio::awaitable<result<list_page>> list(list_filter filter, std::string cursor,
                                                 std::size_t limit, milliseconds timeout) override;
  void on_settled(settled_listener listener) override { kept_->on_settled(std::move(listener)); }

 private:
  sealed_store(std::unique_ptr<store> kept, std::unique_ptr<ring_file> keys)
      : kept_(std::move(kept)), keys_(std::move(keys)) {}

  [[nodiscard]] result<store*> target() const override { return kept_.get(); }
  [[nodiscard]] key_ring_ptr ring() const { return keys_ ? keys_->keys() : nullptr; }
  boost::asio::awaitable<std::vector<result<verdict>>> claim_opening(
      std::vector<onceguard::claim> batch, milliseconds timeout);
  boost::asio::awaitable<std::vector<result<settled>>> settle_opening(std::vector<settlement> batch,
                                                                      milliseconds timeout);
  boost::asio::awaitable<std::vector<result<settled>>> settle_sealed(std::vector<settlement> batch,
                                                                     key_ring_ptr ring,
                                                                     milliseconds timeout);
  /// Whether sessions of applications read the record's answer.
  boost::asio::awaitable<result<bool>> read_by_applications(const resolution& request,
                                                            milliseconds timeout);

  const std::unique_ptr<store> kept_;
  const std::unique_ptr<ring_file> keys_;  // null: no ring
};

}  // namespace onceguard::sealed
