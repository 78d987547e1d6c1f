// Answers encrypted at rest: what is bound to what, the key ring, and the store above a store.
#include <fstream>
#include <set>
#include <string>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/imported_record.hpp"
#include "store/memory/memory_store.hpp"
#include "store/record_errors.hpp"
#include "store/sealed/sealed_answer.hpp"
#include "store/sealed/sealed_store.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard::sealed {
namespace {

using namespace onceguard::testing;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string first_key(64, 'a');
const std::string second_key(64, 'b');

class sealed_test : public ::testing::Test {
 protected:
  void write_keys(const std::string& text, mode_t mode = 0600) const {
    std::ofstream(keys_, std::ios::trunc) << text;
    ::chmod(keys_.c_str(), mode);
  }
  [[nodiscard]] key_ring ring_of(const std::string& text) const {
    write_keys(text);
    return key_ring::read(keys_).value();
  }
  [[nodiscard]] std::string fault_of(const std::string& text, mode_t mode = 0600) const {
    write_keys(text, mode);
    const auto read = key_ring::read(keys_);
    return read ? std::string() : read.error().detail;
  }

  temporary_folder folder_;
  const std::string keys_ = folder_.file("keys");
};

std::string whole_of(const answer& kept) {
  std::string out = kept.body;
  for (const auto& [name, value] : kept.headers) out += name + value;
  return out;
}

TEST_F(sealed_test, a_ring_is_lines_of_ids_and_keys) {
  const auto ring = ring_of("# ours\n\nnew " + second_key + "\n  old " + first_key +
                            "\nb64 qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqo=\n");
  EXPECT_EQ(ring.active().id, "new");
  ASSERT_NE(ring.find("old"), nullptr);
  ASSERT_NE(ring.find("b64"), nullptr);
  EXPECT_EQ(ring.find("old")->bytes, ring.find("b64")->bytes);
  EXPECT_EQ(ring.find("other"), nullptr);
}

TEST_F(sealed_test, a_ring_says_what_is_wrong_and_never_a_key) {
  EXPECT_THAT(fault_of(""), HasSubstr("holds no key"));
  EXPECT_THAT(fault_of("k1 " + first_key, 0604), HasSubstr("chmod o-rwx"));
  EXPECT_THAT(fault_of("k1 " + first_key + "\nk1 " + second_key),
              HasSubstr("line 2: the id \"k1\" stands there twice"));
  EXPECT_THAT(fault_of("k1\n"), HasSubstr("line 1: expected \"ID KEY\""));
  EXPECT_THAT(fault_of("k1 " + first_key + " more"), HasSubstr("expected \"ID KEY\""));
  EXPECT_THAT(fault_of("k/1 " + first_key), HasSubstr("line 1: an id has"));
  const auto fault = fault_of("k1 " + first_key.substr(2));
  EXPECT_THAT(fault, HasSubstr("a key is 32 bytes"));
  EXPECT_THAT(fault, Not(HasSubstr("aaaa")));
  EXPECT_THAT(key_ring::read(folder_.file("none")).error().detail, HasSubstr("can't be read"));
}

TEST_F(sealed_test, an_answer_opens_as_it_was) {
  const auto ring = ring_of("k1 " + first_key);
  for (const auto& body : {std::string(), std::string("paid"), std::string("\0x\xff", 3)}) {
    const auto plain = answer_of(body);
    const auto made = seal(*plain, {claim_of("a").id, 7}, ring.active()).value();
    EXPECT_TRUE(is_sealed(*made));
    EXPECT_EQ(made->status, 201);
    EXPECT_THAT(whole_of(*made), Not(HasSubstr("text/plain")));
    const auto opened = open(*made, claim_of("a").id, &ring);
    ASSERT_TRUE(opened) << opened.error().detail;
    EXPECT_EQ(*opened->plain, *plain);
    EXPECT_EQ(opened->token, 7u);
  }
}

TEST_F(sealed_test, an_answer_opens_in_no_other_record) {
  const auto ring = ring_of("k1 " + first_key);
  const auto id = claim_of("a").id;
  const auto made = seal(*answer_of(), {id, 7}, ring.active()).value();
  const auto refused = [&](const answer& kept, const record_id& record) {
    const auto opened = open(kept, record, &ring);
    return !opened && opened.error().code == errc::record_unreadable;
  };
  EXPECT_FALSE(refused(*made, id));
  EXPECT_TRUE(refused(*made, claim_of("b").id));
  auto other = *made;
  other.status = 200;
  EXPECT_TRUE(refused(other, id)) << "the status";
  other = *made;
  other.headers[0].second = "1 8 k1";
  EXPECT_TRUE(refused(other, id)) << "the token";
  for (const auto* label : {"2 7 k1", "1 7", "1 k1", "", "1 99999999999999999999999 k1"}) {
    other.headers[0].second = label;
    EXPECT_TRUE(refused(other, id)) << label;
  }
  for (std::size_t i = 0; i < made->body.size(); ++i) {
    other = *made;
    other.body[i] = static_cast<char>(other.body[i] ^ 1);
    EXPECT_TRUE(refused(other, id)) << "byte " << i;
    other = *made;
    other.body.resize(i);
    EXPECT_TRUE(refused(other, id)) << "cut to " << i;
  }
}

TEST_F(sealed_test, an_id_that_names_another_key_opens_nothing) {
  const auto ring = ring_of("k1 " + first_key);
  const auto made = seal(*answer_of(), {claim_of("a").id, 7}, ring.active()).value();
  const auto other = ring_of("k1 " + second_key);
  const auto why = open(*made, claim_of("a").id, &other).error().detail;
  EXPECT_THAT(why, HasSubstr("does not open"));
  EXPECT_FALSE(lacks_key(why)) << "to put a key back is no help";
}

TEST_F(sealed_test, no_initial_vector_comes_twice) {
  const auto ring = ring_of("k1 " + first_key);
  std::set<std::string> seen;
  for (int i = 0; i < 10'000; ++i) {
    seen.insert(seal(*answer_of(), {{}, 1}, ring.active()).value()->body.substr(0, 12));
  }
  EXPECT_EQ(seen.size(), 10'000u);
}

/// Keeps what is stored in sight.
class sealed_store_test : public sealed_test {
 protected:
  /// Over a memory store that outlives it.
  class borrowed final : public forwarding_store {
   public:
    explicit borrowed(store& kept) : kept_(kept) {}
    void stop() override {}

   private:
    [[nodiscard]] result<store*> target() const override { return &kept_; }
    store& kept_;
  };

  blocking_store open_with(const std::string& keys) {
    if (!keys.empty()) write_keys(keys);
    opened_ =
        sealed_store::over(std::make_unique<borrowed>(below_), keys.empty() ? "" : keys_).value();
    return blocking_store(*opened_);
  }
  lease run(blocking_store& records, const claim& request) {
    const auto granted = records.claim(request);
    EXPECT_EQ(granted.kind, verdict_kind::run);
    return granted.lease;
  }

  base::manual_clock clock_;
  memory_store below_{clock_};
  blocking_store kept_{below_};
  std::unique_ptr<store> opened_;
};

TEST_F(sealed_store_test, keeps_answers_encrypted_and_replays_them_plain) {
  auto records = open_with("k1 " + first_key);
  const auto request = claim_of("a");
  records.settle(settle_of(request, run(records, request)));
  const auto stored = kept_.seen(request.id).stored.answer;
  EXPECT_THAT(whole_of(*stored), Not(HasSubstr("paid")));
  const auto again = records.claim(claim_of("a"));
  ASSERT_EQ(again.kind, verdict_kind::replay);
  EXPECT_EQ(*again.answer, *answer_of());
  EXPECT_EQ(records.seen(request.id).body_size, answer_of()->body.size());
}

TEST_F(sealed_store_test, reads_what_was_stored_in_the_clear) {
  auto plain = open_with("");
  const auto request = claim_of("a");
  plain.settle(settle_of(request, run(plain, request)));
  auto records = open_with("k1 " + first_key);
  EXPECT_EQ(*records.claim(claim_of("a")).answer, *answer_of());
}

TEST_F(sealed_store_test, an_absent_key_is_an_error_and_its_return_the_end_of_it) {
  auto records = open_with("k1 " + first_key);
  const auto request = claim_of("a");
  records.settle(settle_of(request, run(records, request)));
  for (const std::string keys : {"", "k2 "}) {
    auto without = open_with(keys.empty() ? keys : keys + second_key);
    auto again = without.try_claim(claim_of("a"));
    refuse_sealed(again, request.id, effect::none);  // as the engine does, for want of a ring
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, errc::record_unreadable);
    EXPECT_FALSE(again.error().retryable());
    EXPECT_THAT(again.error().detail, HasSubstr("the key \"k1\""));
    EXPECT_TRUE(lacks_key(again.error().detail));
    EXPECT_FALSE(without.try_find(request.id));
    EXPECT_EQ(without.claim(claim_of("a", "another body")).kind, verdict_kind::mismatch);
    const auto page = without.list();
    ASSERT_EQ(page.records.size(), 1u);
    EXPECT_EQ(page.records[0].stored.answer->body, "");
  }
  auto whole = open_with("k2 " + second_key + "\nk1 " + first_key);
  EXPECT_EQ(*whole.claim(claim_of("a")).answer, *answer_of());
}

TEST_F(sealed_store_test, a_ring_is_taken_while_it_runs) {
  auto records = open_with("k1 " + first_key);
  const auto before = claim_of("a");
  records.settle(settle_of(before, run(records, before)));
  write_keys("k2 " + second_key + "\nk1 " + first_key + "\n");
  int number = 0;
  const auto sealed_by_the_new_key = [&] {
    const auto after = claim_of("b" + std::to_string(++number));
    records.settle(settle_of(after, run(records, after)));
    return kept_.seen(after.id).stored.answer->headers[0].second.ends_with(" k2");
  };
  wait_until("an answer sealed by the new key", sealed_by_the_new_key);
  EXPECT_EQ(*records.claim(claim_of("a")).answer, *answer_of());
}

TEST_F(sealed_store_test, an_answer_of_an_earlier_lease_is_not_taken_for_this_ones) {
  auto records = open_with("k1 " + first_key);
  const auto request = claim_of("a");
  const auto held = run(records, request);
  auto settle = settle_of(request, held);
  const auto ring = key_ring::read(keys_).value();
  settle.answer = seal(*answer_of("older"), {request.id, held.token - 1}, ring.active()).value();
  kept_.settle(settle);
  EXPECT_THAT(records.try_find(request.id).error().detail, HasSubstr("that of the token"));
}

TEST_F(sealed_store_test, an_operators_answer_is_sealed_too) {
  auto records = open_with("k1 " + first_key);
  const auto request = claim_of("a");
  const auto held = run(records, request);
  for (const token named : {token{0}, held.token}) {
    resolution by_hand;
    by_hand.id = request.id;
    by_hand.completed = true;
    by_hand.force = true;
    by_hand.token = named;
    by_hand.answer = answer_of("by hand");
    const auto done = records.resolve(by_hand).outcome;
    EXPECT_EQ(done, named == 0 ? resolve_outcome::done : resolve_outcome::already_completed);
  }
  EXPECT_THAT(whole_of(*kept_.seen(request.id).stored.answer), Not(HasSubstr("by hand")));
  EXPECT_EQ(records.seen(request.id).stored.answer->body, "by hand");
}

TEST_F(sealed_store_test, the_applications_answer_is_the_holders_if_it_is_the_same) {
  auto records = open_with("k1 " + first_key);
  const auto request = claim_of("a");
  auto settle = settle_of(request, run(records, request));
  settle.by_application = true;
  settle.kind = settle_kind::complete;
  kept_.settle(settle);  // in the clear, as SQL does
  settle.by_application = false;
  settle.answer = answer_of();  // as another process made it
  EXPECT_EQ(records.settle(settle).answer, nullptr);
  settle.answer = answer_of("other");
  EXPECT_EQ(*records.settle(settle).answer, *answer_of());
}

TEST_F(sealed_store_test, a_stale_holder_gets_no_answer_that_does_not_open) {
  auto records = open_with("k1 " + first_key);
  const auto request = claim_of("a");
  const auto held = run(records, request);
  records.settle(settle_of(request, held));
  auto late = settle_of(request, held);
  late.token = held.token + 1;
  EXPECT_EQ(*records.settle(late).answer, *answer_of());
  auto without = open_with("k2 " + second_key);
  const auto reply = without.settle(late);
  EXPECT_EQ(reply.outcome, settle_outcome::stale);
  EXPECT_EQ(reply.state, observed_state::completed);
  EXPECT_EQ(reply.answer, nullptr);
  EXPECT_EQ(reply.kept, answer_kept::none);
}

TEST_F(sealed_store_test, a_holder_learns_that_the_answer_of_its_record_does_not_open) {
  auto records = open_with("k1 " + first_key);
  const auto request = claim_of("a");
  auto settle = settle_of(request, run(records, request));
  settle.by_application = true;
  settle.answer = nullptr;
  settle.kept = answer_kept::none;
  kept_.settle(settle);  // the application has none
  settle.by_application = false;
  settle.answer = answer_of("first");
  settle.kept = answer_kept::full;
  records.settle(settle);  // the holder's is kept
  settle.answer = answer_of("other");
  EXPECT_EQ(*records.settle(settle).answer, *answer_of("first"));
  for (const std::string keys : {"", "k2 "}) {
    auto without = open_with(keys.empty() ? keys : keys + second_key);
    auto replies = without.settles({settle});
    refuse_sealed(replies[0], request.id, effect::done);
    ASSERT_FALSE(replies[0]) << "the holder would send its own";
    EXPECT_TRUE(hides_answer(replies[0].error()));
    EXPECT_TRUE(lacks_key(replies[0].error().detail));
  }
}

TEST_F(sealed_store_test, without_a_ring_batches_are_those_of_the_store_below) {
  class counting final : public forwarding_store {
   public:
    explicit counting(store& kept) : kept_(kept) {}
    void stop() override {}
    boost::asio::awaitable<std::vector<result<verdict>>> claim(std::vector<onceguard::claim> batch,
                                                               milliseconds timeout) override {
      ++begun;
      return kept_.claim(std::move(batch), timeout);
    }
    boost::asio::awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                                milliseconds timeout) override {
      ++begun;
      return kept_.settle(std::move(batch), timeout);
    }
    int begun = 0;

   private:
    [[nodiscard]] result<store*> target() const override { return &kept_; }
    store& kept_;
  };
  auto below = std::make_unique<counting>(below_);
  const auto& count = *below;
  const auto records = sealed_store::over(std::move(below), "").value();
  // Not awaited: a coroutine of the sealed store's own would not have begun.
  { const auto pending = records->claim({claim_of("a")}, patience); }
  EXPECT_EQ(count.begun, 1);
  { const auto pending = records->settle({}, patience); }
  EXPECT_EQ(count.begun, 2);
}

TEST_F(sealed_store_test, an_import_seals_what_is_plain_and_knows_it_again) {
  auto plain = open_with("");
  const auto request = claim_of("a");
  plain.settle(settle_of(request, run(plain, request)));
  const auto moved = make_imported_record(kept_.seen(request.id), clock_.wall_ms());
  memory_store other(clock_);
  blocking_store below(other);
  write_keys("k1 " + first_key);
  const auto over = sealed_store::over(std::make_unique<borrowed>(other), keys_).value();
  blocking_store records(*over);
  EXPECT_EQ(records.import_record(moved), import_outcome::imported);
  EXPECT_TRUE(is_sealed(*below.seen(request.id).stored.answer));
  EXPECT_EQ(*records.seen(request.id).stored.answer, *answer_of());
  EXPECT_EQ(records.import_record(moved), import_outcome::already_there);
  const auto as_stored = make_imported_record(below.seen(request.id), clock_.wall_ms());
  EXPECT_EQ(records.import_record(as_stored), import_outcome::already_there);
}

}  // namespace
}  // namespace onceguard::sealed
