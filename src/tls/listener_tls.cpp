#include "tls/listener_tls.hpp"

#include <string>
#include <vector>

namespace onceguard::tls {

listener_tls::listener_tls(server_files files) : files_(std::move(files)) {
  if (files_.certificate.empty()) return;
  known_.emplace(files_.certificate);
  std::vector<std::string> paths{files_.certificate, files_.key};
  if (!files_.client_ca.empty()) paths.push_back(files_.client_ca);
  watch_ = std::make_unique<base::file_watch>(std::move(paths), [this, held = files_] {
    return [this, made = make_server_context(held)] { take_again(made); };
  });
}

result<void> listener_tls::read() {
  if (files_.certificate.empty()) return {};
  return take(make_server_context(files_));
}

result<void> listener_tls::take(const result<context>& made) {
  if (!made) return made.error();
  const std::lock_guard lock(mutex_);
  latest_ = *made;
  return {};
}

void listener_tls::reread() {
  if (!files_.certificate.empty()) take_again(make_server_context(files_));
}

void listener_tls::take_again(const result<context>& made) { known_->read_again(take(made)); }

context listener_tls::latest() const {
  if (files_.certificate.empty()) return {};  // nothing changes it
  const std::lock_guard lock(mutex_);
  return latest_;
}

}  // namespace onceguard::tls
