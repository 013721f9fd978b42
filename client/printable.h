// Text from the target's memory, made safe for a terminal, and how wide it is there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sbump {

// Control characters, bidirectional overrides and malformed bytes become \n, \x1b, \u202e and the
// like, so that a hostile name can neither move the cursor nor start a new line.
std::string Printable(std::string_view text);

// Columns that `text`, which must be Printable, takes on a terminal.
size_t DisplayWidth(std::string_view text);

enum class Clip {
  kNever,  // the caller never asks for it
  kTail,   // "LlamaAttention.forw…"
  kHead,   // "…models/llama.py:12"
};

// `text` in at most `width` columns, with an ellipsis where something is missing.
std::string ClipTo(std::string_view text, size_t width, Clip clip);

}  // namespace sbump
