#include "store/journal/checkpoint.hpp"

#include <cstring>
#include <vector>

#include "base/hash.hpp"
#include "store/journal/bytes.hpp"
#include "store/journal/open_journal.hpp"
#include "store/journal/window.hpp"

namespace onceguard::journal {
namespace {

constexpr std::string_view mark = "onceguard journal checkpoint";
constexpr std::uint32_t format = 2;
constexpr std::size_t position_size = 4 + 8 + 8 + 8;
constexpr std::size_t entry_size = 64;
constexpr std::size_t piece = 1'024;  // entries in a block, and looked at under the lock
constexpr std::size_t block_header_size = 16;

/// Stored: never renumber.
enum class block_kind : std::uint32_t { head = 1, entries = 2, end = 3 };

/// A block fits at one place of one kind only.
std::uint64_t sum_of(block_kind kind, std::uint64_t block, std::string_view body) noexcept {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  return base::checksum_of(body) ^ (block * 4 + static_cast<std::uint64_t>(kind)) * odd;
}

void put_position(std::string& target, const log_position& position) {
  put(target, position.segment);
  put(target, position.offset);
  put(target, position.group);
  put(target, position.commit);
}

log_position take_position(std::string_view& source) {
  log_position out;
  out.segment = take<std::uint32_t>(source);
  out.offset = take<std::uint64_t>(source);
  out.group = take<std::uint64_t>(source);
  out.commit = take<std::uint64_t>(source);
  return out;
}

void put_entry(std::string& target, const key_entry& entry) {
  target.append(base::as_chars(entry.id));
  put(target, entry.number);
  put(target, entry.expires_at);
  put(target, entry.location.segment);
  put(target, entry.location.step);
  put(target, entry.location.body_size);
  put(target, static_cast<std::uint8_t>(entry.state));
  put(target, static_cast<std::uint8_t>(entry.unreadable));
  put(target, std::uint16_t{0});
}

key_entry take_entry(std::string_view& source) {
  key_entry out;
  std::memcpy(out.id.data(), source.data(), out.id.size());
  source.remove_prefix(out.id.size());
  out.number = take<std::uint64_t>(source);
  out.expires_at = take<std::int64_t>(source);
  out.location.segment = take<std::uint32_t>(source);
  out.location.step = take<std::uint32_t>(source);
  out.location.body_size = take<std::uint32_t>(source);
  out.state = static_cast<record_state>(take<std::uint8_t>(source));
  out.unreadable = take<std::uint8_t>(source) != 0;
  source.remove_prefix(2);
  return out;
}

/// Appends blocks to a file, and flushes it now and then: one flush of all at the end would make
/// those of the log wait.
class block_writer {
 public:
  explicit block_writer(file& target) : target_(target) {}

  /// 0, or the errno.
  [[nodiscard]] int add(block_kind kind, std::string_view body) {
    constexpr std::uint64_t flushed_every = 4 << 20;
    std::string block;
    put(block, static_cast<std::uint32_t>(kind));
    put(block, static_cast<std::uint32_t>(body.size()));
    put(block, sum_of(kind, number_++, body));
    block += body;
    if (const int failed = target_.write(block, size_); failed != 0) return failed;
    size_ += block.size();
    if (size_ - flushed_ < flushed_every) return 0;
    flushed_ = size_;
    return target_.flush();
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  file& target_;
  std::uint64_t number_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t flushed_ = 0;
};

class writing {
 public:
  writing(open_journal& source, file& target) : journal_(source), out_(target) {}

  /// 0, or the errno. After a stop the file is not whole.
  [[nodiscard]] int run(const std::atomic<bool>& stopped) {
    int failed = out_.add(block_kind::head, head());
    while (failed == 0 && !stopped) {
      const auto block = next_entries();
      if (block.empty()) break;
      failed = out_.add(block_kind::entries, block);
    }
    return failed != 0 ? failed : out_.add(block_kind::end, end());
  }
  [[nodiscard]] written_checkpoint written() const noexcept { return {keys_, out_.size()}; }

 private:
  std::string head() {
    std::string out(mark);
    out.resize(32, '\0');
    put(out, format);
    const std::lock_guard locked(journal_.lock);
    out += journal_.raw_identity();
    put_position(out, journal_.log->position());
    put(out, std::uint64_t{journal_.table.size()});
    auto state = journal_.state;
    state.wall = journal_.guard.memory();
    return out += encode(state);
  }
  std::string next_entries() {
    std::string out;
    out.reserve(piece * entry_size);
    std::size_t seen = 0;
    const std::lock_guard locked(journal_.lock);
    journal_.table.walk(after_, [&](const key_entry& entry) {
      put_entry(out, entry);
      after_ = entry.number;
      return ++seen < piece;
    });
    keys_ += seen;
    return out;
  }
  std::string end() {
    std::string out;
    const std::lock_guard locked(journal_.lock);
    put_position(out, journal_.log->position());
    put(out, keys_);
    return out;
  }

  open_journal& journal_;
  block_writer out_;
  std::uint64_t after_ = 0;
  std::uint64_t keys_ = 0;
};

class reading {
 public:
  reading(const file& source, key_table& table, std::uint32_t first)
      : seen_(source), table_(table), first_(first) {}

  /// Empty: it was read.
  [[nodiscard]] std::string run(checkpoint& out) {
    const auto head = next(block_kind::head);
    if (!head || !take_head(*head, out)) return "its head is damaged, or of an unknown format";
    for (;;) {
      if (const auto entries = next(block_kind::entries)) {
        if (!take_entries(*entries)) return "a block of it is damaged";
        continue;
      }
      auto end = next(block_kind::end);
      if (!end || end->size() != position_size + sizeof(std::uint64_t)) break;
      out.end = take_position(*end);
      return take<std::uint64_t>(*end) == keys_ ? std::string() : "keys are missing in it";
    }
    return seen_.failed() != 0 ? std::strerror(seen_.failed()) : "it is damaged, or not whole";
  }

 private:
  /// None: there is no whole block of this kind here.
  std::optional<std::string_view> next(block_kind kind) {
    auto header = seen_.at(offset_, block_header_size);
    if (header.size() < block_header_size) return std::nullopt;
    const auto found = take<std::uint32_t>(header);
    const auto size = take<std::uint32_t>(header);
    const auto sum = take<std::uint64_t>(header);
    if (found != static_cast<std::uint32_t>(kind) || size > piece * entry_size) return std::nullopt;
    const auto body = seen_.at(offset_ + block_header_size, size);
    if (body.size() != size || sum_of(kind, block_, body) != sum) return std::nullopt;
    ++block_;
    offset_ += block_header_size + size;
    return body;
  }
  bool take_head(std::string_view body, checkpoint& out) {
    if (body.size() < 32 + 4 + identity_size + position_size + sizeof(std::uint64_t) ||
        !body.starts_with(mark)) {
      return false;
    }
    body.remove_prefix(32);
    if (take<std::uint32_t>(body) != format) return false;
    out.identity = body.substr(0, identity_size);
    body.remove_prefix(identity_size);
    out.begin = take_position(body);
    // By what was summed up, and not by the file's size: that may be anything.
    table_.reserve(take<std::uint64_t>(body));
    auto state = decode_state(body);
    if (state) out.state = std::move(*state);
    return state.has_value();
  }
  bool take_entries(std::string_view body) {
    if (body.empty() || body.size() % entry_size != 0) return false;
    entries_.clear();
    while (!body.empty()) {
      ++keys_;
      const auto entry = take_entry(body);
      if (entry.location.segment >= first_) entries_.push_back(entry);
    }
    table_.put_unordered(entries_);
    return true;
  }

  window seen_;
  key_table& table_;
  const std::uint32_t first_;
  std::vector<key_entry> entries_;  // of the block
  std::uint64_t offset_ = 0;
  std::uint64_t block_ = 0;
  std::uint64_t keys_ = 0;
};

}  // namespace

result<std::optional<written_checkpoint>> write_checkpoint(open_journal& source,
                                                           const std::atomic<bool>& stopped) {
  auto& files = source.files();
  auto opened = files.open(new_checkpoint_name, open_file::created);
  if (!opened) return opened.error();
  writing made(source, **opened);
  int failed = made.run(stopped);
  if (failed == 0 && !stopped) failed = (*opened)->flush();
  if (failed != 0 || stopped) {
    static_cast<void>(files.remove(new_checkpoint_name));  // the next attempt begins it anew
    if (failed != 0) return to_error(failed, files.location(), "write a checkpoint");
    return std::optional<written_checkpoint>();
  }
  if (auto named = files.rename(new_checkpoint_name, checkpoint_name); !named) return named.error();
  if (auto flushed = files.flush_names(); !flushed) return flushed.error();
  return std::optional(made.written());
}

read_outcome read_checkpoint(file_layer& files, key_table& table, std::uint32_t first) {
  auto opened = files.open(checkpoint_name, open_file::existing);
  if (!opened) return {std::nullopt, opened.error().detail};
  checkpoint out;
  auto fault = reading(**opened, table, first).run(out);
  if (fault.empty()) return {std::move(out), {}};
  table.clear();
  return {std::nullopt, std::move(fault)};
}

}  // namespace onceguard::journal
