#include "journal_process.hpp"

#include <cerrno>
#include <utility>

#include <boost/asio/post.hpp>

namespace onceguard::sim {

/// Files are small: in some seconds, segments begin and go, and checkpoints are written. But the
/// records of all keys fit into one segment, or a sweep would move them for ever.
journal_process::journal_process(world& around, machine& node, std::uint64_t seed)
    : world_(around),
      node_(node),
      random_(seed),
      segment_size_(std::uint64_t{4'096} << random_.between(0, 3)),
      checkpoint_after_(std::uint64_t{2'048} << random_.between(0, 6)),
      cache_size_(random_.chance(50) ? 0 : 4'096) {
  disk_.on_act([this](simulated_disk::act_kind kind) { return meet_act(kind); });
}

result<store*> journal_process::target() const {
  if (!opened_) return error(errc::store_unreachable, "the simulated journal is not open");
  return opened_.get();
}

journal::journal_params journal_process::make_params() {
  journal::journal_params out;
  out.path = "simulated";
  out.clock = &clock_;
  out.segment_size = segment_size_;
  out.cache_size = cache_size_;
  out.checkpoint_after = checkpoint_after_;
  out.files = [this](const std::string&) -> result<std::unique_ptr<journal::file_layer>> {
    return disk_.mount();
  };
  out.run_soon = [this](std::function<void()> turn) { run_later(std::move(turn)); };
  return out;
}

result<void> journal_process::start() {
  cut_off_ = false;
  auto opened = journal::journal_store::open(make_params());
  if (!opened) return opened.error();
  opened_ = std::move(*opened);
  return {};
}

void journal_process::end(bool power_cut) {
  cut_off_ = true;
  opened_.reset();
  if (!power_cut) return;
  disk_.cut_power(static_cast<std::uint32_t>(random_.next()));
  clock_.id = "boot " + std::to_string(++boots_);
  node_.clock.boot_shift = random_.between(0, 1'500) * millisecond - world_.now();
}

/// While a worker is on its way to its turn, more calls come: they share a flush.
void journal_process::run_later(std::function<void()> turn) {
  if (!node_.up) return;  // the store ends, and with it what it had left to do
  const auto wait = hurried_ ? 0 : random_.between(20, 1'500) * (millisecond / 1'000);
  world_.after_on(node_, wait, [this, turn = std::move(turn)] {
    // Behind what an earlier turn has to answer.
    boost::asio::post(*node_.loop, [this, turn] {
      if (cut_off_) return;
      decided_at_ = world_.now();
      turn();
    });
  });
}

int journal_process::meet_act(simulated_disk::act_kind kind) {
  if (cut_off_) return EIO;
  if (const auto* crash = world_.next_of(disturbance_kind::crash_at_act)) {
    on_crash(*crash);
    return EIO;
  }
  if (const auto* failing = world_.next_of(disturbance_kind::disk_error)) {
    if (failing->where == 0) return EIO;
    full_until_ = world_.now() + failing->length.count() * millisecond;
  }
  const bool full = world_.now() < full_until_ && !world_.calm();
  if (full && kind == simulated_disk::act_kind::grow) return ENOSPC;
  if (kind != simulated_disk::act_kind::flush) return 0;
  if (const auto* slow = world_.next_of(disturbance_kind::slow_flush)) {
    world_.stop_machine(node_, slow->length);
  }
  return 0;
}

}  // namespace onceguard::sim
