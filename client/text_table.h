// Columns of text, aligned; clipped to a width where there is one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "client/printable.h"
#include "client/terminal.h"

namespace sbump {

inline constexpr size_t kUnlimitedWidth = static_cast<size_t>(-1);

struct Column {
  std::string title;
  bool right = false;
  Clip clip = Clip::kNever;  // a column that clips gives way first
};

struct Cell {
  std::string text;  // Printable
  Tone tone = Tone::kPlain;
};

class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns.
  void AddRow(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  // The titles and the rows, one string a line without its newline, none wider than `max_width`.
  // Columns lie two spaces apart; lines do not end in spaces.
  std::vector<std::string> Lines(const Palette& palette, size_t max_width = kUnlimitedWidth) const;

 private:
  std::vector<size_t> Widths(size_t max_width) const;
  std::string Line(const std::vector<Cell>& cells, const std::vector<size_t>& widths,
                   const Palette& palette, size_t max_width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace sbump
