// The order of examples/order, to be killed: says where it is, and stops there for good.
//   order_stops DATABASE CARDS NUMBER CUSTOMER ARTICLE CENTS LEASE POINT
#include <iostream>
#include <unistd.h>

#include "place_order.hpp"

namespace {

/// The steps of an attempt, with the points between and inside of them.
class stopping_steps final : public onceguard::steps {
 public:
  stopping_steps(onceguard::steps& flow, std::string point)
      : flow_(flow), point_(std::move(point)) {}

  std::string step(std::string_view name, const onceguard::callable<std::string()>& work,
                   const onceguard::compensation_work& compensation) override {
    const std::string text(name);
    reach("before " + text);
    const auto in_step = [&] {
      auto out = work();
      reach("inside " + text);
      return out;
    };
    auto out = compensation ? flow_.step(name, in_step,
                                         [this, text, compensation](const std::string& stored) {
                                           reach("before undoing " + text);
                                           compensation(stored);
                                           reach("inside undoing " + text);
                                         })
                            : flow_.step(name, in_step);
    reach("after " + text);
    return out;
  }
  [[nodiscard]] std::string key_for(std::string_view purpose) const override {
    return flow_.key_for(purpose);
  }
  [[nodiscard]] const onceguard::lease& held() const noexcept override { return flow_.held(); }

 private:
  void on_failure(onceguard::answer reply) override { flow_.fail(std::move(reply)); }
  void reach(const std::string& point) const {
    if (point != point_) return;
    std::cout << "at " << point << std::endl;
    while (true) ::pause();
  }

  onceguard::steps& flow_;
  const std::string point_;
};

}  // namespace

int main(int count, char** words) {
  if (count != 9) return 2;
  const auto shop = open_shop(words[1]);
  cards cards(words[2]);
  const order order{words[3], words[5], words[6]};
  onceguard::execute_policy policy;
  policy.lease = onceguard::milliseconds(std::stol(words[7]));
  const auto reply =
      shop->execute_steps({words[4], order.number, order.article + " " + order.cents}, policy,
                          [&](onceguard::steps& flow) {
                            stopping_steps stops(flow, words[8]);
                            return place_order(stops, *shop, cards, order);
                          });
  std::cout << "never there: " << words[8] << std::endl;
  return reply && reply->answer ? 0 : 1;
}
