// Names of nodes, as torch.fx gives them.
#pragma once

#include <vector>

#include "client/graph/graph.h"

namespace sbump {

// Snake-cased targets ("layers_0_fc"), of operators their name alone ("softmax"), then "softmax_1".
void GiveNames(std::vector<GraphNode>& nodes);

}  // namespace sbump
