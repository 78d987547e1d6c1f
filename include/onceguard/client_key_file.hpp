// A key that outlives the client: it is on the disk before the first attempt, so that a client that
// crashed and was started again sends the same request with the same key.
#pragma once
#include <cstdint>
#include <string>

#include <onceguard/client.hpp>
#include <onceguard/error.hpp>

namespace onceguard::client {
inline namespace v1 {

/// One file holds the key of one request. Several processes may open the same file at once: all get
/// the same key. A symbolic link is followed, and stays. Blocks for the disk.
class key_file {
 public:
  /// Reads the file, or makes it with a new key. When this returns, file and folder are synced.
  /// errc::conflict: the file belongs to another request (method, URL or body differ);
  /// errc::record_unreadable: it is no key file, or a damaged one; errc::store_unreachable: it
  /// can't be read or written.
  [[nodiscard]] static result<key_file> open(std::string path, const request& sent);

  /// The key in the file.
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  /// The file was there before: an earlier run may have sent the request. For
  /// request::maybe_sent_before.
  [[nodiscard]] bool found() const noexcept { return found_; }
  /// The status of the success that an earlier run ended with; 0: there was none. The request is
  /// not to be sent again then: a service forgets keys after a while.
  [[nodiscard]] std::uint16_t done_status() const noexcept { return done_status_; }

  /// Records that the request succeeded, with a status from 200 to 399: 204 if its answer is not to
  /// be had. The file stays: whoever wants the operation a second time
  /// removes it. A file that is not this operation's any more stays as it is, or away:
  /// errc::conflict, errc::not_found. Other errors are those of `open`.
  [[nodiscard]] result<void> mark_done(std::uint16_t status);

 private:
  key_file() = default;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] result<void> read(const std::string& fingerprint);

  std::string path_;
  std::string key_;
  std::string fingerprint_;
  std::uint16_t done_status_ = 0;
  bool found_ = true;
};

}  // namespace v1
}  // namespace onceguard::client
