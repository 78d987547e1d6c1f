// A request to the library: the operation that runs once.
#pragma once
#include <string>
#include <utility>

namespace onceguard {
inline namespace v1 {

/// One operation that may arrive more than once. A request with the same (scope_kind, scope, key)
/// from another process, or from `onceguard.claim` in SQL, is the same operation.
struct request {
  std::string scope;        ///< the owner of the key: a key never crosses scopes
  std::string key;          ///< the idempotency key: 1 to 255 bytes
  std::string fingerprint;  ///< the other data that makes two requests the same; only the SHA-256
                            ///< of this text is kept
  std::string scope_kind = "application";  ///< kinds of scopes are apart from each other
  std::string method;  ///< shown to operators beside the key: the kind of operation; may be empty
  std::string path;    ///< shown to operators: the operation; may be empty

  /// An operation of the kind "application".
  request(std::string of_scope, std::string with_key, std::string with_fingerprint = {})
      : scope(std::move(of_scope)),
        key(std::move(with_key)),
        fingerprint(std::move(with_fingerprint)) {}
};

}  // namespace v1
}  // namespace onceguard
