// The bytes that a connection has received and its reader has not consumed.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace onceguard::http1 {

/// A growing window of bytes. Pinned bytes keep their address until release(), however much is
/// received meanwhile: when the space behind them is full, receiving continues in another block.
class input_buffer {
 public:
  static constexpr std::size_t first_capacity = 4096;

  [[nodiscard]] std::span<char> prepare(std::size_t least);
  void commit(std::size_t count);

  [[nodiscard]] std::string_view unread() const noexcept {
    return {receiving_.bytes.get() + begin_, end_ - begin_};
  }
  void consume(std::size_t count) noexcept { begin_ += count; }
  /// Consumes `count` bytes and keeps them at their address. Once per release().
  void pin(std::size_t count) noexcept {
    begin_ += count;
    floor_ = begin_;
  }
  void release() noexcept { floor_ = 0; }

 private:
  struct block {
    std::unique_ptr<char[]> bytes;
    std::size_t capacity = 0;
  };
  static block make_block(std::size_t capacity);
  void make_room(std::size_t least);

  block receiving_;
  block other_;            ///< the pinned block, once receiving continues in another; otherwise a
                           ///< spare block
  std::size_t floor_ = 0;  ///< the end of the pinned bytes in receiving_; 0: none
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace onceguard::http1
