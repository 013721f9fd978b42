// A graph as text, in several forms.
#pragma once

#include <string>
#include <string_view>

#include "client/graph/graph.h"
#include "client/graph/scope_text.h"
#include "client/terminal.h"
#include "client/text_table.h"

namespace sbump {

// One line: {"root","forwards","variants","variant_forwards","identical","nodes":[{"name","op",
// "target","scope":{"module_path","module_type"},"dims"[[]]}],"edges":[{"from","to",
// "confidence"}],...}. Of a node "dims_vary", "unknown_inputs" and "partial" where they are so.
std::string GraphJson(const Graph& graph, ScopeStyle style);

// For graphviz: a cluster for each module; edges that not all forwards have are dashed.
std::string GraphDot(const Graph& graph);

// A row a node, then what is said beside it.
std::string GraphTable(const Graph& graph, ScopeStyle style, const Palette& palette,
                       size_t max_width = kUnlimitedWidth);

// By the ending of a file's name: .json json, .dot and .gv dot, else table.
std::string_view GraphFormatOf(std::string_view path);

// "2x8x16 4", of several tensors; "()" is one without dims.
std::string DimsText(const GraphNode& node);

}  // namespace sbump
