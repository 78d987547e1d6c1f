#include "store/sealed/sealed_store.hpp"

#include <utility>

#include "core/application_scope.hpp"
#include "store/pepper.hpp"
#include "store/sealed/sealed_answer.hpp"

namespace onceguard::sealed {
namespace {

using boost::asio::awaitable;

/// What the holder of the lease must know of the record's answer.
void open_settled(result<settled>& reply, const record_id& id, const answer_ptr& sent,
                  const key_ring* ring) {
  if (!reply || !reply->answer) return;
  const auto opened = open_if_sealed(reply->answer, id, ring);
  const bool counts = reply->outcome == settle_outcome::done;
  if (!opened && counts) {
    // The record's answer counts. It may be another than the holder's, which must not be sent then.
    auto why = opened.error();
    why.effect = effect::done;
    reply = std::move(why);
    return;
  }
  // Sealed once more, the same answer is other bytes.
  const bool same = opened && counts && sent && *sent == *reply->answer;
  if (!opened || same) {
    reply->answer = nullptr;
    reply->kept = answer_kept::none;
  }
}

/// Whether applications may claim the key in their own sessions. SQLite: the file is theirs alone;
/// in PostgreSQL, onceguard.claim takes these kinds of scopes.
bool claimed_by_applications(const store_traits& where, const subject* about) {
  if (!where.transactional) return false;
  if (where.name == "sqlite") return true;
  return about != nullptr && is_of_applications(*about);
}

}  // namespace

result<std::unique_ptr<store>> sealed_store::over(std::unique_ptr<store> kept,
                                                  const std::string& keys_file) {
  std::unique_ptr<ring_file> keys;
  if (!keys_file.empty()) {
    keys = std::make_unique<ring_file>(keys_file);
    if (const auto read = keys->read(); !read) {
      return error(errc::invalid_argument, "encryption keys: " + read.error().detail);
    }
  }
  return std::unique_ptr<store>(new sealed_store(std::move(kept), std::move(keys)));
}

awaitable<std::vector<result<verdict>>> sealed_store::claim(std::vector<onceguard::claim> batch,
                                                            milliseconds timeout) {
  if (!keys_) return kept_->claim(std::move(batch), timeout);
  return claim_opening(std::move(batch), timeout);
}

awaitable<std::vector<result<verdict>>> sealed_store::claim_opening(
    std::vector<onceguard::claim> batch, milliseconds timeout) {
  std::vector<record_id> ids;
  ids.reserve(batch.size());
  for (const auto& each : batch) ids.push_back(each.id);
  auto replies = co_await kept_->claim(std::move(batch), timeout);
  key_ring_ptr keys;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (!replies[i] || !needs_opening(replies[i]->answer)) continue;
    if (!keys) keys = ring();
    const auto opened = open_if_sealed(replies[i]->answer, ids[i], keys.get());
    if (!opened) replies[i] = opened.error();
  }
  co_return replies;
}

awaitable<std::vector<result<settled>>> sealed_store::settle(std::vector<settlement> batch,
                                                             milliseconds timeout) {
  if (!keys_) return kept_->settle(std::move(batch), timeout);
  return settle_opening(std::move(batch), timeout);
}

awaitable<std::vector<result<settled>>> sealed_store::settle_opening(std::vector<settlement> batch,
                                                                     milliseconds timeout) {
  std::vector<std::pair<record_id, answer_ptr>> sent;
  sent.reserve(batch.size());
  for (const auto& each : batch) sent.emplace_back(each.id, each.answer);
  const auto keys = ring();
  auto replies = co_await settle_sealed(std::move(batch), keys, timeout);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    open_settled(replies[i], sent[i].first, sent[i].second, keys.get());
  }
  co_return replies;
}

awaitable<std::vector<result<settled>>> sealed_store::settle_sealed(std::vector<settlement> batch,
                                                                    key_ring_ptr keys,
                                                                    milliseconds timeout) {
  const auto where = kept_->traits();
  std::vector<std::optional<error>> refused(batch.size());
  std::vector<settlement> sealed_ones;
  sealed_ones.reserve(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const bool in_the_clear =
        batch[i].by_application && claimed_by_applications(where, batch[i].about.get());
    if (batch[i].answer && !in_the_clear) {
      auto made = seal(*batch[i].answer, {batch[i].id, batch[i].token}, keys->active());
      if (!made) {
        refused[i] = made.error();
        continue;
      }
      batch[i].answer = std::move(*made);
    }
    sealed_ones.push_back(std::move(batch[i]));
  }
  auto replies = co_await kept_->settle(std::move(sealed_ones), timeout);
  std::vector<result<settled>> out;
  out.reserve(refused.size());
  auto next = replies.begin();
  for (auto& each : refused) {
    if (each) {
      out.emplace_back(std::move(*each));
    } else {
      out.push_back(std::move(*next++));
    }
  }
  co_return out;
}

awaitable<result<resolve_decision>> sealed_store::resolve(resolution request,
                                                          milliseconds timeout) {
  if (pepper_mark_id() == request.id) {
    co_return error(errc::invalid_argument,
                    "this record is the mark of the store's key pepper, and no operation");
  }
  const auto keys = ring();
  if (keys && request.answer) {
    const auto in_the_clear = co_await read_by_applications(request, timeout);
    if (!in_the_clear) co_return in_the_clear.error();
    if (!*in_the_clear) {
      auto made = seal(*request.answer, {request.id, request.token}, keys->active());
      if (!made) co_return made.error();
      request.answer = std::move(*made);
    }
  }
  co_return co_await kept_->resolve(std::move(request), timeout);
}

/// The id stands for the scope, so that what is found here holds for whatever record is resolved.
awaitable<result<bool>> sealed_store::read_by_applications(const resolution& request,
                                                           milliseconds timeout) {
  const auto where = kept_->traits();
  auto about = request.about;
  if (where.transactional) {
    auto found = co_await kept_->find(request.id, timeout);
    if (!found && found.error().code != errc::record_unreadable) co_return found.error();
    if (found && *found) about = (*found)->stored.about;
  }
  co_return claimed_by_applications(where, about.get());
}

/// A record in the clear is sealed as it comes in, unless applications read what they, or an
/// operator, have stored there; what is sealed stays as it is. A record that is there already must
/// look the same when it is imported once more.
awaitable<result<import_outcome>> sealed_store::import_record(imported_record request,
                                                              milliseconds timeout) {
  // This store has its own, of the same pepper, since it was opened.
  if (request.id == pepper_mark_id()) co_return import_outcome::already_there;
  const auto keys = ring();
  auto& kept = request.stored.answer;
  const auto& about = request.stored.about;
  const bool in_the_clear = (request.stored.by_application || request.stored.by_operator) &&
                            claimed_by_applications(kept_->traits(), about.get());
  if (keys && kept && !is_sealed(*kept) && !in_the_clear) {
    const auto there = co_await kept_->find(request.id, timeout);
    if (!there) co_return there.error();
    auto former = *there ? (*there)->stored.answer : nullptr;
    auto plain = former;
    const bool same = former && open_if_sealed(plain, request.id, keys.get()) && *plain == *kept;
    if (same) {
      kept = std::move(former);
    } else {
      auto made = seal(*kept, {request.id, request.stored.token}, keys->active());
      if (!made) co_return made.error();
      kept = std::move(*made);
    }
  }
  co_return co_await kept_->import_record(std::move(request), timeout);
}

awaitable<result<std::optional<record_view>>> sealed_store::find(record_id id,
                                                                 milliseconds timeout) {
  auto found = co_await kept_->find(id, timeout);
  if (found && *found) {
    const auto keys = ring();
    const auto opened = open_record(**found, keys.get());
    if (!opened) co_return opened.error();
  }
  co_return found;
}

awaitable<result<list_page>> sealed_store::list(list_filter filter, std::string cursor,
                                                std::size_t limit, milliseconds timeout) {
  auto page = co_await kept_->list(std::move(filter), std::move(cursor), limit, timeout);
  if (page) {
    std::erase_if(page->records, [](const auto& seen) { return seen.id == pepper_mark_id(); });
    const auto keys = ring();
    for (auto& seen : page->records) open_or_leave_out(seen, keys.get());
  }
  co_return page;
}

}  // namespace onceguard::sealed
