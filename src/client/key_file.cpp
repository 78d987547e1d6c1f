#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <onceguard/client_key_file.hpp>

#include "base/descriptor.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/number_in.hpp"
#include "base/random.hpp"

namespace onceguard::client {
inline namespace v1 {
namespace {

constexpr std::string_view heading = "onceguard key 1\n";
constexpr std::size_t size_max = 1'024;

error key_file_failure(const std::string& path, const std::string& work) {
  return {errc::store_unreachable, path + ": " + work + ": " + std::strerror(errno)};
}

std::string fingerprint_of(const request& sent) {
  return base::to_hex(base::sha256().part(sent.method).part(sent.url).part(sent.body).finish());
}

/// A new name in the folder is on the disk once the folder is.
result<void> sync_folder(const std::string& path) {
  const auto slash = path.rfind('/');
  const auto folder = slash == path.npos ? std::string(".") : path.substr(0, slash + 1);
  const base::descriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.get() < 0 || ::fsync(file.get()) != 0) return key_file_failure(folder, "sync");
  return {};
}

/// A whole file of a name that nobody else takes, on the disk.
result<std::string> write_aside(const std::string& path, std::string_view text) {
  std::array<unsigned char, 8> random{};
  base::random_bytes(random);
  auto name = path + "." + base::to_hex(random) + ".new";
  const base::descriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0) return key_file_failure(name, "create");
  const auto written = ::write(file.get(), text.data(), text.size());
  const bool whole = written == static_cast<ssize_t>(text.size());
  if (!whole || ::fsync(file.get()) != 0) {
    auto why = key_file_failure(name, "write");
    ::unlink(name.c_str());
    return why;
  }
  return name;
}

/// Where a symbolic link points, so that what it names is written and the link stays.
std::string target_of(std::filesystem::path path) {
  constexpr int depth_max = 40;  // as the system follows
  std::error_code none;
  for (int i = 0; i < depth_max && std::filesystem::is_symlink(path, none); ++i) {
    path = path.parent_path() / std::filesystem::read_symlink(path, none);
  }
  return path.string();
}

/// The rest of the line behind `name`, cut off the text.
std::string_view take_line(std::string_view& text, std::string_view name) {
  const auto end = text.find('\n');
  if (!text.starts_with(name) || end == text.npos) return {};
  const auto value = text.substr(name.size(), end - name.size());
  text.remove_prefix(end + 1);
  return value;
}

}  // namespace

std::string key_file::text() const {
  std::string out(heading);
  out += "key " + key_ + "\nrequest " + fingerprint_ + "\n";
  out += "done " + std::to_string(done_status_) + "\n";
  return out + "sum " + base::digest_text(base::sha256_of(out)) + "\n";
}

result<void> key_file::read(const std::string& fingerprint) {
  const base::descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return key_file_failure(path_, "open");
  std::array<char, size_max> bytes{};
  const auto size = ::read(file.get(), bytes.data(), bytes.size());
  if (size < 0) return key_file_failure(path_, "read");
  // The process that made it may have crashed before it was on the disk.
  if (::fsync(file.get()) != 0) return key_file_failure(path_, "sync");
  const std::string_view whole(bytes.data(), static_cast<std::size_t>(size));
  auto rest = whole.substr(std::min(heading.size(), whole.size()));
  key_ = take_line(rest, "key ");
  fingerprint_ = take_line(rest, "request ");
  const auto status = take_line(rest, "done ");
  done_status_ = base::number_in<decltype(done_status_)>(status).value_or(0);
  const bool possible = done_status_ == 0 || (done_status_ >= 200 && done_status_ < 400);
  // What was read makes the same bytes, with their sum: else some of them were not understood.
  if (key_.empty() || !possible || text() != whole) {
    return error(errc::record_unreadable, path_ + ": is no key file, or a damaged one");
  }
  if (fingerprint_ != fingerprint) {
    return error(errc::conflict,
                 path_ + ": belongs to another request (its method, URL or body differ)");
  }
  return {};
}

result<key_file> key_file::open(std::string path, const request& sent) {
  key_file out;
  out.path_ = target_of(std::move(path));
  out.fingerprint_ = fingerprint_of(sent);
  out.key_ = make_key();
  if (::access(out.path_.c_str(), F_OK) != 0) {
    const auto made = write_aside(out.path_, out.text());
    if (!made) return made.error();
    // The name appears with its whole content, or not at all.
    const bool linked = ::link(made->c_str(), out.path_.c_str()) == 0;
    out.found_ = !linked;
    const auto why = linked || errno == EEXIST ? error() : key_file_failure(out.path_, "create");
    ::unlink(made->c_str());
    if (!why.detail.empty()) return why;
  }
  const auto fingerprint = out.fingerprint_;
  if (auto read = out.read(fingerprint); !read) return std::move(read).error();
  if (auto synced = sync_folder(out.path_); !synced) return std::move(synced).error();
  return out;
}

result<void> key_file::mark_done(std::uint16_t status) {
  if (::access(path_.c_str(), F_OK) != 0) {
    return error(errc::not_found, path_ + ": was removed meanwhile");
  }
  key_file present;
  present.path_ = path_;
  const auto read = present.read(fingerprint_);
  const bool other = read ? present.key_ != key_ : read.error().code == errc::conflict;
  if (other) return error(errc::conflict, path_ + ": belongs to another operation by now");
  if (!read) return read.error();
  present.done_status_ = status;
  const auto made = write_aside(path_, present.text());
  if (!made) return made.error();
  if (::rename(made->c_str(), path_.c_str()) != 0) {
    auto why = key_file_failure(path_, "replace");
    ::unlink(made->c_str());
    return why;
  }
  done_status_ = status;
  return sync_folder(path_);
}

}  // namespace v1
}  // namespace onceguard::client
