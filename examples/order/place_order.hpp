#pragma once
#include <string>

#include <onceguard/execute.hpp>

#include "cards.hpp"
#include "shop.hpp"

struct order {
  std::string number, article, cents;
};

/// Reserves the article, charges the card, creates the shipment and confirms the sale: all of it,
/// or nothing of it stays.
onceguard::answer place_order(onceguard::steps& flow, shop& shop, cards& cards, const order& order);

/// Makes the tables if they are missing.
void make_tables(shop& shop);
