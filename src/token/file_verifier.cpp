#include "token/file_verifier.hpp"

#include <mutex>
#include <vector>

#include "base/clock.hpp"
#include "base/file_text.hpp"
#include "base/file_watch.hpp"
#include "base/log.hpp"

namespace onceguard::tokens {
namespace {

constexpr std::size_t file_size_max = 1u << 20;

using key_set = std::shared_ptr<const std::vector<key>>;

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
    const auto keys = present();
    return tokens::verify(token, claim, *keys, rules_, base::system_clock().wall_ms() / 1'000);
  }

 private:
  result<void> take(const result<key_set>& keys) {
    if (!keys) return keys.error();
    const std::lock_guard lock(mutex_);
    keys_ = *keys;
    return {};
  }

  void take_again(const result<key_set>& keys) {
    if (const auto done = take(keys); !done) {
      base::log(base::event::file_refused, {{"path", path_}, {"why", done.error().detail}});
    } else {
      base::log(base::event::file_read_again, {{"path", path_}});
    }
  }

  key_set present() const {
    const std::lock_guard lock(mutex_);
    return keys_;
  }

  const std::string path_;
  const rules rules_;
  mutable std::mutex mutex_;  // for the pointer alone
  key_set keys_ = std::make_shared<const std::vector<key>>();
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

}  // namespace onceguard::tokens
