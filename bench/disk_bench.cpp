// How long a disk takes for one group of a log, by the way in which the group is written:
//   disk_bench FOLDER ROUNDS MILLISECONDS
// Prints for each size and way the median, the least and the largest of the rounds, and the
// processor time of this process. Each round has all ways in turn, each in a file of its own.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <liburing.h>
#include <string>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"

namespace {

using namespace onceguard;

constexpr std::size_t block = 4'096;
constexpr off_t file_size = off_t{64} << 20;

[[noreturn]] void give_up(const char* act, int number) {
  std::fprintf(stderr, "disk_bench: %s: %s\n", act, std::strerror(number));
  std::exit(1);
}

void check(const char* act, bool right) {
  if (!right) give_up(act, errno);
}

/// Memory as `O_DIRECT` wants it.
class aligned_buffer {
 public:
  aligned_buffer(std::size_t size, char filler)
      : size_(size), bytes_(static_cast<char*>(std::aligned_alloc(block, size))) {
    check("allocate", bytes_ != nullptr);
    std::memset(bytes_, filler, size);
  }
  aligned_buffer(const aligned_buffer&) = delete;
  aligned_buffer& operator=(const aligned_buffer&) = delete;
  ~aligned_buffer() { std::free(bytes_); }
  [[nodiscard]] char* data() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  const std::size_t size_;
  char* const bytes_;
};

/// A write and the flush behind it in one system call.
class ring {
 public:
  ring() : failed_(::io_uring_queue_init(4, &ring_, 0)) {}
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  ~ring() {
    if (failed_ == 0) ::io_uring_queue_exit(&ring_);
  }
  /// A container, or the kernel's settings, may forbid it.
  [[nodiscard]] bool is_there() const noexcept { return failed_ == 0; }
  void write_and_flush(int file, const aligned_buffer& bytes, off_t offset) {
    auto* const write = ::io_uring_get_sqe(&ring_);
    ::io_uring_prep_write(write, file, bytes.data(), static_cast<unsigned>(bytes.size()),
                          static_cast<std::uint64_t>(offset));
    write->flags |= chained;
    ::io_uring_prep_fsync(::io_uring_get_sqe(&ring_), file, IORING_FSYNC_DATASYNC);
    if (const int done = ::io_uring_submit_and_wait(&ring_, 2); done < 0) {
      give_up("io_uring_submit_and_wait", -done);
    }
    for (int i = 0; i < 2; ++i) {
      io_uring_cqe* reply = nullptr;
      if (const int done = ::io_uring_wait_cqe(&ring_, &reply); done < 0) {
        give_up("io_uring_wait_cqe", -done);
      }
      if (reply->res < 0) give_up("write or flush by io_uring", -reply->res);
      ::io_uring_cqe_seen(&ring_, reply);
    }
  }

 private:
  /// Of an entry, behind which the next one waits (the flag of bit 2 of io_uring_enter(2)).
  static constexpr unsigned char chained = 1U << 2U;

  ::io_uring ring_{};
  const int failed_;
};

enum class blocks : std::uint8_t { reserved, written };

struct way {
  const char* name;
  blocks before;
  int flags;  ///< with which the file is opened
  std::function<void(int file, const aligned_buffer& bytes, off_t offset)> write;
};

void write_plainly(int file, const aligned_buffer& bytes, off_t offset) {
  const auto done = ::pwrite(file, bytes.data(), bytes.size(), offset);
  check("write", done == static_cast<ssize_t>(bytes.size()));
}

void write_and_flush(int file, const aligned_buffer& bytes, off_t offset) {
  write_plainly(file, bytes, offset);
  check("fdatasync", ::fdatasync(file) == 0);
}

void write_through(int file, const aligned_buffer& bytes, off_t offset) {
  const iovec part{bytes.data(), bytes.size()};
  const auto done = ::pwritev2(file, &part, 1, offset, RWF_DSYNC);
  check("write with RWF_DSYNC", done == static_cast<ssize_t>(bytes.size()));
}

std::vector<way> ways_of(ring& submitted) {
  const auto by_ring = [&submitted](int file, const aligned_buffer& bytes, off_t offset) {
    submitted.write_and_flush(file, bytes, offset);
  };
  std::vector<way> out{
      {"fdatasync, reserved blocks", blocks::reserved, 0, write_and_flush},
      {"fdatasync, written blocks", blocks::written, 0, write_and_flush},
      {"RWF_DSYNC, written blocks", blocks::written, 0, write_through},
      {"O_DIRECT|O_DSYNC, reserved blocks", blocks::reserved, O_DIRECT | O_DSYNC, write_plainly},
      {"O_DIRECT|O_DSYNC, written blocks", blocks::written, O_DIRECT | O_DSYNC, write_plainly}};
  if (submitted.is_there()) {
    out.push_back({"io_uring, reserved blocks", blocks::reserved, 0, by_ring});
    out.push_back({"io_uring, written blocks", blocks::written, 0, by_ring});
  }
  return out;
}

base::descriptor open_new(const std::string& path, const way& chosen) {
  ::unlink(path.c_str());
  {
    const base::descriptor made(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    check("create", made.is_open());
    if (const int failed = ::posix_fallocate(made.get(), 0, file_size); failed != 0) {
      give_up("reserve", failed);
    }
    const aligned_buffer zeros(std::size_t{1} << 20, '\0');
    for (off_t end = 0; chosen.before == blocks::written && end < file_size;
         end += static_cast<off_t>(zeros.size())) {
      write_plainly(made.get(), zeros, end);
    }
    check("fsync", ::fsync(made.get()) == 0);
  }
  base::descriptor opened(::open(path.c_str(), O_RDWR | O_CLOEXEC | chosen.flags));
  check("open", opened.is_open());
  return opened;
}

double processor_us() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(used.ru_utime) + us(used.ru_stime);
}

struct sample {
  double took = 0;  ///< microseconds for one group
  double used = 0;
};

sample measure(const std::string& path, const way& chosen, std::size_t size,
               std::chrono::milliseconds length) {
  const auto file = open_new(path, chosen);
  const aligned_buffer bytes(size, 'x');
  const auto step = static_cast<off_t>(size);
  int groups = 0;
  const double used = processor_us();
  const auto begin = std::chrono::steady_clock::now();
  auto passed = begin - begin;
  for (off_t offset = 0; passed < length && offset + step <= file_size; offset += step) {
    chosen.write(file.get(), bytes, offset);
    ++groups;
    passed = std::chrono::steady_clock::now() - begin;
  }
  return {std::chrono::duration<double, std::micro>(passed).count() / groups,
          (processor_us() - used) / groups};
}

double median(std::vector<double> all) {
  std::ranges::sort(all);
  return all[all.size() / 2];
}

void compare(const std::string& path, const std::vector<way>& ways, std::size_t size, int rounds,
             std::chrono::milliseconds length) {
  std::vector<std::vector<double>> took(ways.size());
  std::vector<std::vector<double>> used(ways.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const auto one = measure(path, ways[i], size, length);
      took[i].push_back(one.took);
      used[i].push_back(one.used);
    }
  }
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const auto [least, largest] = std::ranges::minmax(took[i]);
    std::printf("%5zu KiB  %-34s %6.0f us (%.0f to %.0f), processor %.0f us\n", size / 1'024,
                ways[i].name, median(took[i]), least, largest, median(used[i]));
  }
}

}  // namespace

int main(int count, char** words) {
  const int rounds = count == 4 ? std::atoi(words[2]) : 0;
  const std::chrono::milliseconds length(count == 4 ? std::atoi(words[3]) : 0);
  if (rounds <= 0 || length.count() <= 0) {
    std::fprintf(stderr, "disk_bench FOLDER ROUNDS MILLISECONDS\n");
    return 2;
  }
  const auto path = std::string(words[1]) + "/disk-bench";
  ring submitted;
  if (!submitted.is_there()) std::printf("io_uring is not to be had here\n");
  const auto ways = ways_of(submitted);
  for (const std::size_t size : {4'096, 16'384, 65'536}) {
    compare(path, ways, size, rounds, length);
  }
  ::unlink(path.c_str());
  return 0;
}
