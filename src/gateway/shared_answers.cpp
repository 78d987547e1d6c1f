#include "gateway/shared_answers.hpp"

#include "engine/held_bytes.hpp"

namespace onceguard::gateway {

struct shared_answers::entry {
  entry(shared_answers& answers, const record_id& slot_id, answer_ptr a)
      : owner(answers), id(slot_id), answer(std::move(a)), room(answers.room_) {}
  entry(const entry&) = delete;
  entry& operator=(const entry&) = delete;
  ~entry() {
    const std::lock_guard lock(owner.mutex_);
    const auto found = owner.by_id_.find(id);
    // Another entry may have replaced this one.
    if (found != owner.by_id_.end() && found->second.expired()) owner.by_id_.erase(found);
  }

  shared_answers& owner;
  const record_id id;
  const answer_ptr answer;
  byte_reservation room;
};

shared_answers::~shared_answers() = default;

answer_ptr shared_answers::share(const record_id& id, answer_ptr answer,
                                 std::size_t left_for_others) {
  std::shared_ptr<entry> on_its_way;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_id_.find(id); found != by_id_.end()) {
      on_its_way = found->second.lock();
    }
  }
  // The answers differ if the key was released and the operation ran again meanwhile.
  if (on_its_way && (on_its_way->answer == answer || *on_its_way->answer == *answer)) {
    const auto* theirs = on_its_way->answer.get();
    return {std::move(on_its_way), theirs};
  }
  auto made = std::make_shared<entry>(*this, id, std::move(answer));
  if (!made->room.grow_to(bytes_of(*made->answer), left_for_others)) return nullptr;
  {
    const std::lock_guard lock(mutex_);
    by_id_[id] = made;
  }
  const auto* ours = made->answer.get();
  return {std::move(made), ours};
}

}  // namespace onceguard::gateway
