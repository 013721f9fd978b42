// A node's scope as text.
#pragma once

#include <string>

#include "client/graph/graph.h"

namespace sbump {

enum class ScopeStyle {
  kPath,  // "top.layers.0.attn"
  // As dmx.compressor's ScopeContextManager puts it: "model__layers.0__layers.0.attn", each module
  // that is being called with its path below the root.
  kDmx,
};

std::string ScopeText(const Scope& scope, ScopeStyle style);

}  // namespace sbump
