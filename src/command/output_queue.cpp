#include "command/output_queue.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace onceguard {
namespace {

constexpr std::size_t most_in_memory = 256u << 10;

base::descriptor nameless_file(const std::string& folder) {
  const char* const temporary = std::getenv("TMPDIR");
  for (const auto& location : {folder, std::string(temporary == nullptr ? "" : temporary),
                               std::string("/var/tmp"), std::string("/tmp")}) {
    if (location.empty()) continue;
    // Without a name: the file goes with the process, however that ends.
    base::descriptor made(
        ::open(location.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (made.is_open()) return made;
  }
  return {};
}

}  // namespace

output_queue::output_queue(std::string folder, std::uint64_t most_on_disk)
    : folder_(std::move(folder)), most_on_disk_(most_on_disk) {}

void output_queue::add(output_stream stream, std::string_view bytes) {
  if (bytes.empty()) return;
  const std::lock_guard lock(mutex_);
  const bool in_turn = in_file_.empty() && behind_.empty();
  if (in_turn && memory_used_ < most_in_memory) {
    memory_used_ += bytes.size();
    in_memory_.push_back({stream, std::string(bytes)});
  } else if (!behind_.empty() || !to_disk(stream, bytes)) {
    behind_.push_back({stream, std::string(bytes)});
    overflowing_ = true;
  }
  changed_.notify_one();
}

bool output_queue::to_disk(output_stream stream, std::string_view bytes) {
  if (no_disk_ || written_to_ + bytes.size() > most_on_disk_) return false;
  if (!file_.is_open()) file_ = nameless_file(folder_);
  for (auto left = bytes; !left.empty();) {
    const auto offset = written_to_ + (bytes.size() - left.size());
    const auto written =
        ::pwrite(file_.get(), left.data(), left.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      no_disk_ = true;  // what is in the file can still be read
      return false;
    }
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  written_to_ += bytes.size();
  in_file_.push_back({stream, bytes.size()});
  return true;
}

bool output_queue::is_full() const {
  const std::lock_guard lock(mutex_);
  return overflowing_;
}

void output_queue::on_room(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  room_ = std::move(call);
}

void output_queue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_one();
}

void output_queue::from_disk() {
  while (!in_file_.empty() && memory_used_ < most_in_memory) {
    const auto next = in_file_.front();
    in_file_.pop_front();
    std::string bytes(next.size, '\0');
    std::size_t got = 0;
    while (got < bytes.size()) {
      const auto size = ::pread(file_.get(), bytes.data() + got, bytes.size() - got,
                                static_cast<off_t>(read_at_ + got));
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;  // what the disk lost is not shown
      got += static_cast<std::size_t>(size);
    }
    read_at_ += next.size;
    bytes.resize(got);
    memory_used_ += got;
    if (got > 0) in_memory_.push_back({next.stream, std::move(bytes)});
  }
  if (!in_file_.empty()) return;
  if (written_to_ > 0) static_cast<void>(::ftruncate(file_.get(), 0));
  written_to_ = read_at_ = 0;
  for (; !behind_.empty(); behind_.pop_front()) {
    memory_used_ += behind_.front().bytes.size();
    in_memory_.push_back(std::move(behind_.front()));
  }
}

std::optional<output_piece> output_queue::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || !in_memory_.empty(); });
  if (in_memory_.empty()) return std::nullopt;
  auto out = std::move(in_memory_.front());
  in_memory_.pop_front();
  memory_used_ -= out.bytes.size();
  if (in_memory_.empty()) from_disk();
  if (overflowing_ && behind_.empty()) {
    overflowing_ = false;
    if (room_) room_();
  }
  return out;
}

}  // namespace onceguard
