// A mean of what comes one by one.
#pragma once

namespace sbump {

struct Mean {
  double sum = 0, count = 0;

  void Add(double value) {
    sum += value;
    ++count;
  }
  // 0 of nothing.
  double value() const { return count == 0 ? 0 : sum / count; }
};

}  // namespace sbump
