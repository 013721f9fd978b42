#include "daemon/estimate/schedule.h"

#include <numeric>
#include <utility>

#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/random.h"

namespace sbump {
namespace {

using Order = std::vector<uint32_t>;

// 0, 1, n - 1, 2, n - 2, ...: the steps between neighbours are all different, modulo n. (Williams,
// Australian Journal of Scientific Research A2, 1949.)
Order ZigZag(uint32_t n) {
  Order order = {0};
  for (uint32_t step = 1; order.size() < n; ++step) {
    order.push_back(step);
    if (order.size() < n) order.push_back(n - step);
  }
  return order;
}

// n rows, or 2 n of an odd n, whose second half is the first one backwards.
std::vector<Order> WilliamsSquare(uint32_t n) {
  const Order first = ZigZag(n);
  std::vector<Order> rows;
  for (uint32_t shift = 0; shift < n; ++shift) {
    Order row = first;
    for (uint32_t& arm : row) arm = (arm + shift) % n;
    rows.push_back(row);
  }
  for (uint32_t i = 0; n % 2 == 1 && i < n; ++i)
    rows.emplace_back(rows[i].rbegin(), rows[i].rend());
  return rows;
}

std::vector<Order> RandomSquare(const Order& arms, Random& random) {
  Order labels = arms;
  random.Shuffle(labels);
  std::vector<Order> rows = WilliamsSquare(static_cast<uint32_t>(arms.size()));
  for (Order& row : rows) {
    for (uint32_t& arm : row) arm = labels[arm];
  }
  random.Shuffle(rows);
  return rows;
}

std::vector<Order> BalancedOrders(const Order& arms, size_t blocks, Random& random) {
  std::vector<Order> orders;
  while (orders.size() < blocks) {
    for (Order& row : RandomSquare(arms, random)) {
      if (orders.size() < blocks) orders.push_back(std::move(row));
    }
  }
  return orders;
}

std::vector<Order> OrdersOf(const Order& arms, const ScheduleOptions& options, Random& random) {
  const size_t rows_of_square = arms.size() * (arms.size() % 2 == 0 ? 1 : 2);
  if (options.balanced && options.blocks >= rows_of_square)
    return BalancedOrders(arms, options.blocks, random);
  std::vector<Order> orders(options.blocks, arms);
  for (Order& order : orders) random.Shuffle(order);
  return orders;
}

absl::Status CheckSize(const std::vector<Arm>& arms, const ScheduleOptions& options) {
  if (arms.size() < 2 || arms.size() > kMostArms)
    return absl::InvalidArgumentError(
        StrCat("an experiment of ", arms.size(), " arms: it takes 2 to ", kMostArms));
  if (options.blocks == 0 || options.blocks > kMostBlocks || options.unprobed_every == 0)
    return absl::InvalidArgumentError(StrCat("an experiment of ", options.blocks,
                                             " blocks, unprobed every ", options.unprobed_every,
                                             ": it takes 1 to ", kMostBlocks, " blocks"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::vector<uint32_t>>> MakeSchedule(const std::vector<Arm>& arms,
                                                                const ScheduleOptions& options) {
  SB_RETURN_IF_ERROR(CheckSize(arms, options));
  Order always, sometimes;
  for (uint32_t i = 0; i < arms.size(); ++i)
    (arms[i].kind == ArmKind::kUnprobed ? sometimes : always).push_back(i);
  if (always.size() < 2) return absl::InvalidArgumentError("fewer than two arms with probes");
  Random random(options.seed);
  std::vector<Order> orders = OrdersOf(always, options, random);
  for (size_t block = 0; block < orders.size(); block += options.unprobed_every) {
    for (const uint32_t arm : sometimes) {
      const auto place = static_cast<ptrdiff_t>(random.Below(orders[block].size() + 1));
      orders[block].insert(orders[block].begin() + place, arm);
    }
  }
  return orders;
}

}  // namespace sbump
