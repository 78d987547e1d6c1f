#include "jwt/file_verifier.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "base/file_text.hpp"
#include "base/file_watch.hpp"
#include "base/hash.hpp"
#include "base/watched_files.hpp"

namespace onceguard::jwt {
namespace {

constexpr std::size_t file_size_max = 1u << 20;

using key_set = std::shared_ptr<const std::vector<key>>;

/// Of some keys that name an issuer and some that don't, the latter would verify anybody's tokens.
std::string fault_of_issuers(const std::vector<key>& keys, const rules& rules) {
  if (!rules.issuer.empty()) return {};
  const auto named = static_cast<std::size_t>(
      std::count_if(keys.begin(), keys.end(), [](const key& k) { return !k.issuer().empty(); }));
  if (named == 0 || named == keys.size()) return {};
  return "has keys with a member iss and keys without; give it to all, or set issuer";
}

result<key_set> read_file(const std::string& path) {
  const auto text = base::read_file(path, file_size_max);
  if (!text) return text.error();
  auto keys = read_key_set(*text);
  if (!keys) return keys.error();
  return std::make_shared<const std::vector<key>>(std::move(*keys));
}

class file_verifier final : public token_verifier {
 public:
  file_verifier(std::string path, rules rules)
      : path_(std::move(path)), rules_(std::move(rules)), watch_({path_}, [this, path = path_] {
          return [this, keys = read_file(path)] { take_again(keys); };
        }) {}

  result<void> read() { return take(read_file(path_)); }

  result<std::string> verify(std::string_view token, std::string_view claim) const override {
    const auto signer = signer_of(token);
    if (!signer.fault.empty()) return error(errc::invalid_argument, signer.fault);
    // Only the signature is remembered: the times count anew with each request.
    return read_claim(token, claim, signer.issuer, rules_, base::system_clock().wall_ms() / 1'000);
  }

  bool knows(std::string_view token) const override {
    // It is refused at once, without a hash or a signature.
    if (token.size() > token_size_max) return true;
    const std::lock_guard lock(mutex_);
    return find(base::sha256_of(token)).has_value();
  }

 private:
  result<void> take(const result<key_set>& keys) {
    if (!keys) return keys.error();
    if (auto fault = fault_of_issuers(**keys, rules_); !fault.empty()) {
      return error(errc::invalid_argument, std::move(fault));
    }
    const std::lock_guard lock(mutex_);
    keys_ = *keys;
    recent_.clear();
    older_.clear();
    return {};
  }

  void take_again(const result<key_set>& keys) { known_.read_again(take(keys)); }

  /// Remembered, as the same token comes with each request of its caller.
  signature_finding signer_of(std::string_view token) const {
    if (token.size() > token_size_max) return find_signer(token, {});
    const auto id = base::sha256_of(token);
    key_set keys;
    {
      const std::lock_guard lock(mutex_);
      if (auto known = find(id)) return std::move(*known);
      keys = keys_;
    }
    auto found = find_signer(token, *keys);
    const std::lock_guard lock(mutex_);
    // What other keys said, which were replaced meanwhile, must not be remembered as of these.
    if (keys == keys_) remember(id, found);
    return found;
  }

  // Under the mutex. What was not asked for while the newer half filled up is forgotten.
  static constexpr std::size_t half_size = 4'096;

  std::optional<signature_finding> find(const digest& id) const {
    if (const auto known = recent_.find(id); known != recent_.end()) return known->second;
    const auto known = older_.find(id);
    if (known == older_.end()) return std::nullopt;
    auto out = known->second;
    remember(id, out);
    return out;
  }
  void remember(const digest& id, const signature_finding& found) const {
    if (recent_.size() >= half_size) older_ = std::exchange(recent_, {});
    recent_[id] = found;
  }

  const std::string path_;
  const rules rules_;
  mutable std::mutex mutex_;  // for the pointer and the memory alone
  key_set keys_ = std::make_shared<const std::vector<key>>();
  mutable std::map<digest, signature_finding> recent_;
  mutable std::map<digest, signature_finding> older_;
  base::watched_file known_{path_};
  base::file_watch watch_;  // the last: its thread uses the others
};

}  // namespace

result<std::shared_ptr<const token_verifier>> open_file_verifier(const std::string& keys_file,
                                                                 rules rules) {
  auto made = std::make_shared<file_verifier>(keys_file, std::move(rules));
  if (auto read = made->read(); !read) {
    return error(errc::invalid_argument, keys_file + ": " + read.error().detail);
  }
  return std::shared_ptr<const token_verifier>(std::move(made));
}

bool names_issuers(const std::string& keys_file) {
  const auto keys = read_file(keys_file);
  return keys && std::none_of((*keys)->begin(), (*keys)->end(),
                              [](const key& one) { return one.issuer().empty(); });
}

}  // namespace onceguard::jwt
